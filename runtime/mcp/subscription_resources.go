package mcp

import (
	"context"
	"sync"
)

// resourceSubscriptions are the resources of one subscription. Each is followed once by the
// Handler.
type resourceSubscriptions struct {
	subscription *subscription
	server       *Server

	mu     sync.Mutex
	byURI  map[string]*resourceSubscription // guarded by mu
	closed bool                             // guarded by mu
	last   *Caller                          // who subscribed last and probably subscribes again; guarded by mu
}

// resourceSubscription is a subscription to one resource, possibly pending. Its booleans are
// guarded by resourceSubscriptions.mu.
type resourceSubscription struct {
	started  chan struct{} // closed when the Handler has returned
	err      error         // of the Handler, when started is closed
	caller   *Caller       // who subscribed
	followed bool          // the Handler has returned nil
	revoked  bool          // the caller may no longer be notified and has been notified once since
}

// maxResources is the maximum number of resources of one subscription. The Handler watches each of
// them.
const maxResources = 1000

// add subscribes to a resource. If there is a subscription already, add waits for it.
func (r *resourceSubscriptions) add(ctx context.Context, c *Caller, uri string) error {
	r.mu.Lock()
	if existing := r.byURI[uri]; existing != nil || r.closed {
		r.mu.Unlock()
		return existing.wait(ctx)
	}
	if len(r.byURI) >= maxResources {
		r.mu.Unlock()
		return errorf(CodeBusy,
			"The limit of %d resource subscriptions is reached. Unsubscribe from one of them first", maxResources)
	}
	r.last = c.Snapshot(r.last)
	added := &resourceSubscription{started: make(chan struct{}), caller: r.last}
	r.byURI[uri] = added
	r.server.subscriptions.add(r.subscription, topic{resourceTopic, uri}) // first, so that no change is missed
	r.mu.Unlock()

	added.err = r.server.follow(ctx, c, uri) // may block
	defer close(added.started)
	r.mu.Lock()
	current := r.byURI[uri] == added // it has not been removed meanwhile
	switch {
	case current && added.err != nil:
		r.removeLocked(uri)
	case current:
		added.followed = true
	}
	r.mu.Unlock()
	if !current && added.err == nil {
		r.server.unfollow(r.subscription.toolset, uri)
	}
	return added.err
}

// mayNotify reports whether the recipient is notified of the resource. A caller that may no longer
// read it is notified once, so that its client finds out.
func (r *resourceSubscriptions) mayNotify(uri string) bool {
	r.mu.Lock()
	one := r.byURI[uri]
	r.mu.Unlock()
	if one == nil {
		return false
	}
	may := r.server.mayFollow(one.caller, uri)
	r.mu.Lock()
	defer r.mu.Unlock()
	before := one.revoked
	one.revoked = !may
	return may || !before
}

// wait waits until the Handler has returned and returns its error. It returns nil for nil.
func (r *resourceSubscription) wait(ctx context.Context) error {
	if r == nil {
		return nil
	}
	select {
	case <-r.started:
		return r.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (r *resourceSubscriptions) removeLocked(uri string) {
	delete(r.byURI, uri)
	r.server.subscriptions.remove(r.subscription, topic{resourceTopic, uri})
}

// remove ends the subscription to a resource, if there is one.
func (r *resourceSubscriptions) remove(uri string) {
	r.mu.Lock()
	one := r.byURI[uri]
	followed := one != nil && one.followed
	if one != nil {
		r.removeLocked(uri)
	}
	r.mu.Unlock()
	if followed {
		r.server.unfollow(r.subscription.toolset, uri)
	}
}

// close ends all subscriptions. Later calls of add do nothing.
func (r *resourceSubscriptions) close() {
	r.mu.Lock()
	var followed []string
	for uri, one := range r.byURI {
		if one.followed {
			followed = append(followed, uri)
		}
	}
	r.closed, r.byURI = true, nil
	r.mu.Unlock()
	for _, uri := range followed {
		r.server.unfollow(r.subscription.toolset, uri)
	}
}

// recoverError is deferred. It makes a panic an error.
func recoverError(err *error) {
	if p := recover(); p != nil {
		*err = panicError(p)
	}
}

// follow calls Follow of the Handler. A panic is an error.
func (s *Server) follow(ctx context.Context, c *Caller, uri string) (err error) {
	defer recoverError(&err)
	return s.handler.SubscribeResource(ctx, c, uri)
}

// mayFollow calls MayFollow of the Handler. After a panic the result is false.
func (s *Server) mayFollow(c *Caller, uri string) (may bool) {
	defer s.logPanic("subscription check failed", uri)
	return s.handler.MayNotify(c, uri)
}

// unfollow calls Unfollow of the Handler. No client may be waiting, so a panic is only logged.
func (s *Server) unfollow(toolset, uri string) {
	defer s.logPanic("unsubscribe failed", uri)
	s.handler.UnsubscribeResource(toolset, uri)
}

// logPanic is deferred. It logs a panic about a resource.
func (s *Server) logPanic(message, uri string) {
	if p := recover(); p != nil {
		s.options.Logger.Error(message, "uri", uri, "error", panicError(p))
	}
}
