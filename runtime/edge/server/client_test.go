package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAClientNamesTheReasonThatTheServerGives(t *testing.T) {
	for _, c := range []struct {
		status     int
		body, want string
	}{
		{403, "Only callers in the group admin may use this endpoint\n", "denies access: Only callers in the group admin"},
		{403, `{"error": "The approvals block allows others."}`, "denies access: The approvals block allows others"},
		{401, "The key or token is not known to this server\n", "does not accept the key: The key or token is not known"},
		{503, "no server is available", "no server is available"},
		{404, "404 page not found\n", "answers with status 404: 404 page not found: check the address"},
		{502, "<html><h1>Bad Gateway</h1></html>", "answers with status 502 and without a reason"},
		{500, "\xff\xfe", "answers with status 500 and without a reason"},
		{500, strings.Repeat("x", 2000), "answers with status 500 and without a reason"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			w.Write([]byte(c.body))
		}))
		client := NewClient(s.URL, "key", "test")
		if _, err := client.Lock(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d %.40q: %v", c.status, c.body, err)
		}
		client.Close()
		s.Close()
	}
}
