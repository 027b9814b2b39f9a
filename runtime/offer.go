package runtime

import (
	"context"

	"hatchel/runtime/mcp"
)

// GetPrompt serves a prompt from the generation that is current when it begins.
func (h *Host) GetPrompt(ctx context.Context, req *mcp.CallRequest) (mcp.Document, error) {
	g := h.pin()
	if g == nil {
		return mcp.Document{}, errClosed
	}
	defer g.leave()
	return g.Prompt(ctx, req)
}

// Prompt serves a prompt.
func (g *Generation) Prompt(ctx context.Context, req *mcp.CallRequest) (mcp.Document, error) {
	p := g.view(req.Caller.Toolset).prompt(req.Name)
	if p == nil {
		return mcp.Document{}, mcp.UnknownPrompt(req.Name)
	}
	return p.get(ctx, req)
}

// ReadResource serves a document from the generation that is current when it begins.
func (h *Host) ReadResource(ctx context.Context, req *mcp.CallRequest) (mcp.Document, error) {
	g := h.pin()
	if g == nil {
		return mcp.Document{}, errClosed
	}
	defer g.leave()
	return g.Read(ctx, req)
}

// Read serves the document at a URI.
func (g *Generation) Read(ctx context.Context, req *mcp.CallRequest) (mcp.Document, error) {
	r, variables := g.view(req.Caller.Toolset).resource(req.Name)
	if r == nil {
		return mcp.Document{}, mcp.UnknownResource(req.Name)
	}
	return r.read(ctx, req, variables)
}

// Complete serves a completion from the generation that is current when it begins.
func (h *Host) Complete(ctx context.Context, req *mcp.CompleteRequest) (mcp.Completion, error) {
	g := h.pin()
	if g == nil {
		return mcp.Completion{}, errClosed
	}
	defer g.leave()
	w, err := g.view(req.Caller.Toolset).completed(req)
	if err != nil {
		return mcp.Completion{}, err
	}
	return g.complete(ctx, w, req)
}

// Follow has the audience told when the document at uri may read differently. Who may not read it may not follow it. Every Follow that returned nil is undone by one
// Unfollow.
func (h *Host) Follow(ctx context.Context, caller *mcp.Caller, uri string) error {
	g := h.pin()
	if g == nil {
		return errClosed
	}
	err := g.followable(ctx, caller, uri)
	g.leave()
	if err != nil {
		return err
	}
	return h.follows.add(ctx, caller, uri)
}

// Unfollow ends what one Follow began.
func (h *Host) Unfollow(toolset, uri string) { h.follows.remove(toolset, uri) }
