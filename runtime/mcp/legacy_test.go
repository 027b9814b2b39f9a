package mcp_test

import (
	"hatchel/runtime/mcp"
	"hatchel/runtime/mcp/legacy"
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
