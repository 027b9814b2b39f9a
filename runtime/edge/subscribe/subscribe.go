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
	// NotifyUpdated is called when the document at a URI may read differently: for the callers whom of selects, nil
	// for all. It must not block.
	NotifyUpdated(uri string, of func(*mcp.Caller) bool)
	// LogReadFailure is called when a document can no longer be read.
	LogReadFailure(uri string, err error)
}

// Registry holds the subscriptions of all clients. Its methods may be called concurrently.
type Registry struct {
	server  Server
	pollers *service.Group

	mu         sync.Mutex
	byURI      map[string]*subscription // guarded by mu
	documents  int                      // the sum of subscription.documents; guarded by mu
	lastCaller *mcp.Caller              // who subscribed last, and most often subscribes next; guarded by mu
}

// subscription is a URI that somebody is subscribed to. Its fields but the first are guarded by Registry.mu.
type subscription struct {
	uri string

	subscribers map[string]*subscriber // by the key of the caller
	perCaller   bool                   // the document may read differently for each caller
	pollers     map[string]*poller     // by pollerKey; none when only a reload can change the document
}

// subscriber is a caller who is subscribed to a URI.
type subscriber struct {
	caller   *mcp.Caller
	toolsets map[string]int // how often, by toolset
}

// pollerKey returns the key of the poller of a subscriber. A document that reads the same for all has one, which reads
// it as the subscriber who came first.
func (s *subscription) pollerKey(subscriber string) string {
	if s.perCaller {
		return subscriber
	}
	return ""
}

// documents returns how many documents the subscription counts as.
func (s *subscription) documents() int { return max(1, len(s.pollers)) }

// toolsets returns how many subscriptions there are in each toolset.
func (s *subscription) toolsets() map[string]int {
	all := map[string]int{}
	for _, one := range s.subscribers {
		for toolset, n := range one.toolsets {
			all[toolset] += n
		}
	}
	return all
}

// maxDocuments is how many documents may be subscribed to at once, by all clients together. A document that may read
// differently for each caller counts once for each.
const maxDocuments = 10000

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
		r.Unsubscribe(caller, uri)
		return ctx.Err()
	}
}

// add counts a subscription and returns its poller.
func (r *Registry) add(caller *mcp.Caller, uri string, resource *call.Resource) (*poller, error) {
	key := keyOf(caller)
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.byURI[uri]
	before := 0
	if s != nil {
		before = s.documents()
	}
	adds := s == nil || s.perCaller && s.subscribers[key] == nil
	switch {
	case r.Context().Err() != nil:
		return nil, mcp.ErrClosing
	case adds && r.documents >= maxDocuments:
		const text = "There are too many subscriptions to resources. Try again later"
		return nil, &mcp.Error{Code: mcp.CodeBusy, Message: text}
	case s == nil:
		s = &subscription{uri: uri, subscribers: map[string]*subscriber{}, pollers: map[string]*poller{}}
		s.perCaller = resource != nil && resource.Resource.CallerSpecific
		r.byURI[uri] = s
	}
	one := s.subscribers[key]
	if one == nil {
		r.lastCaller = caller.Snapshot(r.lastCaller)
		one = &subscriber{r.lastCaller, map[string]int{}}
		s.subscribers[key] = one
		if adds {
			r.startPolling(s, key, resource, false)
		}
	}
	one.toolsets[caller.Toolset]++
	r.documents += s.documents() - before
	return s.pollers[s.pollerKey(key)], nil
}

// Unsubscribe removes one subscription.
func (r *Registry) Unsubscribe(caller *mcp.Caller, uri string) {
	key := keyOf(caller)
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.byURI[uri]
	if s == nil || s.subscribers[key] == nil || s.subscribers[key].toolsets[caller.Toolset] == 0 {
		return
	}
	before, one := s.documents(), s.subscribers[key]
	if one.toolsets[caller.Toolset]--; one.toolsets[caller.Toolset] == 0 {
		delete(one.toolsets, caller.Toolset)
	}
	if len(one.toolsets) > 0 {
		return
	}
	delete(s.subscribers, key)
	if s.perCaller || len(s.subscribers) == 0 {
		s.stopPolling(s.pollerKey(key))
	}
	if len(s.subscribers) == 0 {
		delete(r.byURI, uri)
		r.documents -= before
		return
	}
	r.documents += s.documents() - before
}

// keyOf returns a key that is the same for callers whom documents read the same for.
func keyOf(caller *mcp.Caller) string { return call.CallerDigest(caller) }

// startPolling polls a document for a subscriber if it can tell of changes. When the document has changed already, it
// notifies after the first poll, so that no change after that is missed.
func (r *Registry) startPolling(s *subscription, subscriber string, resource *call.Resource, changed bool) {
	var poller *poller
	if resource != nil {
		poller = newPoller(r, s, subscriber, resource)
	}
	switch {
	case poller != nil && r.pollers.Go(func(context.Context) { poller.run(changed) }):
		s.pollers[s.pollerKey(subscriber)] = poller
	case changed:
		r.server.NotifyUpdated(s.uri, nil)
	}
}

func (s *subscription) stopPolling(key string) {
	if poller := s.pollers[key]; poller != nil {
		poller.cancel()
		delete(s.pollers, key)
	}
}

// OnReload notifies of the documents that have changed with the configuration. Changed reports that
// of a URI whose subscribers use these toolsets, and returns the resource that is served there now;
// nil for none.
func (r *Registry) OnReload(changed func(uri string, toolsets map[string]int) (*call.Resource, bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.byURI {
		resource, differs := changed(s.uri, s.toolsets())
		if !differs {
			continue
		}
		before := s.documents()
		for key := range s.pollers {
			s.stopPolling(key)
		}
		s.perCaller = resource != nil && resource.Resource.CallerSpecific
		for subscriber := range s.subscribers {
			if s.pollers[s.pollerKey(subscriber)] == nil {
				r.startPolling(s, subscriber, resource, true)
			}
			if !s.perCaller {
				break
			}
		}
		r.documents += s.documents() - before
	}
}

// Close ends all polling, and waits until it has ended.
func (r *Registry) Close() { r.pollers.Close() }

var errResourceGone = errors.New("there is no resource at this URI any more")

// Len returns how many documents have subscribers.
func (r *Registry) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.documents
}
