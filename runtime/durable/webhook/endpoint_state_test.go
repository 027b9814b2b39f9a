package webhook

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// taken counts the requests for each event since a time.
func taken(r *receiver, from time.Time) map[string]int {
	ids := map[string]int{}
	for _, x := range r.all() {
		if !x.at.Before(from) {
			ids[x.id]++
		}
	}
	return ids
}

func TestUnavailableReceiverGetsEverythingOnceItIsBack(t *testing.T) {
	const events = 300
	synctest.Test(t, func(t *testing.T) {
		back := time.Now().Add(time.Hour)
		r := newReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
			if time.Now().Before(back) {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		})
		store, h := inMemory(t), hook("ops")
		o := connected(t, store, map[string]*receiver{"ops": r}, h)
		for i := range events {
			put(t, o, store, h, fmt.Sprint("task-", i))
		}
		pass(time.Until(back) - time.Millisecond)
		if n, bound := len(r.all()), int(time.Hour/receiverBackoff.Pause(math.MaxInt))*5/4; n > bound || n < bound/2 {
			t.Errorf("%d requests while the receiver is unavailable, want at most %d", n, bound)
		}
		if got := o.Health(t.Context()); len(got) != 1 || got[0].Pending != events || got[0].Error != "the receiver answered 503 Service Unavailable" {
			t.Errorf("%+v", got)
		}
		pass(2 * time.Minute)
		got := taken(r, back)
		for id, n := range got {
			if n != 1 {
				t.Errorf("%s was delivered %d times", id, n)
			}
		}
		if len(got) != events {
			t.Errorf("%d events were delivered", len(got))
		}
	})
}

func TestEventsExpireWhileReceiverIsUnavailable(t *testing.T) {
	const events = 50
	synctest.Test(t, func(t *testing.T) {
		r := newReceiver(t, always(http.StatusBadGateway))
		store, h := inMemory(t), hook("ops")
		h.Retention = time.Minute
		o := connected(t, store, map[string]*receiver{"ops": r}, h)
		var said bytes.Buffer
		o.Configure(serviceOf(slog.New(slog.NewTextHandler(&said, nil)), h))
		for i := range events {
			put(t, o, store, h, fmt.Sprint("task-", i))
		}
		pass(10 * time.Minute)
		if got := o.Health(t.Context()); got[0].Pending != 0 {
			t.Errorf("%+v", got)
		}
		if n := strings.Count(said.String(), "failed permanently"); n != events {
			t.Errorf("%d events are logged as failed permanently", n)
		}
		if n := len(r.all()); n >= events {
			t.Errorf("%d requests", n)
		}
	})
}

func TestFailureOfOneEventHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReceiver(t, func(_ int, w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.Header.Get("webhook-id"), "bad") {
				w.WriteHeader(http.StatusInternalServerError)
			}
		})
		store, h := inMemory(t), hook("ops")
		o := connected(t, store, map[string]*receiver{"ops": r}, h)
		began := time.Now()
		for i := range 20 {
			put(t, o, store, h, fmt.Sprint("bad-", i))
		}
		put(t, o, store, h, "good")
		pass(2*time.Second - time.Millisecond)
		if got := taken(r, began); got["good"] != 1 {
			t.Errorf("%v", got)
		}
	})
}

func TestServeEndsTheBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wrong, right := newReceiver(t, always(http.StatusServiceUnavailable)), newReceiver(t, always(http.StatusOK))
		store, h := inMemory(t), hook("ops")
		o := connected(t, store, map[string]*receiver{"ops": wrong, "other": right}, h)
		for i := range 40 {
			put(t, o, store, h, fmt.Sprint("task-", i))
		}
		pass(20 * time.Minute)
		tried := len(taken(wrong, time.Time{}))
		h.URL = hook("other").URL
		o.Configure(serviceOf(slog.New(slog.DiscardHandler), h))
		pass(time.Second)
		if got := len(right.all()); got < 40-tried || got == 0 {
			t.Errorf("%d events were delivered, want at least %d", got, 40-tried)
		}
	})
}
