package console_test

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"
)

func TestAnAdminLoadsTheConfigurationNow(t *testing.T) {
	people := keysOf("ada:admin", "vera:ops") + "console { allow = \"caller.subject != null\" }\n"
	s := newSite(t, people+oneTool)
	loads, failure := 0, error(nil)
	s.reload = func(ctx context.Context) error {
		loads++
		s.host.Load(ctx, fstest.MapFS{"a.hcl": {Data: []byte(people + strings.Replace(oneTool, "input.order > 100", "input.ordr > 100", 1))}})
		return failure
	}
	page := s.signedIn("vera").get("/console/reload")
	if page.status != 200 || page.find("load") != nil || !strings.Contains(textOf(page.find("refusal")), "group admin") {
		t.Errorf("a viewer: %d %s", page.status, page.text())
	}
	ada := s.signedIn("ada")
	page = ada.get("/console/reload")
	form := url.Values{"token": {page.token("/console/reload")}}
	if got := ada.post("/console/reload", form); got.status != http.StatusSeeOther || loads != 1 {
		t.Fatalf("%d after %d loads: %s", got.status, loads, got.text())
	}
	page = ada.get("/console/reload")
	for _, want := range []string{"failed", "Unknown input", "^^^^", `Did you mean "order"?`} {
		if !strings.Contains(page.text(), want) {
			t.Errorf("the page has no %q: %s", want, page.text())
		}
	}
	failure = &fs.PathError{Op: "open", Path: "/etc/hatchel", Err: errors.New("permission denied")}
	if got := ada.post("/console/reload", form); got.status != 500 || !strings.Contains(got.text(), "permission denied") || strings.Contains(got.text(), "/etc") {
		t.Errorf("an unreadable directory: %d %s", got.status, got.text())
	}
	if got := s.signedIn("vera").post("/console/reload", form); got.status != http.StatusForbidden || loads != 2 {
		t.Errorf("a viewer loads: %d", got.status)
	}
}

func TestTheLatestLoadsAreOnThePageOfLoads(t *testing.T) {
	s := newSite(t, "console {}\n"+oneTool)
	s.load("console {}\n" + oneTool + strings.Replace(oneTool, `"refund"`, `"other"`, 1))
	s.host.Load(t.Context(), fstest.MapFS{"a.hcl": {Data: []byte("nonsense")}})
	v := s.withTicket()
	words := strings.Join(strings.Fields(textOf(v.get("/console/reload").find("loads"))), " ")
	failed, loaded := strings.Index(words, "failed 1 error"), strings.Index(words, "loaded 1 block added: other")
	if failed < 0 || loaded < failed {
		t.Errorf("the page of loads has %q", words)
	}
	overview := v.get("/console/")
	if line := textOf(overview.find("load")); overview.find("loads") != nil || !strings.Contains(line, "1 error") {
		t.Errorf("the overview has %q", line)
	}
}
