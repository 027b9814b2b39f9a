package runtime

import (
	"bytes"
	"context"
	"sync"

	"hatchel/adapters"
	"hatchel/runtime/failure"
	"hatchel/runtime/mcp"
)

// subscriptions are the documents that somebody follows. They outlive generations, as those do who follow.
type subscriptions struct {
	host    *Host
	ctx     context.Context // of what watches them
	cancel  context.CancelFunc
	running sync.WaitGroup // what watches them

	mu     sync.Mutex
	closed bool                     // guarded by mu
	byURI  map[string]*subscription // by URI; guarded by mu
	last   *mcp.Caller              // who began to follow a document last, and will most often begin with another; guarded by mu
}

// subscription is one document that somebody follows. Its fields but the first two are guarded by follows.mu.
type subscription struct {
	uri    string
	caller *mcp.Caller // who began; as them it is read again

	subscribers map[string]int  // how many, by toolset
	poller      *resourcePoller // nil when nothing but a new configuration changes what it holds
}

// newSubscriptions begins without any. What watches them ends with close.
func newSubscriptions(ctx context.Context, h *Host) *subscriptions {
	f := &subscriptions{host: h, byURI: map[string]*subscription{}}
	f.ctx, f.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return f
}

// maxSubscribedResources is how many documents are followed at once, by all together: each may be read again and again.
const maxSubscribedResources = 10000

// checkSubscribe is why a caller may not follow what is at uri, if so.
func (g *Generation) checkSubscribe(ctx context.Context, caller *mcp.Caller, uri string) (err error) {
	r, variables := g.view(caller.Toolset).resource(uri)
	if r == nil {
		return mcp.UnknownResource(uri)
	}
	if err := r.checkVisibleRequest(ctx, caller, uri); err != nil {
		return err
	}
	if err := r.checkScopes(caller); err != nil {
		return err
	}
	c := r.newCall(ctx, callerRoot(caller), adapters.Nobody{})
	defer c.result.Release()
	c.remoteAddr = caller.Remote
	failed := failure.Of(c.admitRecovered(inputs{texts: variables}))
	if failed == nil {
		return nil
	}
	c.logOutcome(ctx, failed)
	return withURI(uri, c.protocolError(failed))
}

// maySubscribe reports whether followable would find no reason, without accounting for it.
func (g *Generation) maySubscribe(ctx context.Context, caller *mcp.Caller, uri string) bool {
	r, variables := g.view(caller.Toolset).resource(uri)
	switch {
	case r == nil || r.checkScopes(caller) != nil:
		return false
	case r.rules == nil:
		return true
	}
	c := r.newCall(ctx, callerRoot(caller), adapters.Nobody{})
	defer c.result.Release()
	return c.admitRecovered(inputs{texts: variables}) == nil
}

// admitRecovered is admit, whose panics are errors.
func (c *call) admitRecovered(in inputs) (err error) {
	defer failure.Recover(&err)
	return c.operation.admit(c, in)
}

// add counts one who follows. When it returns, it is known how the document reads, so that no change after it is missed.
func (f *subscriptions) add(ctx context.Context, caller *mcp.Caller, uri string) error {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return errClosed
	}
	d := f.byURI[uri]
	if d == nil && len(f.byURI) >= maxSubscribedResources {
		f.mu.Unlock()
		return &mcp.Error{Code: mcp.CodeBusy, Message: "Too many resources are followed at once. Try again later"}
	}
	if d == nil {
		d = &subscription{uri: uri, caller: f.retainCaller(caller), subscribers: map[string]int{}}
		f.byURI[uri] = d
		f.startPolling(d, f.host.current.Load(), false)
	}
	d.subscribers[caller.Toolset]++
	p := d.poller
	f.mu.Unlock()
	if p == nil {
		return nil
	}
	select {
	case <-p.ready:
		return nil
	case <-ctx.Done():
		f.remove(caller.Toolset, uri)
		return ctx.Err()
	}
}

// retainCaller is the caller without memory that is reused, and without the request that it came with. One who follows much is kept once. It is called with mu held.
func (f *subscriptions) retainCaller(c *mcp.Caller) *mcp.Caller {
	if l := f.last; l != nil && l.Same(c) {
		return l
	}
	f.last = &mcp.Caller{
		Revision: c.Revision, Toolset: c.Toolset, Identity: c.Identity.Kept(), Subject: c.Subject,
		ClientInfo: bytes.Clone(c.ClientInfo), Capabilities: bytes.Clone(c.Capabilities),
	}
	return f.last
}

// remove undoes one add.
func (f *subscriptions) remove(toolset, uri string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.byURI[uri]
	if d == nil || d.subscribers[toolset] == 0 {
		return
	}
	if d.subscribers[toolset]--; d.subscribers[toolset] == 0 {
		delete(d.subscribers, toolset)
	}
	if len(d.subscribers) == 0 {
		delete(f.byURI, uri)
		f.stopPolling(d)
	}
}

// startPolling watches a document of g, if there is anything to watch. When it was changed, that is told once it is known how it reads now.
func (f *subscriptions) startPolling(d *subscription, g *Generation, changed bool) {
	if r, _ := g.fullView.resource(d.uri); r != nil && !f.closed {
		d.poller = newResourcePoller(f, d, r)
	}
	switch {
	case d.poller != nil:
		f.running.Go(func() { d.poller.run(changed) })
	case changed:
		f.notify(d)
	}
}

func (f *subscriptions) stopPolling(d *subscription) {
	if d.poller != nil {
		d.poller.cancel()
		d.poller = nil
	}
}

// onReload tells of every followed document that another configuration holds differently, or that some follower has no more or has again.
func (f *subscriptions) onReload(last, next *Generation) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range f.byURI {
		if d.differs(last, next) {
			f.stopPolling(d)
			f.startPolling(d, next, true)
		}
	}
}

func (d *subscription) differs(last, next *Generation) bool {
	before, _ := last.fullView.resource(d.uri)
	after, _ := next.fullView.resource(d.uri)
	if (before == nil) != (after == nil) || after != nil && (before.decl.Digest != after.decl.Digest || before.rules.Digest() != after.rules.Digest()) {
		return true
	}
	for toolset := range d.subscribers {
		before, _ := last.view(toolset).resource(d.uri)
		after, _ := next.view(toolset).resource(d.uri)
		if (before == nil) != (after == nil) {
			return true
		}
	}
	return false
}

func (f *subscriptions) notify(d *subscription) {
	f.host.notify(func(a Notifier) { a.ResourceUpdated(d.uri) })
}

// close ends all watching, and waits until it has ended.
func (f *subscriptions) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.cancel()
	f.running.Wait()
}
