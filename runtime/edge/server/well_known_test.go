package server

import (
	"net/http"
	"testing"
)

func TestTextsBelowWellKnownAreForEverybody(t *testing.T) {
	const texts = "server {\n  well_known = { \"openai-apps-challenge\" = \"abc<script>\", \"acme/x\" = \"y\" }\n}\n"
	s := serveNamed(t, atLoopback, texts+namedAuth+namedTools)
	for path, want := range map[string]string{
		"/.well-known/openai-apps-challenge": "abc<script>", "/.well-known/acme/x": "y",
	} {
		got := s.ask(s.ServeHTTP, "GET", path)
		if got.Code != http.StatusOK || got.Body.String() != want || got.Header().Get("Content-Type") != "text/plain; charset=utf-8" ||
			got.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %q %v", path, got.Code, got.Body, got.Header())
		}
		if got := s.ask(s.ServeHTTP, "POST", path); got.Code != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: %d", path, got.Code)
		}
		if got := s.ask(s.ServeHTTP, "GET", path, "Host", "evil.example"); got.Code != http.StatusForbidden {
			t.Errorf("%s at another name: %d", path, got.Code)
		}
	}
	for _, path := range []string{"/.well-known/none", "/.well-known/", "/.well-known/acme", "/well-known/acme/x"} {
		if got := s.ask(s.ServeHTTP, "GET", path); got.Code == http.StatusOK {
			t.Errorf("%s: %d %q", path, got.Code, got.Body)
		}
	}
}
