package mcp_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"hatchel/runtime/edge/mcp"
)

func TestSizesOfIDsAndClientInfoAreLimited(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}%s}`
	metaWith := func(more string) string { return fmt.Sprintf(meta, more) }
	info := func(bytes int) string {
		return `,"io.modelcontextprotocol/clientInfo":{"name":"` + strings.Repeat("x", bytes) + `"}`
	}
	listen := func(padding int, more string) string {
		return `{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + metaWith(more) + `}` + strings.Repeat(" ", padding) + `}`
	}
	list := func(id, more string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/list","params":{` + metaWith(more) + `}}`
	}
	withServer(t, mcp.Options{}, func(t *testing.T, v *testClient) {
		for _, c := range []struct{ name, method, body, refused string }{
			{"an id", "tools/list", list(`"`+strings.Repeat("x", 1000)+`"`, ""), ""},
			{"a long id", "tools/list", list(`"`+strings.Repeat("x", 2000)+`"`, ""), "id is longer than 1024 bytes"},
			{"a long number", "tools/list", list(strings.Repeat("1", 2000), ""), "id is longer than 1024 bytes"},
			{"a long progress token", "tools/call", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo",` + metaWith(`,"progressToken":"`+strings.Repeat("x", 2000)+`"`) + `}}`, "progressToken is longer"},
			{"client info", "tools/list", list("1", info(60<<10)), ""},
			{"large client info", "tools/list", list("1", info(70<<10)), "more than 65536 bytes"},
			{"a large subscription", "subscriptions/listen", listen(300<<10, ""), "limited to 262144 bytes"},
		} {
			headers := []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", c.method}
			if c.method == "tools/call" {
				headers = append(headers, "Mcp-Name", "echo")
			}
			got := readAll(v.send(t.Context(), "POST", c.body, headers...))
			switch {
			case c.refused == "" && !strings.Contains(got, `"result"`), !strings.Contains(got, c.refused):
				t.Errorf("%s: got %.300s", c.name, got)
			case c.refused != "" && len(got) > 4<<10:
				t.Errorf("%s: the error has %d bytes", c.name, len(got))
			}
		}
		ctx, disconnect := context.WithCancel(t.Context())
		defer disconnect()
		reply := v.send(ctx, "POST", listen(100<<10, info(60<<10)), "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")
		if reply.StatusCode != http.StatusOK || !strings.HasPrefix(reply.Header.Get("Content-Type"), "text/event-stream") {
			t.Errorf("a subscription: %v", reply)
		}
		reply.Body.Close()
		got := readAll(v.send(t.Context(), "POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"`+strings.Repeat("x", 70<<10)+`"}}}`))
		if !strings.Contains(got, "more than 65536 bytes") {
			t.Errorf("a session: got %.300s", got)
		}
	})
}
