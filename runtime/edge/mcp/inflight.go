package mcp

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

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

// Inflight is a request in progress. It is the context of the request, which ends when the client cancels it, or
// with the connection unless the request outlives that.
//
// Most requests are answered before anything waits for their end. Until then the context only looks at that of the
// connection; what the first call of Done makes costs more than a short call.
type Inflight struct {
	connection context.Context
	outliving  Outliving // nil for a request that ends with the connection
	set        *InflightRequests
	id         string
	finished   atomic.Bool
	awaited    atomic.Pointer[awaitedEnd] // nil until something waits for the end
}

// Outliving is a request that may outlive its connection.
type Outliving interface {
	// Outlives reports whether the client may return for the reply.
	Outlives() bool
}

// awaitedEnd is the context of a request whose end something waits for.
type awaitedEnd struct {
	context.Context
	cancel context.CancelCauseFunc
	unhook func() bool // of the connection that the request may outlive; nil for another one
}

// end ends the context.
func (e *awaitedEnd) end() {
	if e.unhook != nil {
		e.unhook()
	}
	e.cancel(nil)
}

// Begin registers a request on a connection. The caller must call Finish after the reply.
func (f *InflightRequests) Begin(connection context.Context, id []byte, o Outliving) (*Inflight, *Error) {
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
	r := &Inflight{connection: connection, outliving: o, set: f, id: key}
	if f.byID == nil {
		f.byID = make(map[string]*Inflight)
	}
	f.byID[key] = r
	return r, nil
}

// await returns the end of the request, which something waits for from now on.
func (r *Inflight) await() *awaitedEnd {
	if end := r.awaited.Load(); end != nil {
		return end
	}
	end := new(awaitedEnd)
	if r.outliving == nil {
		end.Context, end.cancel = context.WithCancelCause(r.connection)
	} else {
		end.Context, end.cancel = context.WithCancelCause(context.WithoutCancel(r.connection))
		end.unhook = context.AfterFunc(r.connection, func() {
			if !r.outliving.Outlives() {
				end.cancel(context.Canceled)
			}
		})
	}
	if !r.awaited.CompareAndSwap(nil, end) {
		end.end()
	}
	first := r.awaited.Load()
	if r.finished.Load() {
		first.end()
	}
	return first
}

// Done implements context.Context.
func (r *Inflight) Done() <-chan struct{} { return r.await().Done() }

// Err implements context.Context.
func (r *Inflight) Err() error {
	if r.awaited.Load() == nil && r.connection.Err() == nil && !r.finished.Load() {
		return nil
	}
	return r.await().Err()
}

// Deadline implements context.Context. A request has none of its own.
func (r *Inflight) Deadline() (_ time.Time, ok bool) { return }

// Value implements context.Context.
func (r *Inflight) Value(key any) any {
	if end := r.awaited.Load(); end != nil {
		return end.Value(key)
	}
	return context.WithoutCancel(r.connection).Value(key)
}

func duplicateID(id []byte) *Error {
	return Errorf(CodeInvalidRequest, "A request with the id %s is already in progress", jsonscan.Excerpt(id))
}

// Finish undoes Begin. It is called after the reply.
func (r *Inflight) Finish() {
	r.set.mu.Lock()
	delete(r.set.byID, r.id)
	r.set.mu.Unlock()
	r.finished.Store(true) // first, so that either this or await ends it
	if end := r.awaited.Load(); end != nil {
		end.end()
	}
}

// Cancel cancels the request.
func (r *Inflight) Cancel(cause error) { r.await().cancel(cause) }

// Cancelled reports whether the client has cancelled the request, so that no reply must be sent.
func (r *Inflight) Cancelled() bool {
	return r.awaited.Load() != nil && r.Err() != nil && errors.Is(context.Cause(r), ErrCancelled)
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
