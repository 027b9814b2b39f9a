package mcp

import (
	"context"
	"errors"
	"sync"

	"hatchel/hcl/jsonscan"
)

// errCancelled is the cause of the context of a request that the client has cancelled.
var errCancelled = errors.New("cancelled by the client")

// inflightRequests are the requests of one session or one pair of streams that are in progress.
type inflightRequests struct {
	limit int

	mu   sync.Mutex
	byID map[string]*inflightRequest // by id as sent; guarded by mu
}

// inflightRequest is a request in progress.
type inflightRequest struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	set    *inflightRequests
	id     string
}

// begin registers a request. The caller must call done after the reply.
func (f *inflightRequests) begin(parent context.Context, id []byte) (*inflightRequest, *Error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.byID) >= f.limit {
		return nil, errorf(CodeBusy, "Too many concurrent requests: %d are in progress. Wait for one of them",
			f.limit)
	}
	key := string(id)
	if _, exists := f.byID[key]; exists {
		return nil, duplicateID(id)
	}
	ctx, cancel := context.WithCancelCause(parent)
	r := &inflightRequest{ctx, cancel, f, key}
	if f.byID == nil {
		f.byID = make(map[string]*inflightRequest)
	}
	f.byID[key] = r
	return r, nil
}

func duplicateID(id []byte) *Error {
	return errorf(CodeInvalidRequest, "A request with the id %s is already in progress", jsonscan.Excerpt(id))
}

func (r *inflightRequest) done() {
	r.set.mu.Lock()
	delete(r.set.byID, r.id)
	r.set.mu.Unlock()
	r.cancel(nil)
}

// cancelled reports whether the client has cancelled the request, so that no reply must be sent.
func (r *inflightRequest) cancelled() bool {
	return r.ctx.Err() != nil && errors.Is(context.Cause(r.ctx), errCancelled)
}

// cancel cancels the request with this id, and reports whether it is in progress.
func (f *inflightRequests) cancel(id []byte, cause error) bool {
	f.mu.Lock()
	r := f.byID[string(id)]
	f.mu.Unlock()
	if r != nil {
		r.cancel(cause)
	}
	return r != nil
}

func (f *inflightRequests) cancelAll(cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.byID {
		r.cancel(cause)
	}
}
