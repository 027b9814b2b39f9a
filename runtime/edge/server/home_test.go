package server

import (
	"encoding/json"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// page returns the texts of a page by the id of their elements.
func page(t *testing.T, body string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, m := range regexp.MustCompile(`(?s)<(?:code|pre|span|a) id="([a-z-]+)"[^>]*>(.*?)</`).FindAllStringSubmatch(body, -1) {
		found[m[1]] = html.UnescapeString(m[2])
	}
	return found
}

const browserAccept = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"

func TestTheFirstPageSaysHowToConnect(t *testing.T) {
	const name = "server {\n  name  = \"The <b>Shop</b>'s $(tools)\"\n  title = \"The <script>Shop</script>\u202e\"\n  hosts = [\"tools.example\"]\n}\n"
	s := serveNamed(t, atLoopback, name+namedTools)
	got := s.ask(s.ServeHTTP, "GET", "/", "Accept", browserAccept)
	elements := page(t, got.Body.String())
	for id, want := range map[string]string{
		"tools":       "2 tools",
		"endpoint":    "http://localhost:8080/mcp",
		"claude-code": "claude mcp add --transport http The--b-Shop--b--s---tools http://localhost:8080/mcp",
		"command":     "hatchel console --server http://localhost:8080",
	} {
		if elements[id] != want {
			t.Errorf("%s is %q, not %q", id, elements[id], want)
		}
	}
	for id, want := range map[string]string{
		"cursor":  `{"mcpServers":{"The--b-Shop--b--s---tools":{"url":"http://localhost:8080/mcp"}}}`,
		"vs-code": `{"servers":{"The--b-Shop--b--s---tools":{"type":"http","url":"http://localhost:8080/mcp"}}}`,
	} {
		var read any
		if err := json.Unmarshal([]byte(elements[id]), &read); err != nil {
			t.Errorf("%s: %v", id, err)
		}
		if text, _ := json.Marshal(read); string(text) != want {
			t.Errorf("%s is %s", id, text)
		}
	}
	for _, bad := range []string{"<script", "<b>", "\u202e", "greet", "grieve"} {
		if strings.Contains(got.Body.String(), bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if policy := got.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") {
		t.Errorf("the policy is %s", policy)
	}
	proxied := s.ask(s.ServeHTTP, "GET", "/", "Accept", browserAccept, "Host", "tools.example", "X-Forwarded-Proto", "https")
	elements = page(t, proxied.Body.String())
	if elements["endpoint"] != "https://tools.example/mcp" || elements["command"] != "hatchel console --server http://127.0.0.1:8080" {
		t.Errorf("behind a proxy: %q", elements)
	}
}

func TestAServerWithoutANameHasItsTitleInClients(t *testing.T) {
	for title, want := range map[string]string{"Shop tools": "shop-tools", "店": "hatchel"} {
		s := serveNamed(t, atLoopback, "server { title = \""+title+"\" }\n"+namedTools)
		elements := page(t, s.ask(s.ServeHTTP, "GET", "/", "Accept", browserAccept).Body.String())
		if got := elements["claude-code"]; got != "claude mcp add --transport http "+want+" http://localhost:8080/mcp" {
			t.Errorf("%s: %s", title, got)
		}
	}
}

func TestTheFirstPageTellsStrangersNothingOfTheTools(t *testing.T) {
	s := serveNamed(t, atLoopback, namedAuth+namedTools)
	stranger := s.ask(s.ServeHTTP, "GET", "/", "Accept", browserAccept)
	elements := page(t, stranger.Body.String())
	if stranger.Code != http.StatusOK || elements["tools"] != "" || strings.Contains(stranger.Body.String(), "2 tools") ||
		elements["console"] != "console" || elements["command"] != "" {
		t.Errorf("%d %q", stranger.Code, elements)
	}
	for _, id := range []string{"claude-code", "cursor", "vs-code"} {
		if !strings.Contains(elements[id], "Authorization") || strings.Contains(elements[id], namedKey) {
			t.Errorf("%s: %s", id, elements[id])
		}
	}
	known := s.ask(s.ServeHTTP, "GET", "/", "Accept", browserAccept, "X-Api-Key", namedKey)
	if elements := page(t, known.Body.String()); elements["tools"] != "2 tools" || strings.Contains(known.Body.String(), namedKey) {
		t.Errorf("%d %q", known.Code, elements)
	}
	if wrong := s.ask(s.ServeHTTP, "GET", "/", "Accept", browserAccept, "X-Api-Key", "wrong"); wrong.Code != http.StatusUnauthorized {
		t.Errorf("with a wrong key: %d", wrong.Code)
	}
}

func TestTheFirstPageIsForPeople(t *testing.T) {
	s := serveNamed(t, atLoopback, namedTools)
	for _, c := range []struct {
		method, accept string
		status         int
		media          string
	}{
		{"GET", browserAccept, 200, "text/html; charset=utf-8"},
		{"HEAD", browserAccept, 200, "text/html; charset=utf-8"},
		{"GET", "text/plain, text/html;q=0", 200, "text/plain; charset=utf-8"},
		{"GET", "*/*", 200, "text/plain; charset=utf-8"},
		{"GET", "", 200, "text/plain; charset=utf-8"},
		{"HEAD", "*/*", 200, "text/plain; charset=utf-8"},
		{"GET", "text/event-stream", 404, "text/plain; charset=utf-8"},
		{"GET", "application/json", 404, "text/plain; charset=utf-8"},
		{"POST", "application/json, text/event-stream, */*", 404, "text/plain; charset=utf-8"},
		{"POST", browserAccept, 404, "text/plain; charset=utf-8"},
	} {
		headers := []string{"Accept", c.accept}
		if c.accept == "" {
			headers = nil
		}
		got := s.ask(s.ServeHTTP, c.method, "/", headers...)
		if got.Code != c.status || got.Header().Get("Content-Type") != c.media || !strings.Contains(got.Body.String(), "/mcp") {
			t.Errorf("%s for %q: %d %s %s", c.method, c.accept, got.Code, got.Header().Get("Content-Type"), got.Body)
		}
	}
}

func TestASlashAfterTheEndpointIsIgnored(t *testing.T) {
	s := serveNamed(t, atLoopback, namedTools+"toolset \"one\" { tools = [\"greet\"] }\n")
	for path, want := range map[string]int{
		"/mcp": 415, "/mcp/": 415, "/mcp/one": 415, "/mcp/one/": 415, // the body is no JSON
		"/mcp//": 404, "/mcp/none/": 404, "/mcp/one//": 404, "/mcpx/": 404,
	} {
		if got := s.ask(s.ServeHTTP, "POST", path); got.Code != want {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
	for path, want := range map[string]string{"/console": "/console/"} {
		if got := s.ask(s.ServeHTTP, "GET", path, "Host", "localhost:8080"); got.Code != http.StatusSeeOther || got.Header().Get("Location") != want {
			t.Errorf("%s: %d %v", path, got.Code, got.Header())
		}
	}
	s.load(strings.Replace(namedTools, "console {}", "", 1))
	if got := s.ask(s.ServeHTTP, "GET", "/console"); got.Code != 404 || !strings.Contains(got.Body.String(), "no console block") {
		t.Errorf("without a console: %d %s", got.Code, got.Body)
	}
}
