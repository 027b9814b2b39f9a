package webhook

import (
	"fmt"
	"log/slog"
	"testing"
)

// TestWhatAnOutboxKnowsOfWebhooksIsBounded configures many webhooks one after the other, and resolves many events.
func TestWhatAnOutboxKnowsOfWebhooksIsBounded(t *testing.T) {
	o := New(t.Context(), nil)
	for i := range 1000 {
		name := fmt.Sprintf("hook%d", i)
		o.Configure(Config{Hooks: map[string]Endpoint{name: {Name: name}}, Log: slog.New(slog.DiscardHandler)})
		o.Resolve("event")
	}
	if n := len(o.endpoints); n > 2 {
		t.Errorf("%d webhooks are known, and one is configured", n)
	}
	for i := range 10 * maxResolved {
		o.Resolve(fmt.Sprint("event", i))
	}
	for _, e := range o.endpoints {
		if len(e.resolved) > maxResolved {
			t.Errorf("%d deliveries are to be resolved", len(e.resolved))
		}
	}
}
