package runtime

import (
	"context"

	"hatchel/runtime/call"
	"hatchel/runtime/mcp"
)

// SubscribeResource subscribes the notifier to the document at a URI. A caller who may not read it may not
// subscribe. Every Follow that returned nil is undone by one Unfollow.
func (h *Host) SubscribeResource(ctx context.Context, caller *mcp.Caller, uri string) error {
	g, err := h.admit(ctx, caller)
	if err != nil {
		return err
	}
	r, variables := g.view(caller.Toolset).resource(uri)
	if r == nil {
		err = mcp.Unknown("resource", uri)
	} else {
		err = r.CheckSubscribe(ctx, caller, uri, variables)
	}
	g.leave()
	if err != nil {
		return err
	}
	return h.subscriptions.Subscribe(ctx, caller, uri)
}

// UnsubscribeResource undoes one Follow.
func (h *Host) UnsubscribeResource(toolset, uri string) { h.subscriptions.Unsubscribe(toolset, uri) }

// MayNotify reports whether a caller who is subscribed to a document may still be.
func (h *Host) MayNotify(caller *mcp.Caller, uri string) bool {
	g := h.pin()
	if g == nil {
		return false
	}
	defer g.leave()
	r, variables := g.view(caller.Toolset).resource(uri)
	return r != nil && g.isAuthenticated(caller) && r.MaySubscribe(h.subscriptions.Context(), caller, variables)
}

// resourcesChanged notifies of the subscribed documents that differ between two generations.
func (h *Host) resourcesChanged(last, next *Generation) {
	h.subscriptions.OnReload(func(uri string, toolsets map[string]int) (*call.Resource, bool) {
		before, _ := last.fullView.resource(uri)
		after, _ := next.fullView.resource(uri)
		differs := (before == nil) != (after == nil) || after != nil &&
			(before.Decl.Digest != after.Decl.Digest || before.Rules.Digest() != after.Rules.Digest())
		for toolset := range toolsets {
			before, _ := last.view(toolset).resource(uri)
			after, _ := next.view(toolset).resource(uri)
			differs = differs || (before == nil) != (after == nil)
		}
		return after, differs
	})
}

// subscribedServer implements subscribe.Server.
type subscribedServer struct{ *Host }

// Resource implements subscribe.Server.
func (s subscribedServer) Resource(uri string) (*call.Resource, map[string]string, func(), error) {
	g := s.pin()
	if g == nil {
		return nil, nil, nil, errClosed
	}
	r, variables := g.fullView.resource(uri)
	return r, variables, g.leave, nil
}

// NotifyUpdated implements subscribe.Server.
func (s subscribedServer) NotifyUpdated(uri string) {
	s.notify(func(n Notifier) { n.ResourceUpdated(uri) })
}

// LogReadFailure implements subscribe.Server.
func (s subscribedServer) LogReadFailure(uri string, err error) {
	scrubber := s.Current().env.Scrubber
	s.build.Log.Warn("subscribed resource not readable",
		"uri", scrubber.Text(uri), "error", scrubber.Text(err.Error()))
}
