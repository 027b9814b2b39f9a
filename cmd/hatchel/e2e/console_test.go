package e2e_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// getPage returns the status of a page, without following redirects, and where it leads.
func getPage(t *testing.T, url string) (status int, location string) {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	res, err := client.Get(url)
	if err != nil {
		return 0, ""
	}
	defer res.Body.Close()
	return res.StatusCode, res.Header.Get("Location")
}

func TestAConsoleHasAnAddressOfItsOwn(t *testing.T) {
	t.Parallel()
	own, tool := freeAddress(t), "tool \"greet\" {\n  description = \"d\"\n  text = \"Hello\"\n}\n"
	r, dir := startConfig(t, tool+"console { listen = \""+own+"\" }\n")
	for _, want := range []struct {
		url      string
		status   int
		location string
	}{
		{r.url + "/console/", 404, ""},
		{"http://" + own + "/console/", 303, "/console/sign-in?next=%2Fconsole%2F"},
		{"http://" + own + "/", 303, "/console/"},
		{"http://" + own + "/mcp", 404, ""},
		{"http://" + own + "/admin/reload", 404, ""},
		{"http://" + own + "/console/sign-in", 200, ""},
	} {
		if status, location := getPage(t, want.url); status != want.status || location != want.location {
			t.Errorf("%s: %d %s, not %d %s", want.url, status, location, want.status, want.location)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "tools.hcl"), []byte(tool), 0o644); err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(r.url+"/admin/reload", "application/json", strings.NewReader(""))
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%v %v", res, err)
	}
	res.Body.Close()
	if status, _ := getPage(t, "http://"+own+"/console/"); status != 0 {
		t.Errorf("the listener is open without its block: %d", status)
	}
}
