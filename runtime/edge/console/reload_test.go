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

func TestTheLatestLoadsAreOnTwoPages(t *testing.T) {
	s := newSite(t, "console {}\n"+oneTool)
	s.load("console {}\n" + oneTool + strings.Replace(oneTool, `"refund"`, `"other"`, 1))
	s.host.Load(t.Context(), fstest.MapFS{"a.hcl": {Data: []byte("nonsense")}})
	v := s.withTicket()
	for _, path := range []string{"/console/", "/console/reload"} {
		words := strings.Join(strings.Fields(textOf(v.get(path).find("loads"))), " ")
		failed, loaded := strings.Index(words, "failed 1 error"), strings.Index(words, "loaded 1 added: other")
		if failed < 0 || loaded < failed {
			t.Errorf("%s has %q", path, words)
		}
	}
}

func TestThePolicyPageExplainsEachRule(t *testing.T) {
	s := newSite(t, keysOf("ada:admin", "vera:ops")+"console { allow = \"caller.subject != null\" }\n"+oneTool)
	ada, vera := s.signedIn("ada"), s.signedIn("vera")
	for _, c := range []struct {
		as      *visitor
		query   string
		status  int
		verdict string
	}{
		{vera, "tool=refund&arguments={\"order\":7}", 200, "allowed"},
		{vera, "tool=refund&arguments={\"order\":700}", 200, "needs an approval"},
		{vera, "tool=refund&subject=mallory", 403, ""},
		{ada, "tool=refund&subject=mallory&arguments={\"order\":7}", 200, "denied"},
		{ada, "tool=refund&subject=x&claims=nonsense", 422, ""},
		{ada, "tool=none", 404, ""},
		{ada, "", 200, ""},
	} {
		got := c.as.get("/console/policies?" + strings.ReplaceAll(c.query, `"`, "%22"))
		if got.status != c.status || textOf(got.find("verdict")) != c.verdict {
			t.Errorf("%s: %d %s", c.query, got.status, got.text())
		}
	}
	got := ada.get("/console/policies?tool=refund&subject=mallory&groups=a,+b&arguments=%7B%22order%22:7%7D")
	want := `hatchel policy explain DIR --tool 'refund' --subject 'mallory' --group 'a' --group 'b' --args '{"order":7}'`
	if textOf(got.find("command")) != want || !strings.Contains(textOf(got.find("rules")), "tool.refund.allow") {
		t.Errorf("the page has %s", got.text())
	}
}
