package mcp_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/mcp/legacy"
)

// newServer returns a server for clients of all revisions.
func newServer(h mcp.Handler, o mcp.Options) *mcp.Server {
	if o.Legacy == nil {
		o.Legacy = legacy.New(legacy.Options{})
	}
	return mcp.New(h, o)
}

// withLegacy returns the options of a server with these options for legacy clients.
func withLegacy(o legacy.Options) mcp.Options { return mcp.Options{Legacy: legacy.New(o)} }

// A server without legacy clients refuses them in words, and announces the revisions that it serves.
func TestServerWithoutLegacyServesModernClientsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mcp.New(newFakeHandler(), mcp.Options{})
		client, stop := startHTTP(t, s.For(""))
		v := &testClient{t: t, client: client}
		const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`
		const refused = `"error":{"code":-32022,"message":"Unsupported protocol version. This server supports 2026-07-28",` +
			`"data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}`
		if got := readAll(v.send(t.Context(), "POST", initialize)); !strings.Contains(got, refused) {
			t.Errorf("initialize got %s", got)
		}
		for _, method := range []string{"GET", "DELETE"} {
			if got := v.send(t.Context(), method, "", "Mcp-Session-Id", "x"); got.StatusCode != http.StatusMethodNotAllowed || got.Header.Get("Allow") != "POST" {
				t.Errorf("%s got %s", method, got.Status)
			}
		}
		discover := v.send(t.Context(), "POST", `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"META"}}`, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "server/discover")
		if got := readAll(discover); !strings.Contains(got, `"supportedVersions":["2026-07-28"]`) {
			t.Errorf("server/discover got %s", got)
		}
		if got := readAll(v.callModern(t.Context(), "echo")); !strings.Contains(got, `"result":`) {
			t.Errorf("a call got %s", got)
		}
		var lines bytes.Buffer
		in := io.NopCloser(strings.NewReader(initialize + "\n" + `{"jsonrpc":"2.0","id":2,"method":"ping"}` + "\n" + `{"jsonrpc":"2.0","id":3,"result":{}}` + "\n"))
		if err := s.For("").Serve(context.WithoutCancel(t.Context()), in, &lines); err != nil {
			t.Error(err)
		}
		if got := lines.String(); !strings.Contains(got, refused) || strings.Count(got, "\n") != 2 || !strings.Contains(got, `"id":2,"error"`) {
			t.Errorf("the streams got %s", got)
		}
		if len(s.Sessions()) > 0 || s.EndSession(t.Context(), "x") {
			t.Error("there is a session")
		}
		s.Receive(t.Context(), "", nil)
		s.AwaitReceived(t.Context())
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		stop()
	})
}
