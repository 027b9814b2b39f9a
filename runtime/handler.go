package runtime

import (
	"context"

	"hatchel/runtime/mcp"
)

// The methods by which a Host is a mcp.Handler, but for Task. Each serves a request from the generation that is current when it begins.

// Info describes the server, as a toolset shows it; nil when there is no such toolset.
func (h *Host) Info(toolset string) *mcp.Info {
	if v := h.current.Load().view(toolset); v != nil {
		return v.info
	}
	return nil
}

// List returns one of the lists, without what the caller may not call. In a toolset that is gone it is empty.
func (h *Host) List(ctx context.Context, caller *mcp.Caller, of mcp.Listing) *mcp.List {
	g := h.current.Load()
	if v := g.view(caller.Toolset); v != nil && g.isAuthenticated(caller) {
		return v.listFor(ctx, caller, of)
	}
	return mcp.NewList(of, nil, mcp.ListOptions{})
}

// CallTool serves a call from the generation that is current when it begins.
func (h *Host) CallTool(ctx context.Context, req *mcp.CallRequest) (mcp.Outcome, error) {
	g, err := h.admit(ctx, req.Caller)
	if err != nil {
		return mcp.Outcome{}, err
	}
	defer g.leave()
	p := g.view(req.Caller.Toolset).tool(req.Name)
	if p == nil {
		return mcp.Outcome{}, g.recordRefusal(ctx, "tool", req, mcp.UnknownTool(req.Name))
	}
	return p.Run(ctx, req)
}

// GetPrompt serves a prompt from the generation that is current when it begins.
func (h *Host) GetPrompt(ctx context.Context, req *mcp.CallRequest) (mcp.Document, error) {
	g, err := h.admit(ctx, req.Caller)
	if err != nil {
		return mcp.Document{}, err
	}
	defer g.leave()
	return g.Prompt(ctx, req)
}

// Prompt serves a prompt.
func (g *Generation) Prompt(ctx context.Context, req *mcp.CallRequest) (mcp.Document, error) {
	p := g.view(req.Caller.Toolset).prompt(req.Name)
	if p == nil {
		return mcp.Document{}, g.recordRefusal(ctx, "prompt", req, mcp.UnknownPrompt(req.Name))
	}
	return p.get(ctx, req)
}

// ReadResource serves a document from the generation that is current when it begins.
func (h *Host) ReadResource(ctx context.Context, req *mcp.CallRequest) (mcp.Document, error) {
	g, err := h.admit(ctx, req.Caller)
	if err != nil {
		return mcp.Document{}, err
	}
	defer g.leave()
	return g.Read(ctx, req)
}

// Read serves the document at a URI.
func (g *Generation) Read(ctx context.Context, req *mcp.CallRequest) (mcp.Document, error) {
	r, variables := g.view(req.Caller.Toolset).resource(req.Name)
	if r == nil {
		return mcp.Document{}, g.recordRefusal(ctx, "resource", req, mcp.UnknownResource(req.Name))
	}
	return r.read(ctx, req, variables)
}

// Complete serves a completion from the generation that is current when it begins.
func (h *Host) Complete(ctx context.Context, req *mcp.CompleteRequest) (mcp.Completion, error) {
	g, err := h.admit(ctx, req.Caller)
	if err != nil {
		return mcp.Completion{}, err
	}
	defer g.leave()
	w, err := g.view(req.Caller.Toolset).completable(req)
	if err != nil {
		return mcp.Completion{}, err
	}
	return g.complete(ctx, w, req)
}

// Follow has the audience told when the document at uri may read differently. Who may not read it may not follow it. Every Follow that returned nil is undone by one
// Unfollow.
func (h *Host) Follow(ctx context.Context, caller *mcp.Caller, uri string) error {
	g, err := h.admit(ctx, caller)
	if err != nil {
		return err
	}
	err = g.checkSubscribe(ctx, caller, uri)
	g.leave()
	if err != nil {
		return err
	}
	return h.subscriptions.add(ctx, caller, uri)
}

// Unfollow ends what one Follow began.
func (h *Host) Unfollow(toolset, uri string) { h.subscriptions.remove(toolset, uri) }

// MayFollow reports whether a caller who follows a document could begin to, as things are now.
func (h *Host) MayFollow(caller *mcp.Caller, uri string) bool {
	g := h.pin()
	if g == nil {
		return false
	}
	defer g.leave()
	return g.isAuthenticated(caller) && g.maySubscribe(h.subscriptions.ctx, caller, uri)
}
