package mcp_test

import (
	"io"
	"testing"

	"hatchel/runtime/edge/mcp"
)

func TestDetachedCallContinuesOnAnotherConnection(t *testing.T) {
	withAskingHandler(t, func(t *testing.T, c *testClient) {
		v := c.openSession("2025-11-25")
		stream := v.call(t.Context(), 2, "let-go")
		all, err := io.ReadAll(stream.Body)
		stream.Body.Close()
		if err != nil || string(all) != "id: 1-1\nretry: 1000\ndata:\n\nretry: 100\n\n" || !stream.Close {
			t.Fatalf("%q, %v, Connection: close is %t", all, err, stream.Close)
		}
		back := v.send(t.Context(), "GET", "", "Last-Event-ID", "1-1")
		defer back.Body.Close()
		v.until(back, `"id":"ask-1","method":"roots/list"`)
		v.answer("ask-1", "Ada")
		v.until(back, `"id":2,"result":{"content":[{"type":"text","text":"let go: true, again: false; `)
	})
}

func TestDetachNeedsARevisionThatSupportsIt(t *testing.T) {
	withAskingHandler(t, func(t *testing.T, c *testClient) {
		v := c.openSession("2025-06-18")
		stream := v.call(t.Context(), 2, "let-go")
		defer stream.Body.Close()
		v.until(stream, `"id":"ask-1","method":"roots/list"`)
		v.answer("ask-1", "Ada")
		v.until(stream, `"id":2,"result":{"content":[{"type":"text","text":"let go: false, again: false; `)
	})
}

func TestDetachWithoutAServerFails(t *testing.T) {
	if (&mcp.CallRequest{Caller: &mcp.Caller{Revision: mcp.Revision20251125}}).Detach(0) {
		t.Error("it was detached")
	}
}
