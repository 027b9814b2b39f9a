package mcp

import (
	"context"
	"sync"
)

// follows are the documents that one subscription follows. The Handler hears of each once, and once more when that is over.
type follows struct {
	subscription *subscription
	server       *Server

	mu   sync.Mutex
	uris map[string]*pursuit // guarded by mu
	over bool                // guarded by mu
	last *Caller             // who began to follow last, and will most often begin with another document; guarded by mu
}

// pursuit is one document that is followed, or about to be.
type pursuit struct {
	begun    chan struct{} // closed when the Handler has answered
	err      error         // what it has answered, then
	caller   *Caller       // who began
	underWay bool          // it has answered, and without an error; guarded by follows.mu
	lost     bool          // the caller was told of it last when it might not hear of it any more; guarded by follows.mu
}

// mostFollowed is how many documents one subscription may follow. Each costs the Handler attention as long as it lasts.
const mostFollowed = 1000

// add begins to follow a document, which may be followed already.
func (f *follows) add(ctx context.Context, c *Caller, uri string) error {
	f.mu.Lock()
	if p := f.uris[uri]; p != nil || f.over {
		f.mu.Unlock()
		return p.wait(ctx)
	}
	if len(f.uris) >= mostFollowed {
		f.mu.Unlock()
		return errorf(CodeBusy, "%d resources are followed already, and that is the most. Unsubscribe from one of them first", mostFollowed)
	}
	p := &pursuit{begun: make(chan struct{}), caller: f.kept(c)}
	if f.uris == nil {
		f.uris = make(map[string]*pursuit)
	}
	f.uris[uri] = p
	f.server.audience.join(f.subscription, topic{documentTopic, uri}) // first, so that no change is missed
	f.mu.Unlock()

	p.err = f.server.follow(ctx, c, uri) // which may take time
	defer close(p.begun)
	f.mu.Lock()
	wanted := f.uris[uri] == p // nobody has given it up meanwhile
	switch {
	case wanted && p.err != nil:
		f.drop(uri)
	case wanted:
		p.underWay = true
	}
	f.mu.Unlock()
	if !wanted && p.err == nil {
		f.server.unfollow(f.subscription.toolset, uri)
	}
	return p.err
}

// kept is the caller as it can be remembered. One who follows much is remembered once. It is called with mu held.
func (f *follows) kept(c *Caller) *Caller {
	if f.last == nil || !f.last.Same(c) {
		f.last = c.kept()
	}
	return f.last
}

// heard reports whether the recipient is to be told of the document. Who may not read it any more is told once, by which its client finds out, and then no more
// until that changes.
func (f *follows) heard(uri string) bool {
	f.mu.Lock()
	p := f.uris[uri]
	f.mu.Unlock()
	if p == nil {
		return false
	}
	may := f.server.mayFollow(p.caller, uri)
	f.mu.Lock()
	defer f.mu.Unlock()
	before := p.lost
	p.lost = !may
	return may || !before
}

// wait waits until the document is followed, and returns why it is not. It is nil when nobody wants it any more.
func (p *pursuit) wait(ctx context.Context) error {
	if p == nil {
		return nil
	}
	select {
	case <-p.begun:
		return p.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// drop is called with mu held.
func (f *follows) drop(uri string) {
	delete(f.uris, uri)
	f.server.audience.leave(f.subscription, topic{documentTopic, uri})
}

// remove ends that, if it has begun.
func (f *follows) remove(uri string) {
	f.mu.Lock()
	p := f.uris[uri]
	underWay := p != nil && p.underWay
	if p != nil {
		f.drop(uri)
	}
	f.mu.Unlock()
	if underWay {
		f.server.unfollow(f.subscription.toolset, uri)
	}
}

// end ends all, for good.
func (f *follows) end() {
	f.mu.Lock()
	all := f.uris
	f.over, f.uris = true, nil
	var underWay []string
	for uri, p := range all {
		if p.underWay {
			underWay = append(underWay, uri)
		}
	}
	f.mu.Unlock()
	for _, uri := range underWay {
		f.server.unfollow(f.subscription.toolset, uri)
	}
}

// follow is Follow of the Handler, whose panics are errors.
func (s *Server) follow(ctx context.Context, c *Caller, uri string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	return s.handler.Follow(ctx, c, uri)
}

// mayFollow is MayFollow of the Handler. After a panic it is not so.
func (s *Server) mayFollow(c *Caller, uri string) (may bool) {
	defer func() {
		if p := recover(); p != nil {
			s.options.Logger.Error("whether a resource may be followed could not be decided", "uri", uri, "error", panicked(p))
		}
	}()
	return s.handler.MayFollow(c, uri)
}

// unfollow is Unfollow of the Handler. A panic ends that alone: there may be nobody who has asked for it.
func (s *Server) unfollow(toolset, uri string) {
	defer func() {
		if p := recover(); p != nil {
			s.options.Logger.Error("a resource could not be given up", "uri", uri, "error", panicked(p))
		}
	}()
	s.handler.Unfollow(toolset, uri)
}
