package main

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestTheEndpointIsThatOfTheAddress(t *testing.T) {
	for address, want := range map[string]string{
		"http://127.0.0.1:8080":         "http://127.0.0.1:8080/mcp",
		"http://127.0.0.1:8080/":        "http://127.0.0.1:8080/mcp",
		"https://h.example/mcp":         "https://h.example/mcp",
		"https://h.example/mcp/billing": "https://h.example/mcp/billing",
		"https://h.example/tools":       "https://h.example/tools/mcp",
		"https://h.example/tools/mcp/":  "https://h.example/tools/mcp",
		"https://mcp":                   "https://mcp/mcp",
	} {
		if got := remoteEndpoint(address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

func TestAServerThatCannotBeUsedIsExplained(t *testing.T) {
	answer := func(status int, media, body string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", media)
			w.Header().Set("Location", "https://elsewhere.example/mcp")
			w.WriteHeader(status)
			io.WriteString(w, body)
		})
	}
	connect := func(address, key string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		s, err := connectRemote(ctx, remoteOptions{Address: address, Key: key, Version: "test", Notes: io.Discard})
		if err == nil {
			s.Close()
		}
		return err
	}
	for _, c := range []struct {
		name    string
		handler http.Handler
		key     string
		want    string
	}{
		{"a page", answer(200, "text/html", "<html>"), "", "does not answer as an MCP server: check the address"},
		{"another JSON", answer(200, "application/json", `{"ok":true}`), "", "does not answer as an MCP server"},
		{"a host", answer(403, "text/plain", "The Host tools.example is not allowed. Add it to hosts\n"), "", "denies access: The Host tools.example is not allowed. Add it to hosts"},
		{"a protocol error", answer(403, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Origin not allowed"}}`), "", "denies access: Origin not allowed"},
		{"no key", answer(401, "text/plain", "x"), "", "requires a key: set HATCHEL_KEY"},
		{"no key and no reason", answer(401, "", ""), "", "requires a key: set HATCHEL_KEY"},
		{"a wrong key without a reason", answer(401, "", ""), "k", "does not accept the key: it gives no reason"},
		{"a wrong key", answer(401, "text/plain", "The key has expired"), "k", "does not accept the key: The key has expired"},
		{"nothing there", answer(404, "text/plain", "no"), "", "is no MCP endpoint"},
		{"a redirect", answer(308, "text/plain", ""), "k", "redirects, and the key is not sent elsewhere"},
		{"a proxy", answer(502, "text/html", "<h1>Bad Gateway"), "", "answers with status 502"},
	} {
		s := httptest.NewServer(c.handler)
		if err := connect(s.URL, c.key); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		s.Close()
	}
	const address = "http://tools.example/mcp"
	if err := (&failedRequest{status: 401}).explain(address, ""); !strings.Contains(err.Error(), "at addresses with https alone") {
		t.Error(err)
	}
	secure := httptest.NewUnstartedServer(answer(200, "text/plain", ""))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	if err := connect(secure.URL, ""); err == nil || !strings.Contains(err.Error(), "signed by an authority that this machine does not trust") {
		t.Errorf("an unknown authority: %v", err)
	}
	if err := connect("http"+strings.TrimPrefix(secure.URL, "https"), ""); err == nil || !strings.Contains(err.Error(), "write https://") {
		t.Errorf("http for https: %v", err)
	}
}

// A server of another make, of an earlier revision of the protocol.
func TestEarlierServersAreCalled(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "other", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(ctx context.Context, r *mcp.CallToolRequest, in struct{ Text string }) (*mcp.CallToolResult, any, error) {
		r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1e-6, Message: "waits"})
		r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 0.5, Message: "waits"})
		r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1, Total: 2, Message: "ha\x1b[31mlf"})
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
	})
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	defer h.Close()
	var notes strings.Builder
	c, err := connectRemote(t.Context(), remoteOptions{Address: h.URL + "/mcp", Version: "test", Notes: &notes})
	if err != nil {
		t.Fatal(err)
	}
	result, err := c.Call(t.Context(), "echo", []byte(`{"Text":"hello"}`))
	if err != nil || !strings.Contains(string(result), `"text":"hello"`) {
		t.Errorf("%s, %v", result, err)
	}
	c.Close()
	if text := notes.String(); !strings.HasPrefix(text, "progress: waits\nprogress: 1/2 ha") || strings.Contains(text, "\x1b") {
		t.Errorf("notes %q", text)
	}
}
