// Package subscribe turns subscriptions to resource URIs into change notifications.
//
// A [Registry] polls each subscribed document as long as somebody is subscribed to it, and notifies
// when the document may read differently. It outlives generations, as the clients do.
package subscribe

import (
	"context"
	"errors"
	"sync"

	"hatchel/internal/service"
	"hatchel/runtime/call"
	"hatchel/runtime/edge/mcp"
)

// Server is what a Registry needs of the server.
type Server interface {
	// Resource returns the resource that is served at a URI, nil for none, with the variables of
	// the URI. The caller must call release. The error is that the server is closed.
	Resource(uri string) (r *call.Resource, variables map[string]string, release func(), err error)
	// NotifyUpdated is called when the document at a URI may read differently. It must not block.
	NotifyUpdated(uri string)
	// LogReadFailure is called when a document can no longer be read.
	LogReadFailure(uri string, err error)
}

// Registry holds the subscriptions of all clients. Its methods may be called concurrently.
type Registry struct {
	server  Server
	pollers *service.Group

	mu         sync.Mutex
	byURI      map[string]*subscription // guarded by mu
	lastCaller *mcp.Caller              // who subscribed last, and most often subscribes next; guarded by mu
}

// subscription is one document that somebody is subscribed to. Its fields but the first two are
// guarded by Registry.mu.
type subscription struct {
	uri    string
	caller *mcp.Caller // who subscribed first; the document is read as them

	subscribers map[string]int // by toolset
	poller      *poller        // nil when only a reload can change the document
}

// maxResources is how many documents may be subscribed to at once, by all clients together.
const maxResources = 10000

// New returns a Registry whose pollers run until Close.
func New(ctx context.Context, server Server) *Registry {
	return &Registry{server: server, pollers: service.NewGroup(ctx), byURI: map[string]*subscription{}}
}

// Context ends with Close.
func (r *Registry) Context() context.Context { return r.pollers.Context() }

// Subscribe adds one subscription. When it returns, no later change of the document is missed.
func (r *Registry) Subscribe(ctx context.Context, caller *mcp.Caller, uri string) error {
	resource, _, release, err := r.server.Resource(uri)
	if err != nil {
		return err
	}
	defer release()
	poller, err := r.add(caller, uri, resource)
	if err != nil || poller == nil {
		return err
	}
	select {
	case <-poller.ready:
		return nil
	case <-ctx.Done():
		r.Unsubscribe(caller.Toolset, uri)
		return ctx.Err()
	}
}

// add counts a subscription and returns its poller.
func (r *Registry) add(caller *mcp.Caller, uri string, resource *call.Resource) (*poller, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.byURI[uri]
	switch {
	case r.Context().Err() != nil:
		return nil, mcp.ErrClosing
	case s == nil && len(r.byURI) >= maxResources:
		const text = "There are too many subscriptions to resources. Try again later"
		return nil, &mcp.Error{Code: mcp.CodeBusy, Message: text}
	case s == nil:
		r.lastCaller = caller.Snapshot(r.lastCaller)
		s = &subscription{uri: uri, caller: r.lastCaller, subscribers: map[string]int{}}
		r.byURI[uri] = s
		r.startPolling(s, resource, false)
	}
	s.subscribers[caller.Toolset]++
	return s.poller, nil
}

// Unsubscribe removes one subscription.
func (r *Registry) Unsubscribe(toolset, uri string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.byURI[uri]
	if s == nil || s.subscribers[toolset] == 0 {
		return
	}
	if s.subscribers[toolset]--; s.subscribers[toolset] == 0 {
		delete(s.subscribers, toolset)
	}
	if len(s.subscribers) == 0 {
		delete(r.byURI, uri)
		s.stopPolling()
	}
}

// startPolling polls a document if that can tell of changes. When the document has changed already,
// it notifies after the first poll, so that no change after that is missed.
func (r *Registry) startPolling(s *subscription, resource *call.Resource, changed bool) {
	var poller *poller
	if resource != nil {
		poller = newPoller(r, s, resource)
	}
	switch {
	case poller != nil && r.pollers.Go(func(context.Context) { poller.run(changed) }):
		s.poller = poller
	case changed:
		r.server.NotifyUpdated(s.uri)
	}
}

func (s *subscription) stopPolling() {
	if s.poller != nil {
		s.poller.cancel()
		s.poller = nil
	}
}

// OnReload notifies of the documents that have changed with the configuration. Changed reports that
// of a URI whose subscribers use these toolsets, and returns the resource that is served there now;
// nil for none.
func (r *Registry) OnReload(changed func(uri string, toolsets map[string]int) (*call.Resource, bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.byURI {
		if resource, differs := changed(s.uri, s.subscribers); differs {
			s.stopPolling()
			r.startPolling(s, resource, true)
		}
	}
}

// Close ends all polling, and waits until it has ended.
func (r *Registry) Close() { r.pollers.Close() }

var errResourceGone = errors.New("there is no resource at this URI any more")

// Len returns how many documents have subscribers.
func (r *Registry) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.byURI)
}
