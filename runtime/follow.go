package runtime

import (
	"bytes"
	"context"
	"sync"

	"hatchel/adapters"
	"hatchel/runtime/mcp"
)

// follows are the documents that somebody follows. They outlive generations, as those do who follow.
type follows struct {
	host    *Host
	ctx     context.Context // of what watches them
	cancel  context.CancelFunc
	running sync.WaitGroup // what watches them

	mu        sync.Mutex
	closed    bool                 // guarded by mu
	documents map[string]*followed // by URI; guarded by mu
	last      *mcp.Caller          // who began to follow a document last, and will most often begin with another; guarded by mu
}

// followed is one document that somebody follows. Its fields but the first two are guarded by follows.mu.
type followed struct {
	uri    string
	caller *mcp.Caller // who began; as them it is read again

	followers map[string]int // how many, by toolset
	poller    *poller        // nil when nothing but a new configuration changes what it holds
}

// newFollows begins without any. What watches them ends with close.
func newFollows(ctx context.Context, h *Host) *follows {
	f := &follows{host: h, documents: map[string]*followed{}}
	f.ctx, f.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return f
}

// mostDocuments is how many documents are followed at once, by all together: each may be read again and again.
const mostDocuments = 10000

// followable is why a caller may not follow what is at uri, if so.
func (g *Generation) followable(ctx context.Context, caller *mcp.Caller, uri string) (err error) {
	r, variables := g.view(caller.Toolset).resource(uri)
	if r == nil {
		return mcp.UnknownResource(uri)
	}
	if err := r.concealed(ctx, caller, uri); err != nil {
		return err
	}
	if err := r.entitled(caller); err != nil {
		return err
	}
	c := r.newCall(ctx, callerOf(caller), adapters.Nobody{})
	defer c.reply.release()
	c.remote = caller.Remote
	failed := failureOf(c.admitted(inputs{texts: variables}))
	if failed == nil {
		return nil
	}
	c.account(ctx, failed)
	return about(uri, c.protocolError(failed))
}

// stillFollowable reports whether followable would find no reason, without accounting for it.
func (g *Generation) stillFollowable(ctx context.Context, caller *mcp.Caller, uri string) bool {
	r, variables := g.view(caller.Toolset).resource(uri)
	switch {
	case r == nil || r.entitled(caller) != nil:
		return false
	case r.rules == nil:
		return true
	}
	c := r.newCall(ctx, callerOf(caller), adapters.Nobody{})
	defer c.reply.release()
	return c.admitted(inputs{texts: variables}) == nil
}

// admitted is admit, whose panics are errors.
func (c *call) admitted(in inputs) (err error) {
	defer recovered(&err)
	return c.routine.admit(c, in)
}

// add counts one who follows. When it returns, it is known how the document reads, so that no change after it is missed.
func (f *follows) add(ctx context.Context, caller *mcp.Caller, uri string) error {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return errClosed
	}
	d := f.documents[uri]
	if d == nil && len(f.documents) >= mostDocuments {
		f.mu.Unlock()
		return &mcp.Error{Code: mcp.CodeBusy, Message: "Too many resources are followed at once. Try again later"}
	}
	if d == nil {
		d = &followed{uri: uri, caller: f.kept(caller), followers: map[string]int{}}
		f.documents[uri] = d
		f.begin(d, f.host.current.Load(), false)
	}
	d.followers[caller.Toolset]++
	p := d.poller
	f.mu.Unlock()
	if p == nil {
		return nil
	}
	select {
	case <-p.began:
		return nil
	case <-ctx.Done():
		f.remove(caller.Toolset, uri)
		return ctx.Err()
	}
}

// kept is the caller without memory that is reused, and without the request that it came with. One who follows much is kept once. It is called with mu held.
func (f *follows) kept(c *mcp.Caller) *mcp.Caller {
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
func (f *follows) remove(toolset, uri string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.documents[uri]
	if d == nil || d.followers[toolset] == 0 {
		return
	}
	if d.followers[toolset]--; d.followers[toolset] == 0 {
		delete(d.followers, toolset)
	}
	if len(d.followers) == 0 {
		delete(f.documents, uri)
		f.end(d)
	}
}

// begin watches a document of g, if there is anything to watch. When it was changed, that is told once it is known how it reads now.
func (f *follows) begin(d *followed, g *Generation, changed bool) {
	if r, _ := g.whole.resource(d.uri); r != nil && !f.closed {
		d.poller = newPoller(f, d, r)
	}
	switch {
	case d.poller != nil:
		f.running.Go(func() { d.poller.run(changed) })
	case changed:
		f.tell(d)
	}
}

func (f *follows) end(d *followed) {
	if d.poller != nil {
		d.poller.cancel()
		d.poller = nil
	}
}

// replaced tells of every followed document that another configuration holds differently, or that some follower has no more or has again.
func (f *follows) replaced(last, next *Generation) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range f.documents {
		if d.differs(last, next) {
			f.end(d)
			f.begin(d, next, true)
		}
	}
}

func (d *followed) differs(last, next *Generation) bool {
	before, _ := last.whole.resource(d.uri)
	after, _ := next.whole.resource(d.uri)
	if (before == nil) != (after == nil) || after != nil && (before.decl.Digest != after.decl.Digest || before.rules.identity() != after.rules.identity()) {
		return true
	}
	for toolset := range d.followers {
		before, _ := last.view(toolset).resource(d.uri)
		after, _ := next.view(toolset).resource(d.uri)
		if (before == nil) != (after == nil) {
			return true
		}
	}
	return false
}

func (f *follows) tell(d *followed) {
	f.host.tell(func(a Audience) { a.ResourceUpdated(d.uri) })
}

// close ends all watching, and waits until it has ended.
func (f *follows) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.cancel()
	f.running.Wait()
}
