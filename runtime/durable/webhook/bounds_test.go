package webhook

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"hatchel/runtime/durable/state"
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

// An outcome is looked for at the webhooks that have deliveries which wait for one.
func TestAnOutcomeIsNotLookedForAtOtherWebhooks(t *testing.T) {
	store, err := state.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	unresolved := func(context.Context, string) (*Event, bool, error) { return nil, false, nil }
	o := New(t.Context(), unresolved)
	c := Config{Hooks: map[string]Endpoint{"asked": {Name: "asked"}, "other": {Name: "other"}}, Log: slog.New(slog.DiscardHandler)}
	o.service, o.store = c, store
	named := func() (hooks []string) {
		o.Resolve("event")
		for _, hook := range []string{"asked", "other"} {
			if len(o.takeResolved(hook)) > 0 {
				hooks = append(hooks, hook)
			}
			o.resolvePending(t.Context(), c.Hooks[hook], c) // as the dispatcher does
		}
		return hooks
	}
	if got := named(); len(got) != 2 {
		t.Errorf("nothing was looked at, and %q are asked", got)
	}
	if got := named(); len(got) != 0 {
		t.Errorf("no delivery waits, and %q are asked", got)
	}
	later := &Event{ID: "event", Subject: "x:1", ResolvedBy: time.Now().Add(time.Hour)}
	if err := o.Enqueue(t.Context(), store, c.Hooks["asked"], later); err != nil {
		t.Fatal(err)
	}
	for _, want := range [][]string{{"asked", "other"}, {"asked"}, {"asked"}} {
		if got := named(); !slices.Equal(got, want) {
			t.Errorf("%q are asked, want %q", got, want)
		}
	}
}
