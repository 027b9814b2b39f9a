package examples_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// credentials are the values of secrets in the client's file of a team, by the variables that they become.
var credentials = map[string]string{
	"GITHUB_TOKEN":       "ghp_0123456789abcdefghijABCDEFGHIJ012345",
	"LINEAR_API_KEY":     "linear-value-4711aZ9qWx",
	"BRIDGE_TOKEN":       "bridge-value-9f8e7d6c5b4a39281706",
	"EVERYTHING_API_KEY": "everything-value-12345xyz",
}

// startTeamServers starts servers at /NAME/mcp, each with the tool ping_NAME. That of signed accepts the tokens of the
// authorization server that its metadata name.
func startTeamServers(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	serve := func(name, header, value string) {
		server := mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, nil)
		tool := &mcp.Tool{Name: "ping_" + name, Description: "Answers.", InputSchema: map[string]any{"type": "object"}}
		server.AddTool(tool, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "pong of " + name}}}, nil
		})
		handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
		mux.HandleFunc("/"+name+"/mcp", func(w http.ResponseWriter, r *http.Request) {
			if header != "" && r.Header.Get(header) != value {
				const challenge = `Bearer resource_metadata="%s/.well-known/oauth-protected-resource/%s/mcp"`
				w.Header().Set("WWW-Authenticate", fmt.Sprintf(challenge, s.URL, name))
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			handler.ServeHTTP(w, r)
		})
	}
	serve("github", "Authorization", "Bearer "+credentials["GITHUB_TOKEN"])
	serve("linear", "X-Api-Key", credentials["LINEAR_API_KEY"])
	serve("bridge", "Authorization", "Bearer "+credentials["BRIDGE_TOKEN"])
	serve("plain", "", "")
	serve("signed", "Authorization", "Bearer token-of-the-issuer")
	answer := func(path string, v any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			json.NewEncoder(w).Encode(v)
		})
	}
	answer("/.well-known/oauth-protected-resource/signed/mcp", map[string]any{
		"resource": s.URL + "/signed/mcp", "authorization_servers": []string{s.URL}, "scopes_supported": []string{"tools.read"},
	})
	answer("/.well-known/oauth-authorization-server", map[string]any{
		"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token",
		"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		id, secret, _ := r.BasicAuth()
		if id == "" {
			id, secret = r.FormValue("client_id"), r.FormValue("client_secret")
		}
		if id != "team" || secret != "client-value-0815" || r.FormValue("scope") != "tools.read" ||
			r.FormValue("resource") != s.URL+"/signed/mcp" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"access_token": "token-of-the-issuer", "token_type": "Bearer", "expires_in": 3600}`)
	})
	return s.URL
}

// TestTheServersOfATeamMoveWithOneCommand imports a client's file with ten servers: over HTTP with credentials in
// headers and of an authorization server, programs of npm in exact versions with a credential in env, a bridge, one that
// is disabled and one of an old transport. The directory is served, no file has a credential, and another import changes
// no byte.
func TestTheServersOfATeamMoveWithOneCommand(t *testing.T) {
	t.Parallel()
	f := realServers(t, "http://127.0.0.1:1")
	url := startTeamServers(t)
	var file struct {
		Servers map[string]map[string]any `json:"mcpServers"`
	}
	f.must(json.Unmarshal([]byte(f.read(".mcp.json")), &file))
	delete(file.Servers, "kubernetes")
	file.Servers["everything"]["env"] = map[string]any{"API_KEY": credentials["EVERYTHING_API_KEY"], "LOG_LEVEL": "warn"}
	remote := func(name string, headers map[string]any) map[string]any {
		return map[string]any{"type": "http", "url": url + "/" + name + "/mcp", "headers": headers}
	}
	maps.Copy(file.Servers, map[string]map[string]any{
		"github": remote("github", map[string]any{"Authorization": "Bearer " + credentials["GITHUB_TOKEN"]}),
		"linear": remote("linear", map[string]any{"X-Api-Key": credentials["LINEAR_API_KEY"], "X-Team": "shop"}),
		"plain":  remote("plain", nil),
		"signed": remote("signed", nil),
		"bridge": {
			"command": "npx", "env": map[string]any{"TOKEN": credentials["BRIDGE_TOKEN"]},
			"args": []string{"-y", "mcp-remote@0.1.2", url + "/bridge/mcp", "--header", "Authorization: Bearer ${TOKEN}"},
		},
		"old": {"type": "sse", "url": url + "/old/sse"},
		"off": {"url": url + "/off/mcp", "disabled": true},
	})
	if len(file.Servers) != 10 {
		t.Fatalf("the file has %d servers", len(file.Servers))
	}
	src, err := json.Marshal(file)
	f.must(err)
	f.write(".mcp.json", string(src))
	f.env = append(f.env, "SIGNED_CLIENT_ID=team", "SIGNED_CLIENT_SECRET=client-value-0815")

	command := []string{"import", "mcp", ".mcp.json", "-o", "tools", "--start", "--all"}
	first := f.run(command...)
	if first.code != 0 {
		t.Fatalf("import: %+v", first)
	}
	for _, line := range []string{
		"old: server left out: its transport is that of 2024-11-05 (SSE)", "off: server left out: its client has disabled it",
		`"serve",`, "Set the environment variable GITHUB_TOKEN",
	} {
		if !strings.Contains(first.stdout, line) {
			t.Errorf("%q is not printed:\n%s", line, first.stdout)
		}
	}
	auth := f.read("tools", "signed.hcl")
	for _, line := range []string{
		fmt.Sprintf("token_url     = %q", url+"/token"), `scopes        = ["tools.read"]`, fmt.Sprintf("resource = %q", url+"/signed/mcp"),
	} {
		if !strings.Contains(auth, line) {
			t.Errorf("the connection signed has no line %s:\n%s", line, auth)
		}
	}
	files := f.written("tools")
	again := f.run(command...)
	if again.code != 0 || !maps.Equal(files, f.written("tools")) {
		t.Errorf("another import has changed files: %+v", again)
	}
	secrets := append(slices.Collect(maps.Values(credentials)), "client-value-0815", "token-of-the-issuer")
	for _, text := range append(slices.Collect(maps.Values(files)), first.stdout, first.stderr, again.stdout, again.stderr) {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("the value of a secret is written: %s", text)
			}
		}
	}

	for name, value := range credentials {
		f.env = append(f.env, name+"="+value)
	}
	s := f.start(f.command("serve", "tools", "--listen", "127.0.0.1:0"))
	for _, name := range []string{"github", "linear", "bridge", "plain", "signed"} {
		if got := s.call("ping_"+name, struct{}{}); got.Failed || got.text() != "pong of "+name {
			t.Errorf("ping_%s: %q", name, got.text())
		}
	}
	if got := s.call("echo", map[string]any{"message": "hi"}); got.text() != "Echo: hi" {
		t.Errorf("echo: %q", got.text())
	}
	if got := s.call("get-env", struct{}{}).text(); strings.Contains(got, credentials["EVERYTHING_API_KEY"]) ||
		!strings.Contains(got, `"LOG_LEVEL": "warn"`) {
		t.Errorf("get-env: %q", got)
	}
}

// written returns the files of a directory by name, without installed packages.
func (f *folder) written(dir string) map[string]string {
	f.t.Helper()
	files := map[string]string{}
	f.must(filepath.WalkDir(f.file(dir), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == "node_modules":
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		src, err := os.ReadFile(path)
		files[path] = string(src)
		return err
	}))
	return files
}
