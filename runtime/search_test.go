package runtime

import (
	"strings"
	"testing"

	"hatchel/runtime/edge/mcp"
)

const searched = `
tool "get_order" {
  description = "Get an order by its number."
  input "id" { type = integer }
  text = "order ${input.id}"
}
tool "close_ticket" {
  description = "Close a ticket."
  input "id" { type = integer }
  fake { value = "closed" }
}
tool "secret_order" {
  description = "Get a secret order."
  allow       = "'ops' in caller.groups"
  text        = "secret"
}
tool "by_region" {
  description = "Orders of a region."
  input "region" {
    type   = string
    header = "Region"
  }
  text = "orders of ${input.region}"
}
tool "nested" {
  description = "Called by steps."
  listed      = false
  text        = "nested"
}
tool "elsewhere" {
  description = "An order of another toolset."
  text        = "elsewhere"
}
toolset "all" {
  tools = ["get_order", "close_ticket", "secret_order", "by_region", "nested"]
  search {
    areas  = "Orders and tickets"
    pinned = ["by_region"]
  }
}
`

// inAll returns a caller of the toolset with the search block.
func inAll(groups ...string) *mcp.Caller {
	c := callerOf("ada", groups...)
	c.Toolset = "all"
	return c
}

// callIn calls a tool as a caller and returns the result as a client reads it.
func callIn(t testing.TB, h *Host, c *mcp.Caller, tool, arguments string) string {
	t.Helper()
	return callWithin(t.Context(), h, &mcp.CallRequest{Name: tool, Arguments: []byte(arguments), Caller: c})
}

func TestSearchedToolsAreCalledByExecutors(t *testing.T) {
	h := newHost(t, searched)
	for _, c := range []*mcp.Caller{inAll(), inAll("ops")} {
		t.Log(strings.Join(h.List(t.Context(), c, mcp.Tools).Names(), " "))
		t.Log(string(h.List(t.Context(), c, mcp.Tools).AppendResult(nil, mcp.Revision20260728)))
	}
	for _, one := range []struct{ tool, arguments string }{
		{"find_tools", `{"query": "order"}`},
		{"find_tools", `{"query": "nothing like it"}`},
		{"find_tools", `{"query": ""}`},
		{"read_tool", `{"name": "get_order", "arguments": {"id": 7}}`},
		{"read_tool", `{"name": "get_order", "arguments": {"id": "x"}}`},
		{"read_tool", `{"name": "close_ticket", "arguments": {"id": 7}}`},
		{"call_tool", `{"name": "close_ticket", "arguments": {"id": 7}}`},
		{"read_tool", `{"name": "secret_order"}`},
		{"read_tool", `{"name": "no_order"}`},
		{"read_tool", `{"name": "elsewhere"}`},
		{"read_tool", `{"name": "nested"}`},
		{"read_tool", `{"name": "by_region", "arguments": {"region": "x"}}`},
		{"read_tool", `{"name": "read_tool", "arguments": {"name": "get_order", "arguments": {"id": 7}}}`},
		{"read_tool", `{"name": "get_order", "arguments": "{\"id\": 7}"}`},
		{"read_tool", `{"name": "get_order", "arguments": {"id": 7}, "id": 8}`},
		{"read_tool", `{"arguments": {"id": 7}}`},
	} {
		t.Log(one.tool, one.arguments, "\n   ", callIn(t, h, inAll(), one.tool, one.arguments))
	}
}
