package examples_test

import (
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// operatorRow finds a row of the table of operators: a request or a page, and what each caller may do with it.
var operatorRow = regexp.MustCompile(
	"(?m)^\\| `(?:(GET|POST) )?(/[^`]*)` \\| (\\S+) \\| (\\S+) \\| (\\S+) \\| (\\S+) \\|")

// TestTheTableOfOperatorsIsTrue serves the configuration of the page about operators, and makes each request of its
// table as each caller.
func TestTheTableOfOperatorsIsTrue(t *testing.T) {
	t.Parallel()
	p := readPage(t, "../docs/operators.md")
	f := &folder{t: t, path: t.TempDir()}
	f.write("tools.hcl", p.fences("hcl")[0].text)
	s := f.serve()
	var restart sync.WaitGroup
	restart.Go(func() { person{s, operatorKey("bob")}.asks("tools/call", `"name":"restart","arguments":{},`) })
	var pending struct{ Approvals []struct{ ID string } }
	eventually(t, "the call of bob waits for an approval", func() bool {
		_, listed := s.knock(http.MethodGet, "/approvals", "", "X-Api-Key", operatorKey("eva"))
		return json.Unmarshal([]byte(listed), &pending) == nil && len(pending.Approvals) == 1
	})
	rows := operatorRow.FindAllStringSubmatch(p.src, -1)
	if len(rows) < 14 {
		t.Fatalf("%s has a table of %d rows", p.path, len(rows))
	}
	for i, name := range []string{"", "bob", "eva", "ann"} {
		key := operatorKey(name)
		browser := f.consoleOf(s, key)
		for _, row := range rows {
			method, path, want := row[1], row[2], row[3+i]
			var got string
			switch {
			case method == "":
				got = allowedPage(t, browser, strings.TrimSuffix(s.url, "/mcp")+path)
			case strings.HasPrefix(path, "/events"):
				got = s.allowed(method, path+strings.Repeat("?", 1-strings.Count(path, "?"))+"&follow=false", key)
			default:
				got = s.allowed(method, path, key)
			}
			if got != want {
				t.Errorf("%s %s as %q: %s, and the page says %s", method, path, name, got, want)
			}
		}
	}
	reject := "/approvals/" + pending.Approvals[0].ID + "/reject"
	s.knock(http.MethodPost, reject, `{"reason":"not now"}`, "X-Api-Key", operatorKey("eva"))
	restart.Wait()
}

// operatorKey is the key whose digest the page has; empty for nobody.
func operatorKey(name string) string {
	if name == "" {
		return ""
	}
	return "key-of-" + name + "-0123456789"
}

// allowed returns what a caller may do with a request: yes, part of it, its status alone, nothing in a list, or no.
func (s *server) allowed(method, path, key string) string {
	s.t.Helper()
	var headers []string
	if key != "" {
		headers = []string{"X-Api-Key", key}
	}
	res, body := s.knock(method, path, "", headers...)
	switch {
	case res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden:
		return "no"
	case res.StatusCode != http.StatusOK:
		return res.Status
	case path == "/approvals" && !strings.Contains(body, `"restart"`):
		return "empty"
	case path != "/readyz" || strings.Contains(body, `"diagnostics"`):
		return "yes"
	case strings.Contains(body, `"connections"`):
		return "part"
	}
	return "status"
}

// consoleOf returns a browser that is signed in to the console with a key, if the key is accepted there.
func (f *folder) consoleOf(s *server, key string) *http.Client {
	f.t.Helper()
	jar, err := cookiejar.New(nil)
	f.must(err)
	browser := &http.Client{Transport: pooled.Transport, Jar: jar, Timeout: maxWait}
	cmd := f.command("console", "--server", strings.TrimSuffix(s.url, "/mcp"), "--print")
	cmd.Env = append(cmd.Env, "HATCHEL_KEY="+key)
	if address, err := cmd.Output(); err == nil {
		res, err := browser.Get(strings.TrimSpace(string(address)))
		f.must(err)
		res.Body.Close()
	}
	return browser
}

func allowedPage(t *testing.T, browser *http.Client, address string) string {
	t.Helper()
	res, err := browser.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	switch {
	case res.Request.URL.Path == "/console/sign-in", res.StatusCode == http.StatusForbidden:
		return "no"
	case res.StatusCode == http.StatusOK:
		return "yes"
	}
	return res.Status
}
