package mcp

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// scriptedWire is the connection to a client. It records what the client receives and calls
// onNotify then.
type scriptedWire struct {
	requests clientRequests
	onNotify func()
	received []string
}

func (w *scriptedWire) notify(frame []byte) {
	w.received = append(w.received, string(frame))
	w.onNotify()
}

func (w *scriptedWire) clientRequests() *clientRequests { return &w.requests }
func (w *scriptedWire) disconnected() bool              { return false }
func (w *scriptedWire) detach(time.Duration) bool       { return false }
func (w *scriptedWire) suspending() <-chan struct{}     { return nil }
func (w *scriptedWire) newCallRecord() *callRecord      { return nil }
func (w *scriptedWire) leave()                          {}

// A client that has ended its session may no longer read its stream, and a cancellation would have
// to wait.
func TestCancelledQuestionIsWithdrawnUnlessTheSessionHasEnded(t *testing.T) {
	errTimeout := errors.New("the time to answer is over")
	for _, c := range []struct {
		name     string
		cause    error
		received string
	}{
		{"timeout", errTimeout, "elicitation/create notifications/cancelled"},
		{"end of the session", errSessionEnded, "elicitation/create"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			wire := &scriptedWire{onNotify: func() { cancel(c.cause) }}
			r := &CallRequest{Caller: &Caller{Revision: Revision20251125}, wire: wire}
			answer, err := r.Ask(ctx, Question{Key: "who", Method: "elicitation/create"})
			if answer != nil || !errors.Is(err, c.cause) {
				t.Errorf("got %s, %v", answer, err)
			}
			var methods []string
			for _, frame := range wire.received {
				_, method, _ := strings.Cut(frame, `"method":"`)
				method, _, _ = strings.Cut(method, `"`)
				methods = append(methods, method)
			}
			if got := strings.Join(methods, " "); got != c.received {
				t.Errorf("the client received %s", got)
			}
		})
	}
}
