package mcp

import (
	"context"
	"errors"
	"sync"

	"hatchel/hcl/jsonscan"
)

// ErrCancelled is the cause of the context of a request that the client has cancelled.
var ErrCancelled = errors.New("cancelled by the client")

// InflightRequests are the requests of one session or one pair of streams that are in progress.
type InflightRequests struct {
	Limit int

	mu   sync.Mutex
	byID map[string]*Inflight // by id as sent; guarded by mu
}

// Inflight is a request in progress.
type Inflight struct {
	Context context.Context
	Cancel  context.CancelCauseFunc
	set     *InflightRequests
	id      string
}

// Begin registers a request. The caller must call done after the reply.
func (f *InflightRequests) Begin(parent context.Context, id []byte) (*Inflight, *Error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.byID) >= f.Limit {
		return nil, Errorf(CodeBusy, "Too many concurrent requests: %d are in progress. Wait for one of them",
			f.Limit)
	}
	key := string(id)
	if _, exists := f.byID[key]; exists {
		return nil, duplicateID(id)
	}
	ctx, cancel := context.WithCancelCause(parent)
	r := &Inflight{ctx, cancel, f, key}
	if f.byID == nil {
		f.byID = make(map[string]*Inflight)
	}
	f.byID[key] = r
	return r, nil
}

func duplicateID(id []byte) *Error {
	return Errorf(CodeInvalidRequest, "A request with the id %s is already in progress", jsonscan.Excerpt(id))
}

// Done undoes Begin. It is called after the reply.
func (r *Inflight) Done() {
	r.set.mu.Lock()
	delete(r.set.byID, r.id)
	r.set.mu.Unlock()
	r.Cancel(nil)
}

// Cancelled reports whether the client has cancelled the request, so that no reply must be sent.
func (r *Inflight) Cancelled() bool {
	return r.Context.Err() != nil && errors.Is(context.Cause(r.Context), ErrCancelled)
}

// Cancel cancels the request with this id, and reports whether it is in progress.
func (f *InflightRequests) Cancel(id []byte, cause error) bool {
	f.mu.Lock()
	r := f.byID[string(id)]
	f.mu.Unlock()
	if r != nil {
		r.Cancel(cause)
	}
	return r != nil
}

// CancelAll cancels all requests in progress.
func (f *InflightRequests) CancelAll(cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.byID {
		r.Cancel(cause)
	}
}
