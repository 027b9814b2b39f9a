package mcp

import (
	"context"
	"sync"
)

// streams are the event streams over HTTP that wait for something to happen. Who they belong to may cease to be somebody.
type streams struct {
	mu    sync.Mutex
	under map[*stream]struct{} // guarded by mu
}

// stream is one of them.
type stream struct {
	of  *Identity
	end context.CancelFunc
}

// open returns the context of a stream, which ends when the credentials of who asks expire or are good no more. Cancel must be called.
func (t *streams) open(ctx context.Context) (context.Context, context.CancelFunc) {
	of := IdentityOf(ctx)
	var cancel context.CancelFunc
	if of != nil && !of.Expires.IsZero() {
		ctx, cancel = context.WithDeadline(ctx, of.Expires)
	} else {
		ctx, cancel = context.WithCancel(ctx)
	}
	one := &stream{of, cancel}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.under == nil {
		t.under = make(map[*stream]struct{})
	}
	t.under[one] = struct{}{}
	return ctx, func() {
		t.mu.Lock()
		delete(t.under, one)
		t.mu.Unlock()
		cancel()
	}
}

// retain ends the streams of those who do not stand.
func (t *streams) retain(stands func(*Identity) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for one := range t.under {
		if !stands(one.of) {
			one.end()
		}
	}
}
