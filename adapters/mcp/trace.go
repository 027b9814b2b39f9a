package mcp

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hatchel/adapters"
)

// frames has the messages of a session shown to the persons who trace a call in it.
type frames struct {
	scrub  func(r *request, text string) string // removes the credentials of a request
	active atomic.Int32                         // how many requests are in traced

	mu     sync.Mutex
	traced []*request // guarded by mu
}

// follow shows the messages of the session to who traces a request, until the function returned is called. It does
// nothing for a request that nobody traces.
func (f *frames) follow(r *request) (end func()) {
	if r == nil || r.call.Trace == nil {
		return func() {}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.traced = append(f.traced, r)
	f.active.Add(1)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.traced = slices.DeleteFunc(f.traced, func(other *request) bool { return other == r })
		f.active.Add(-1)
	}
}

// show shows a message. It may be called concurrently.
func (f *frames) show(sent bool, message []byte) {
	if f.active.Load() == 0 {
		return
	}
	event := adapters.TraceReceived
	if sent {
		event = adapters.TraceSent
	}
	f.mu.Lock()
	defer f.mu.Unlock() // also while they are shown: after its end a call is shown nothing
	for _, r := range f.traced {
		r.call.Trace(event, f.scrub(r, adapters.PlanText(message, len(message)))+"\n")
	}
}

// opener returns the request for which a session is opened; nil for none.
func opener(ctx context.Context) *request {
	r, _ := ctx.Value(requestKey{}).(*request)
	return r
}

// traceSession shows which session a call uses.
func (r *request) traceSession(s *session) {
	if r.call.Trace != nil {
		r.call.Trace(adapters.TraceSession, fmt.Sprintf("protocol %s, opened %v ago\n", s.Protocol(),
			time.Since(s.opened).Round(time.Millisecond)))
	}
}
