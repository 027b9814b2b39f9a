package webhook

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/durable/state"
)

var everyMinute = &Series{Name: "on-1", Interval: time.Minute}

// putSeries stores n events of a series.
func putSeries(t *testing.T, o *Outbox, store state.Records, h Endpoint, s *Series, text string, n int) {
	t.Helper()
	e := &Event{Type: "tool_result", At: time.Now(), Data: map[string]any{"text": text}}
	if err := o.EnqueueSeries(t.Context(), store, h, s, e, n); err != nil {
		t.Error(err)
	}
}

// counts returns the texts of the deliveries with their counts.
func counts(t *testing.T, r *receiver) (all []string) {
	t.Helper()
	for _, got := range r.all() {
		var body struct {
			Data  struct{ Text string }
			Count int
		}
		if err := json.Unmarshal([]byte(got.body), &body); err != nil || got.refused != nil {
			t.Errorf("%s: %v, %v", got.body, err, got.refused)
		}
		all = append(all, fmt.Sprintf("%s %d", body.Data.Text, body.Count))
	}
	return all
}

func expectCounts(t *testing.T, r *receiver, want ...string) {
	t.Helper()
	if got := counts(t, r); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, not %q", got, want)
	}
}

func TestSeriesHasOneDeliveryInEachIntervalWithACount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, store, h := newReceiver(t, always(200)), inMemory(t), hook("ops")
		o := connected(t, store, map[string]*receiver{"ops": r}, h)
		putSeries(t, o, store, h, everyMinute, "a", 1)
		pass(time.Second)
		expectCounts(t, r, "a 1")
		for _, text := range []string{"b", "c", "d"} {
			putSeries(t, o, store, h, everyMinute, text, 2)
			pass(time.Second)
		}
		expectCounts(t, r, "a 1")
		pass(time.Minute)
		expectCounts(t, r, "a 1", "b 6")
		pass(time.Hour)
		putSeries(t, o, store, h, everyMinute, "e", 1)
		pass(0)
		expectCounts(t, r, "a 1", "b 6", "e 1")
	})
}

// A delivery that may have reached the receiver keeps its count, so that a receiver that ignores it the second time
// misses none.
func TestSentDeliveryOfSeriesDoesNotChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReceiver(t, func(n int, w http.ResponseWriter, _ *http.Request) {
			if n < 3 {
				w.WriteHeader(500)
			}
		})
		store, h := inMemory(t), hook("ops")
		o := connected(t, store, map[string]*receiver{"ops": r}, h)
		for _, text := range []string{"a", "b", "c"} {
			putSeries(t, o, store, h, everyMinute, text, 1)
			pass(0)
		}
		pass(2 * time.Minute)
		expectCounts(t, r, "a 1", "a 1", "a 1", "b 2")
	})
}

func TestSeriesOfOtherNamesAndWebhooksAreSeparate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ops, dev, store := newReceiver(t, always(200)), newReceiver(t, always(200)), inMemory(t)
		o := connected(t, store, map[string]*receiver{"ops": ops, "dev": dev}, hook("ops"), hook("dev"))
		putSeries(t, o, store, hook("ops"), everyMinute, "a", 1)
		putSeries(t, o, store, hook("dev"), everyMinute, "b", 1)
		putSeries(t, o, store, hook("ops"), &Series{"on-2", time.Minute}, "c", 1)
		pass(time.Second)
		expectCounts(t, dev, "b 1")
		if n := len(ops.all()); n != 2 {
			t.Errorf("%d deliveries", n)
		}
	})
}

func TestConcurrentEventsOfSeriesAreAllCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, store, h := newReceiver(t, always(200)), inMemory(t), hook("ops")
		outboxes := []*Outbox{}
		for range 2 {
			outboxes = append(outboxes, connected(t, store, map[string]*receiver{"ops": r}, h))
		}
		var working sync.WaitGroup
		for i := range 40 {
			working.Go(func() { putSeries(t, outboxes[i%2], store, h, everyMinute, "x", 1) })
		}
		working.Wait()
		pass(3 * time.Minute)
		sum := 0
		for _, text := range counts(t, r) {
			n := 0
			fmt.Sscanf(text, "x %d", &n)
			sum += n
		}
		if sum != 40 || len(r.all()) > 2 {
			t.Errorf("%d events in %d deliveries", sum, len(r.all()))
		}
	})
}

// A delivery that waits for its interval is not late, so that nobody is alarmed.
func TestDeliveryOfSeriesIsNotLateBeforeItsInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, store, h := newReceiver(t, always(200)), inMemory(t), hook("ops")
		o := connected(t, store, map[string]*receiver{"ops": r}, h)
		daily := &Series{"on-1", 24 * time.Hour}
		putSeries(t, o, store, h, daily, "a", 1)
		pass(time.Second)
		putSeries(t, o, store, h, daily, "b", 1)
		pass(time.Hour)
		if health := o.Health(t.Context())[0]; health.Pending != 1 || health.Oldest != nil {
			t.Errorf("%+v", health)
		}
	})
}

func TestEventOfSeriesWithAnIDIsStoredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, store, h := newReceiver(t, always(200)), inMemory(t), hook("ops")
		o := connected(t, store, map[string]*receiver{"ops": r}, h)
		for _, id := range []string{"a", "b", "a", "b"} {
			e := &Event{ID: id, Type: "approval.decided", At: time.Now(), Data: map[string]any{"text": id}}
			if err := o.EnqueueSeries(t.Context(), store, h, everyMinute, e, 1); err != nil {
				t.Error(err)
			}
			pass(time.Second)
		}
		pass(time.Minute)
		expectCounts(t, r, "a 1", "b 1")
	})
}

// A process that is killed while it stores an event has claimed it. Another one stores it.
func TestEventOfSeriesWhoseProcessWasKilledIsStoredByAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, store, h := newReceiver(t, always(200)), inMemory(t), hook("ops")
		e := &Event{ID: "a", Type: "approval.decided", At: time.Now(), Data: map[string]any{"text": "a"}}
		if claim, err := everyMinute.claim(t.Context(), store, h, e); err != nil || claim == nil {
			t.Fatal(claim, err)
		}
		var storing sync.WaitGroup
		for range 4 {
			o := connected(t, store, map[string]*receiver{"ops": r}, h)
			storing.Go(func() {
				if err := o.EnqueueSeries(t.Context(), store, h, everyMinute, e, 1); err != nil {
					t.Error(err)
				}
			})
		}
		storing.Wait()
		pass(2 * time.Minute)
		expectCounts(t, r, "a 1")
	})
}

// The deliveries of a fast series do not stay for as long as those of other events.
func TestEndedDeliveryOfSeriesIsRemovedSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, store, h := newReceiver(t, always(200)), inMemory(t), hook("ops")
		o := connected(t, store, map[string]*receiver{"ops": r}, h)
		putSeries(t, o, store, h, &Series{"on-1", time.Hour}, "a", 1)
		ended := func() int {
			n, err := store.Count(t.Context(), Kind, endedGroup)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		pass(time.Second)
		if n := ended(); n != 1 {
			t.Errorf("%d records while the interval lasts", n)
		}
		pass(time.Hour + 2*endedSeriesKeepFor)
		if n := ended(); n != 0 {
			t.Errorf("%d records after the interval", n)
		}
	})
}
