package mcp

import (
	"context"
	"sync"
)

// httpStreams are the open HTTP streams that wait for something to happen. A stream ends when the
// credentials of its client become invalid.
type httpStreams struct {
	mu     sync.Mutex
	active map[*httpStream]struct{} // guarded by mu
}

type httpStream struct {
	identity *Identity
	cancel   context.CancelFunc
}

// open returns a context for a stream. It ends when the credentials expire or become invalid. The
// caller must call cancel.
func (t *httpStreams) open(ctx context.Context) (_ context.Context, cancel context.CancelFunc) {
	identity := IdentityOf(ctx)
	if identity != nil && !identity.Expires.IsZero() {
		ctx, cancel = context.WithDeadline(ctx, identity.Expires)
	} else {
		ctx, cancel = context.WithCancel(ctx)
	}
	stream := &httpStream{identity, cancel}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.active[stream] = struct{}{}
	return ctx, func() {
		t.mu.Lock()
		delete(t.active, stream)
		t.mu.Unlock()
		stream.cancel()
	}
}

// retain ends the streams of identities that are not valid.
func (t *httpStreams) retain(valid func(*Identity) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for stream := range t.active {
		if !valid(stream.identity) {
			stream.cancel()
		}
	}
}
