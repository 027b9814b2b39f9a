package mcp

import (
	"context"
	"errors"
	"sync"

	"hatchel/hcl/jsonscan"
)

// errCancelled is why the context of a request ended whose caller does not want the reply any more.
var errCancelled = errors.New("cancelled by the client")

// inflight are the requests of one session or one pair of streams that are being answered.
type inflight struct {
	limit int

	mu      sync.Mutex
	pending map[string]*pending // by id as sent; guarded by mu
}

// pending is a request being answered.
type pending struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	of     *inflight
	key    string
}

// begin registers a request. It must be done with when it has been answered.
func (f *inflight) begin(parent context.Context, id []byte) (*pending, *Error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.pending) >= f.limit {
		return nil, errorf(CodeBusy, "Too many requests at once: %d are being answered. Wait for one of them", f.limit)
	}
	key := string(id)
	if _, taken := f.pending[key]; taken {
		return nil, errorf(CodeInvalidRequest, "A request with the id %s is being answered", jsonscan.Excerpt(id))
	}
	if f.pending == nil {
		f.pending = make(map[string]*pending)
	}
	ctx, cancel := context.WithCancelCause(parent)
	p := &pending{ctx, cancel, f, key}
	f.pending[key] = p
	return p, nil
}

func (p *pending) done() {
	p.of.mu.Lock()
	delete(p.of.pending, p.key)
	p.of.mu.Unlock()
	p.cancel(nil)
}

// unwanted reports whether the reply must not be sent.
func (p *pending) unwanted() bool { return unwanted(p.ctx) }

// cancel ends the context of the request with this id, if it is being answered.
func (f *inflight) cancel(id []byte, cause error) {
	f.mu.Lock()
	p := f.pending[string(id)]
	f.mu.Unlock()
	if p != nil {
		p.cancel(cause)
	}
}

// cancelAll ends every context.
func (f *inflight) cancelAll(cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.pending {
		p.cancel(cause)
	}
}

// idle reports whether nothing is being answered.
func (f *inflight) idle() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.pending) == 0
}

// unwanted reports whether the reply to the request with this context must not be sent.
func unwanted(ctx context.Context) bool {
	return ctx.Err() != nil && errors.Is(context.Cause(ctx), errCancelled)
}
