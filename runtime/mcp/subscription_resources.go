package mcp

import "context"

// resourceSubscription is a subscription to one resource, possibly pending. The Handler follows the
// resource for it. Its booleans are
// guarded by subscription.mu.
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

// addResource subscribes to a resource. If there is a subscription already, it waits for that.
func (sub *subscription) addResource(ctx context.Context, c *Caller, uri string) error {
	sub.mu.Lock()
	if existing := sub.resources[uri]; existing != nil || sub.resources == nil {
		sub.mu.Unlock()
		return existing.wait(ctx)
	}
	if len(sub.resources) >= maxResources {
		sub.mu.Unlock()
		return errorf(CodeBusy,
			"The limit of %d resource subscriptions is reached. Unsubscribe from one of them first", maxResources)
	}
	sub.last = c.Snapshot(sub.last)
	added := &resourceSubscription{started: make(chan struct{}), caller: sub.last}
	sub.resources[uri] = added
	sub.server.subscriptions.add(sub, topic{resourceTopic, uri}) // first, so that no change is missed
	sub.mu.Unlock()

	added.err = sub.server.follow(ctx, c, uri) // may block
	defer close(added.started)
	sub.mu.Lock()
	current := sub.resources[uri] == added // it has not been removed meanwhile
	switch {
	case current && added.err != nil:
		sub.removeLocked(uri)
	case current:
		added.followed = true
	}
	sub.mu.Unlock()
	if !current && added.err == nil {
		sub.server.unfollow(sub.toolset, uri)
	}
	return added.err
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

// mayNotify reports whether the recipient is notified of the resource. A caller that may no longer
// read it is notified once, so that its client finds out.
func (sub *subscription) mayNotify(uri string) bool {
	sub.mu.Lock()
	one := sub.resources[uri]
	sub.mu.Unlock()
	if one == nil {
		return false
	}
	may := sub.server.mayFollow(one.caller, uri)
	sub.mu.Lock()
	defer sub.mu.Unlock()
	before := one.revoked
	one.revoked = !may
	return may || !before
}

// removeResource ends the subscription to a resource, if there is one.
func (sub *subscription) removeResource(uri string) {
	sub.mu.Lock()
	one := sub.resources[uri]
	followed := one != nil && one.followed
	sub.removeLocked(uri)
	sub.mu.Unlock()
	if followed {
		sub.server.unfollow(sub.toolset, uri)
	}
}

func (sub *subscription) removeLocked(uri string) {
	delete(sub.resources, uri)
	sub.server.subscriptions.remove(sub, topic{resourceTopic, uri})
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
