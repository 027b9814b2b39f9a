package server

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"hatchel/runtime/edge/console"
	"hatchel/runtime/load/source/git"
)

// TestTheConsoleSaysHowClientsReachATool has one server for each way in which clients reach it.
func TestTheConsoleSaysHowClientsReachATool(t *testing.T) {
	const (
		tool   = "tool \"greet\" {\n  description = \"Greet.\"\n  text = \"Hello\"\n}\ntoolset \"some\" { tools = [\"greet\"] }\n"
		shared = "console {}\n" + tool
		own    = "console { listen = \"127.0.0.1:0\" }\n" + tool
		tokens = "auth {\n jwt {\n issuer = \"https://id.example\"\n audience = \"tools\"\n jwks = \"https://id.example/keys\"\n }\n}\n"
		signIn = "auth {\n sign_in {\n url = \"https://tools.example\"\n provider = \"https://provider.example\"\n" +
			" client_id = \"hatchel\"\n assertion_file = \"/run/token\"\n }\n}\n"
		location = "git+https://git.example/tools.git//prod?ref=main"
	)
	for _, c := range []struct {
		name, config string
		change       func(*Server)
		want         console.Endpoint
		entry        string
	}{
		{name: "http", config: shared, want: console.Endpoint{URL: "https://tools.example/mcp"},
			entry: `{"type":"http","url":"https://tools.example/mcp"}`},
		{name: "keys", config: namedAuth + shared, want: console.Endpoint{URL: "https://tools.example/mcp", Credential: console.Key},
			entry: `{"headers":{"Authorization":"Bearer ${HATCHEL_KEY}"},"type":"http","url":"https://tools.example/mcp"}`},
		{name: "tokens", config: tokens + shared, want: console.Endpoint{URL: "https://tools.example/mcp", Credential: console.Token},
			entry: `{"type":"http","url":"https://tools.example/mcp"}`},
		{name: "sign_in", config: signIn + own, change: func(s *Server) { s.address.Store(atLoopback) },
			want:  console.Endpoint{URL: "https://tools.example/mcp", Credential: console.SignedIn},
			entry: `{"type":"http","url":"https://tools.example/mcp"}`},
		{name: "a listener of the console", config: own, change: func(s *Server) { s.address.Store(atLoopback) },
			want: console.Endpoint{URL: "http://127.0.0.1:8080/mcp"}, entry: `{"type":"http","url":"http://127.0.0.1:8080/mcp"}`},
		{name: "stdio", config: own, want: console.Endpoint{Dir: "DIR"}, entry: `{"args":["serve","--stdio","DIR"],"command":"hatchel"}`},
		{name: "stdio, one toolset", config: own, change: func(s *Server) { s.Toolset = "some" }, want: console.Endpoint{Dir: "DIR"},
			entry: `{"args":["serve","--stdio","DIR","--toolset","some"],"command":"hatchel"}`},
		{name: "stdio, a repository", config: own, entry: `{"args":["serve","--stdio","` + location + `"],"command":"hatchel"}`,
			change: func(s *Server) {
				l, err := git.ParseLocation(location)
				if err != nil {
					t.Fatal(err)
				}
				s.Reloader.Repository = &git.Repository{Location: l}
			}},
	} {
		s := serveNamed(t, atLoopback, "server {\n name = \"shop\"\n hosts = [\"tools.example\"]\n}\n"+c.config)
		if c.change != nil {
			c.change(s.Server)
		}
		r := httptest.NewRequest("GET", "/console/tools/greet", nil)
		r.Host = "tools.example"
		r.Header.Set("X-Forwarded-Proto", "https")
		got := s.endpointOf(r, s.Host.Current().Config.Tools[0])
		if got == nil {
			t.Errorf("%s: nothing", c.name)
			continue
		}
		dir := s.Host.Current().Env.Dir
		var file struct {
			Servers map[string]json.RawMessage `json:"mcpServers"`
		}
		if err := json.Unmarshal([]byte(strings.ReplaceAll(got.Entry, dir, "DIR")), &file); err != nil {
			t.Errorf("%s: %v: %s", c.name, err, got.Entry)
		}
		var entry any
		json.Unmarshal(file.Servers["shop"], &entry)
		if text, _ := json.Marshal(entry); string(text) != c.entry {
			t.Errorf("%s has the entry %s", c.name, text)
		}
		got.Entry, got.Dir = "", strings.Replace(got.Dir, dir, "DIR", 1)
		if *got != c.want {
			t.Errorf("%s is %+v", c.name, *got)
		}
	}
	s := serveNamed(t, atLoopback, strings.Replace(shared, "description", "listed = false\n  description", 1))
	if got := s.endpointOf(httptest.NewRequest("GET", "/", nil), s.Host.Current().Config.Tools[0]); got != nil {
		t.Errorf("a tool that is not listed is reached at %+v", got)
	}
}
