package webhook

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestEventWaitsForItsSubject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, store, h := newReceiver(t, always(200)), inMemory(t), hook("ops")
		o := connected(t, store, map[string]*receiver{"ops": r}, h)
		var settled atomic.Bool
		o.resolve = func(_ context.Context, of string) (*Event, bool, error) {
			switch {
			case of == "gone":
				return nil, true, nil
			case !settled.Load():
				return nil, false, nil
			}
			return &Event{ID: "task-1", Type: "task.finished", Data: "as it ended"}, true, nil
		}
		early := &Event{ID: "task-1", Type: "task.finished", Data: "as it was", Subject: "it"}
		if err := o.Enqueue(t.Context(), store, h, early); err != nil {
			t.Fatal(err)
		}
		pass(10 * time.Second)
		if n := len(r.all()); n != 0 {
			t.Fatalf("%d requests before the outcome is known", n)
		}
		settled.Store(true)
		o.Resolve("task-1")
		pass(0)
		if got := r.all(); len(got) != 1 || !strings.Contains(got[0].body, "as it ended") {
			t.Fatalf("received: %+v", got)
		}
		o.Resolve("task-1")
		gone := &Event{ID: "task-2", Type: "task.finished", Data: "as it was", Subject: "gone"}
		if err := o.Enqueue(t.Context(), store, h, gone); err != nil {
			t.Fatal(err)
		}
		pass(resolveGrace)
		if got := r.all(); len(got) != 2 || !strings.Contains(got[1].body, "as it was") {
			t.Errorf("received: %+v", got)
		}
	})
}

func TestRetentionStartsWithTheOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, store, h := newReceiver(t, always(200)), inMemory(t), hook("ops")
		h.Retention = time.Hour
		o := connected(t, store, map[string]*receiver{"ops": r}, h)
		var settled atomic.Bool
		o.resolve = func(_ context.Context, of string) (*Event, bool, error) {
			if of == "gone" {
				return nil, true, nil
			}
			return &Event{ID: "a-decided", Type: "approval.decided", Data: "approved"}, settled.Load(), nil
		}
		for id, of := range map[string]string{"a-decided": "a", "b-decided": "gone"} {
			if err := o.Enqueue(t.Context(), store, h, &Event{ID: id, Subject: of, ResolvedBy: time.Now().Add(24 * time.Hour)}); err != nil {
				t.Fatal(err)
			}
		}
		pass(24 * time.Hour)
		if n := len(r.all()); n != 0 || o.Health(t.Context())[0].Pending != 0 {
			t.Fatalf("%d requests before the outcome is known", n)
		}
		settled.Store(true)
		pass(2 * time.Minute) // nobody says so
		if got := r.all(); len(got) != 1 || got[0].id != "a-decided" || !strings.Contains(got[0].body, `"data":"approved"`) {
			t.Errorf("received: %+v", got)
		}
	})
}

func TestResolveIntervalsGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, store, h := newReceiver(t, always(200)), inMemory(t), hook("ops")
		o := connected(t, store, map[string]*receiver{"ops": r}, h)
		var looks atomic.Int64
		var settled atomic.Bool
		o.resolve = func(context.Context, string) (*Event, bool, error) {
			looks.Add(1)
			return &Event{ID: "a-decided", Type: "approval.decided", Data: "expired"}, settled.Load(), nil
		}
		if err := o.Enqueue(t.Context(), store, h, &Event{ID: "a-decided", Subject: "a", ResolvedBy: time.Now().Add(24 * time.Hour)}); err != nil {
			t.Fatal(err)
		}
		pass(23 * time.Hour)
		if n := looks.Load(); n > 23*4+20 {
			t.Errorf("%d looks in 23 hours", n)
		}
		pass(time.Hour)
		settled.Store(true)
		pass(2 * time.Minute)
		if got := r.all(); len(got) != 1 {
			t.Errorf("received: %+v", got)
		}
	})
}
