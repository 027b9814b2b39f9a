package runtime

import (
	"context"

	"hatchel/runtime/mcp"
)

// GetPrompt serves a prompt.
func (h *Host) GetPrompt(_ context.Context, req *mcp.CallRequest) (mcp.Document, error) {
	return mcp.Document{}, mcp.UnknownPrompt(req.Name)
}

// ReadResource serves a resource.
func (h *Host) ReadResource(_ context.Context, req *mcp.CallRequest) (mcp.Document, error) {
	return mcp.Document{}, mcp.UnknownResource(req.Name)
}

// Complete serves a completion.
func (h *Host) Complete(_ context.Context, req *mcp.CompleteRequest) (mcp.Completion, error) {
	return mcp.Completion{}, mcp.UnknownPrompt(req.Name)
}

// Follow begins to watch a resource.
func (h *Host) Follow(_ context.Context, _ *mcp.Caller, uri string) error {
	return mcp.UnknownResource(uri)
}

// Unfollow ends that.
func (h *Host) Unfollow(toolset, uri string) {}
