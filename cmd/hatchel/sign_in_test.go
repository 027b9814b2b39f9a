package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// signInStub is a server that has everything of a sign-in but an end: it counts the addresses that were opened.
func signInStub(t *testing.T) (url string, opened func() int) {
	t.Helper()
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/.well-known/oauth-protected-resource/mcp":
			json.NewEncoder(w).Encode(map[string]any{"resource": s.URL + "/mcp", "authorization_servers": []string{s.URL}})
		case "/.well-known/oauth-authorization-server":
			json.NewEncoder(w).Encode(map[string]any{
				"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token",
				"code_challenge_methods_supported": []string{"S256"}, "hatchel_client_id": "hatchel",
			})
		default:
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(s.Close)
	dir := t.TempDir()
	browser := filepath.Join(dir, "browser")
	if err := os.WriteFile(browser, []byte("#!/bin/sh\necho \"$1\" >>"+dir+"/opened\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("BROWSER", browser)
	t.Setenv("XDG_STATE_HOME", dir)
	t.Setenv("HATCHEL_KEY", "")
	return s.URL, func() int {
		text, _ := os.ReadFile(filepath.Join(dir, "opened"))
		return strings.Count(string(text), "/authorize?")
	}
}

func TestTheShellSignsNobodyInToCompleteAWord(t *testing.T) {
	url, opened := signInStub(t)
	for _, command := range [][]string{{"approvals", "show"}, {"approvals", "approve"}, {"sign-ins", "revoke"}} {
		root := rootCommand()
		root.SetArgs(append(append([]string{"__complete"}, command...), "--server", url, ""))
		root.SetOut(new(strings.Builder))
		root.SetErr(new(strings.Builder))
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		err := root.ExecuteContext(ctx)
		if cancel(); err != nil || opened() != 0 {
			t.Errorf("%q: %v, %d addresses", command, err, opened())
		}
	}
}
