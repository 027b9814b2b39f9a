package mcp

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
)

// follows are the documents that one subscription follows. The Handler hears of each once, and once more when that is over.
type follows struct {
	subscription *subscription
	server       *Server

	mu   sync.Mutex          // held while the Handler is asked, so that it hears of the beginning before it hears of the end
	uris map[string]struct{} // guarded by mu
	over bool                // guarded by mu
}

// mostFollowed is how many documents one subscription may follow. Each costs the Handler attention as long as it lasts.
const mostFollowed = 1000

// add begins to follow a document, which may be followed already.
func (f *follows) add(ctx context.Context, c *Caller, uri string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.uris[uri]; ok || f.over {
		return nil
	}
	if len(f.uris) >= mostFollowed {
		return errorf(CodeBusy, "%d resources are followed already, and that is the most. Unsubscribe from one of them first", len(f.uris))
	}
	t := topic{documentTopic, uri}
	f.server.audience.join(f.subscription, t) // first, so that no change is missed
	if err := f.server.follow(ctx, c, uri); err != nil {
		f.server.audience.leave(f.subscription, t)
		return err
	}
	if f.uris == nil {
		f.uris = make(map[string]struct{})
	}
	f.uris[uri] = struct{}{}
	return nil
}

// remove ends that, if it has begun.
func (f *follows) remove(uri string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.uris[uri]; !ok {
		return
	}
	delete(f.uris, uri)
	f.server.audience.leave(f.subscription, topic{documentTopic, uri})
	f.server.unfollow(f.subscription.toolset, uri)
}

// end ends all, for good.
func (f *follows) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	for uri := range f.uris {
		f.server.unfollow(f.subscription.toolset, uri)
	}
	f.uris = nil
}

// follow is Follow of the Handler, whose panics are errors.
func (s *Server) follow(ctx context.Context, c *Caller, uri string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return s.handler.Follow(ctx, c, uri)
}

// unfollow is Unfollow of the Handler. A panic ends that alone: there may be nobody who has asked for it.
func (s *Server) unfollow(toolset, uri string) {
	defer func() {
		if p := recover(); p != nil {
			s.options.Logger.Error("a resource could not be given up", "uri", uri, "error", fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	s.handler.Unfollow(toolset, uri)
}
