package mcp

import (
	"context"
	"errors"
	"sync"
	"testing"
)

// outlivingIf says of each request whether it outlives its connection.
type outlivingIf bool

func (o outlivingIf) Outlives() bool { return bool(o) }

// connectionContext counts what is derived from the context of a connection.
type connectionContext struct {
	context.Context
	awaited int
}

func (c *connectionContext) Done() <-chan struct{} {
	c.awaited++
	return c.Context.Done()
}

func begin(t *testing.T, connection context.Context, o Outliving) *Inflight {
	t.Helper()
	set := &InflightRequests{Limit: 1}
	r, err := set.Begin(connection, []byte("1"), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRequestThatNothingWaitsForDerivesNoContext(t *testing.T) {
	for _, o := range []Outliving{nil, outlivingIf(false), outlivingIf(true)} {
		connection := &connectionContext{Context: t.Context()}
		r := begin(t, connection, o)
		if r.Err() != nil || r.Value("key") != nil || r.Cancelled() {
			t.Error("the request has ended")
		}
		r.Finish()
		if connection.awaited > 0 {
			t.Errorf("%v: a context was derived from that of the connection", o)
		}
		if <-r.Done(); r.Err() != context.Canceled || r.Cancelled() {
			t.Errorf("%v: after the reply: %v", o, r.Err())
		}
	}
}

// The end of a request is the same whether something waits for it before it ends, or after.
func TestEndOfARequest(t *testing.T) {
	errOther := errors.New("other")
	for _, test := range []struct {
		name  string
		o     Outliving
		end   func(r *Inflight, disconnect context.CancelCauseFunc)
		cause error // nil for a request that goes on
	}{
		{"cancelled", nil, func(r *Inflight, _ context.CancelCauseFunc) { r.Cancel(ErrCancelled) }, ErrCancelled},
		{"cancelled in a session", outlivingIf(true), func(r *Inflight, _ context.CancelCauseFunc) { r.Cancel(errOther) }, errOther},
		{"disconnected", nil, func(_ *Inflight, disconnect context.CancelCauseFunc) { disconnect(errOther) }, errOther},
		{"disconnected, not returning", outlivingIf(false), func(_ *Inflight, disconnect context.CancelCauseFunc) { disconnect(errOther) }, context.Canceled},
		{"disconnected, returning", outlivingIf(true), func(_ *Inflight, disconnect context.CancelCauseFunc) { disconnect(errOther) }, nil},
		{"answered", outlivingIf(true), func(r *Inflight, _ context.CancelCauseFunc) { r.Finish() }, context.Canceled},
	} {
		for _, waited := range []bool{false, true} {
			connection, disconnect := context.WithCancelCause(t.Context())
			r := begin(t, connection, test.o)
			derived, cancel := context.Context(nil), context.CancelFunc(func() {})
			if waited {
				derived, cancel = context.WithCancel(r)
			}
			test.end(r, disconnect)
			if test.cause != nil {
				<-r.Done()
				if waited {
					<-derived.Done()
				}
			} else {
				waited = false
			}
			if cause := context.Cause(r); cause != test.cause || (r.Err() != nil) != (test.cause != nil) {
				t.Errorf("%s: the cause is %v, want %v; %v", test.name, cause, test.cause, r.Err())
			}
			if waited && context.Cause(derived) != test.cause {
				t.Errorf("%s: the cause of a derived context is %v", test.name, context.Cause(derived))
			}
			if r.Cancelled() != (test.cause == ErrCancelled) {
				t.Errorf("%s: cancelled by the client: %t", test.name, r.Cancelled())
			}
			cancel()
			r.Finish()
			disconnect(nil)
		}
	}
}

func TestEndOfARequestThatManyAwait(t *testing.T) {
	for range 200 {
		connection, disconnect := context.WithCancel(t.Context())
		r := begin(t, connection, outlivingIf(false))
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { <-r.Done() })
		}
		all.Go(r.Finish)
		all.Go(func() { r.set.Cancel([]byte("1"), ErrCancelled) })
		all.Go(disconnect)
		all.Wait()
	}
}
