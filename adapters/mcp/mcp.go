// Package mcp implements the mcp block and its connection: the tools of another MCP server as backends.
//
// The definitions of these tools are pinned in a file of the configuration directory. Blocks are checked against the
// pins, and texts of the server never reach a model through a list. What a call returns is data, which is cleaned and
// bounded before it is delivered.
package mcp

import "hatchel/adapters"

const blockDoc = "Calls a tool of another MCP server. Returns output.content, output.text (all texts, joined by line " +
	"breaks), output.structured and output.truncated."

// Adapter returns the mcp block of tools and steps.
func Adapter() adapters.Adapter {
	return adapters.New("mcp", blockDoc, (*block).spec, bind).WithConnections(true, "mcp").WithMock(mockKind())
}

// Connector returns the kind of connection "mcp".
func Connector() adapters.Connector {
	return adapters.NewConnector("mcp", "Another MCP server, whose tools are pinned in a file of definitions.",
		(*connection).spec, open)
}
