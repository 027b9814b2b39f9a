package openapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestADocumentIsReadThroughAProxy has a host that only the proxy of the environment can reach.
func TestADocumentIsReadThroughAProxy(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.RequestURI) }))
	defer proxy.Close()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"} {
		t.Setenv(name, "")
		t.Setenv(strings.ToLower(name), "")
	}
	t.Setenv("ALL_PROXY", proxy.URL)
	s := &source{ctx: t.Context()}
	const location = "http://docs.invalid/openapi.yaml"
	if got, err := s.fetch(location); err != nil || string(got) != location {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := s.fetch("http://10.0.0.1/openapi.yaml"); err == nil || !strings.Contains(err.Error(), "10.0.0.1 is a private address") {
		t.Errorf("a private address: %v", err)
	}
	t.Setenv("ALL_PROXY", "socks4://127.0.0.1")
	if _, err := s.fetch(location); err == nil || !strings.Contains(err.Error(), `ALL_PROXY in the environment names a proxy of the scheme "socks4"`) {
		t.Errorf("a proxy that is not supported: %v", err)
	}
}
