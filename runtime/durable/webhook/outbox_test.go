package webhook

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"hatchel/runtime/durable/state"
)

func TestDeliveryIsSignedAndSentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, store, h := newReceiver(t, always(204)), inMemory(t), hook("ops")
		o := connected(t, store, map[string]*receiver{"ops": r}, h)
		put(t, o, store, h, "task-1")
		put(t, o, store, h, "task-1")
		pass(0)
		put(t, o, store, h, "task-1")
		pass(48 * time.Hour)
		got := r.all()
		if len(got) != 1 || got[0].refused != nil || got[0].id != "task-1" {
			t.Fatalf("received: %+v", got)
		}
		want := fmt.Sprintf(`{"type":"task.finished","timestamp":%q,"data":{"id":"task-1","text":"<&>"}}`, got[0].at.UTC().Format(time.RFC3339))
		if got[0].body != want {
			t.Errorf("the body is %s, want %s", got[0].body, want)
		}
	})
}

// While keys are rotated, a receiver that knows only one of them accepts every delivery.
func TestDeliveryIsSignedWithEveryKey(t *testing.T) {
	const other = "a secret that takes the place of the first one"
	for name, keys := range map[string][]string{"the new key first": {other, secret}, "the old key first": {secret, other}, "only an unknown key": {other}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, store, h := newReceiver(t, always(204)), inMemory(t), hook("ops")
				h.Keys = nil
				for _, key := range keys {
					h.Keys = append(h.Keys, []byte(key))
				}
				put(t, connected(t, store, map[string]*receiver{"ops": r}, h), store, h, "task-1")
				pass(time.Minute)
				got := r.all()
				if len(got) != 1 {
					t.Fatalf("received: %+v", got)
				}
				if known := len(keys) > 1; known != (got[0].refused == nil) {
					t.Errorf("a receiver that knows a key: %t, it refuses with %v", known, got[0].refused)
				}
			})
		})
	}
}

func TestSignatureCoversIDTimeAndBody(t *testing.T) {
	oracle, err := webhooks.NewWebhookRaw([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	signed := func(at time.Time, id, body string) http.Header {
		stamp, h := strconv.FormatInt(at.Unix(), 10), http.Header{}
		h.Set("webhook-id", id)
		h.Set("webhook-timestamp", stamp)
		h.Set("webhook-signature", signatures([][]byte{[]byte(secret)}, id, stamp, []byte(body)))
		return h
	}
	now := time.Now()
	otherID := signed(now, "a", "{}")
	otherID.Set("webhook-id", "b")
	for name, x := range map[string]struct {
		body   string
		header http.Header
		valid  bool
	}{
		"the signed event": {"{}", signed(now, "a", "{}"), true},
		"an old event":     {"{}", signed(now.Add(-time.Hour), "a", "{}"), false},
		"another body":     {`{"x":1}`, signed(now, "a", "{}"), false},
		"another ID":       {"{}", otherID, false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := oracle.Verify([]byte(x.body), x.header); (err == nil) != x.valid {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestRetryIntervalsGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := []int{503, 302, 404, 400, 200}
		r := newReceiver(t, func(n int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://ops.example/elsewhere")
			w.WriteHeader(answers[n-1])
		})
		store, h := inMemory(t), hook("ops")
		o := connected(t, store, map[string]*receiver{"ops": r}, h)
		put(t, o, store, h, "task-1")
		pass(24 * time.Hour)
		got := r.all()
		if len(got) != len(answers) {
			t.Fatalf("%d requests: %+v", len(got), got)
		}
		for i, x := range got {
			if x.refused != nil || x.id != "task-1" || x.body != got[0].body {
				t.Errorf("request %d: %+v", i, x)
			}
			if i == 0 {
				continue
			}
			want := deliveryBackoff.Steps[i-1]
			if waited := x.at.Sub(got[i-1].at); waited < want || waited > want*6/5+time.Second {
				t.Errorf("request %d came after %v, want about %v", i, waited, want)
			}
		}
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		said := []string{"600", began.Add(2 * time.Hour).UTC().Format(http.TimeFormat), "soon", "-1"}
		r := newReceiver(t, func(n int, w http.ResponseWriter, _ *http.Request) {
			if n <= len(said) {
				w.Header().Set("Retry-After", said[n-1])
				w.WriteHeader(429)
			}
		})
		store, h := inMemory(t), hook("ops")
		o := connected(t, store, map[string]*receiver{"ops": r}, h)
		put(t, o, store, h, "task-1")
		pass(24 * time.Hour)
		got := r.all()
		if len(got) != 5 {
			t.Fatalf("%d requests", len(got))
		}
		for i, least := range []time.Duration{0, 600 * time.Second, 2 * time.Hour, 2*time.Hour + 30*time.Second, 2*time.Hour + 2*time.Minute} {
			if after := got[i].at.Sub(began); after < least || after > least+5*time.Minute {
				t.Errorf("request %d came after %v, want %v", i, after, least)
			}
		}
	})
}

func TestDeliveryFailsPermanently(t *testing.T) {
	for name, x := range map[string]struct {
		status, after string
		keep          time.Duration
		least, most   int
	}{
		"after the retention":          {"500", "", time.Hour, 7, 8},
		"Retry-After beyond retention": {"503", "90000", time.Hour, 2, 2},
		"after a short retention":      {"500", "", time.Second, 1, 1},
		"410 Gone":                     {"410", "", time.Hour, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				status, _ := strconv.Atoi(x.status)
				r := newReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Retry-After", x.after)
					w.WriteHeader(status)
				})
				store, h := inMemory(t), hook("ops")
				h.Retention = x.keep
				o := connected(t, store, map[string]*receiver{"ops": r}, h)
				put(t, o, store, h, "task-1")
				pass(x.keep + time.Minute)
				tried := len(r.all())
				if tried < x.least || tried > x.most {
					t.Errorf("%d requests, want %d to %d", tried, x.least, x.most)
				}
				if w := o.Health(t.Context()); w[0].Pending != 0 {
					t.Errorf("the delivery is pending: %+v", w)
				}
				put(t, o, store, h, "task-1")
				pass(x.keep / 2)
				if n := len(r.all()); n != tried {
					t.Errorf("%d requests after the delivery has failed", n-tried)
				}
			})
		})
	}
}

func TestHangingReceiverHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, quick, store := newReceiver(t, hang), newReceiver(t, always(200)), inMemory(t)
		a, b := hook("slow"), hook("quick")
		o := connected(t, store, map[string]*receiver{"slow": slow, "quick": quick}, a, b)
		for i := range 30 {
			put(t, o, store, a, fmt.Sprint("slow-", i))
		}
		for i := range 30 {
			put(t, o, store, b, fmt.Sprint("quick-", i))
		}
		pass(0)
		if n := len(quick.all()); n != 30 {
			t.Errorf("%d of 30 were delivered while the other receiver hangs", n)
		}
		if n := len(slow.all()); n != maxConcurrent {
			t.Errorf("%d concurrent requests to a slow receiver, want %d", n, maxConcurrent)
		}
		pass(time.Minute)
		if n, at := len(slow.all()), slow.within(a.Timeout); n <= maxConcurrent || at > maxConcurrent {
			t.Errorf("%d requests in a minute, %d concurrent", n, at)
		}
		w := o.Health(t.Context())
		if len(w) != 2 || w[0].Pending != 0 || w[1].Pending != 30 || w[1].Error != "the receiver did not answer in time" || w[1].Oldest == nil || w[1].Origin != "http://slow.example" {
			t.Errorf("%+v", w)
		}
	})
}

func TestOneReplicaDelivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, store, h := newReceiver(t, always(200)), inMemory(t), hook("ops")
		to := map[string]*receiver{"ops": r}
		replicas := []*Outbox{connected(t, store, to, h), connected(t, store, to, h), connected(t, store, to, h)}
		for i := range 100 {
			put(t, replicas[i%3], store, h, fmt.Sprint("task-", i))
			for _, o := range replicas {
				o.Wake()
			}
		}
		pass(time.Hour)
		ids := map[string]int{}
		for _, x := range r.all() {
			ids[x.id]++
		}
		if len(ids) != 100 || len(r.all()) != 100 {
			t.Errorf("%d of 100 were delivered, in %d requests", len(ids), len(r.all()))
		}
	})
}

func TestNextProcessDeliversTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, r, store, h := newReceiver(t, hang), newReceiver(t, always(200)), inMemory(t), hook("ops")
		h.Timeout = time.Minute
		first := connected(t, store, map[string]*receiver{"ops": slow}, h)
		for i := range 10 {
			put(t, first, store, h, fmt.Sprint("task-", i))
		}
		pass(0)
		began := time.Now()
		first.Close()
		if took := time.Since(began); took > 2*closeGrace {
			t.Errorf("Close took %v", took)
		}
		put(t, first, store, h, "task-10")
		connected(t, store, map[string]*receiver{"ops": r}, h)
		pass(0)
		if n := len(r.all()); n != 11 {
			t.Errorf("%d of 11 events were delivered", n)
		}
	})
}

// A claim lasts as long as an attempt can take.
func TestClaimOfKilledProcessEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, store, h := newReceiver(t, always(200)), inMemory(t), hook("ops")
		row, err := newRecord(h, &Event{ID: "task-1", Type: "x"}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		row.Due = time.Now().Add(h.Timeout + claimMargin)
		if _, err := store.Add(t.Context(), row); err != nil {
			t.Fatal(err)
		}
		connected(t, store, map[string]*receiver{"ops": r}, h)
		pass(h.Timeout)
		if n := len(r.all()); n != 0 {
			t.Fatalf("%d requests while another process sends", n)
		}
		pass(2 * claimMargin)
		if n := len(r.all()); n != 1 {
			t.Errorf("%d requests after the claim has ended", n)
		}
	})
}

func TestCurrentDeclarationIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, r, store, h := newReceiver(t, always(500)), newReceiver(t, always(200)), inMemory(t), hook("ops")
		o := connected(t, store, map[string]*receiver{"ops": old, "moved": r}, h)
		put(t, o, store, h, "task-1")
		pass(time.Second)
		o.Configure(serviceOf(slog.New(slog.DiscardHandler)))
		pass(time.Hour)
		if n := len(old.all()); n != 1 {
			t.Fatalf("%d requests to a webhook that is no longer declared", n)
		}
		moved := h
		moved.URL = "http://moved.example/"
		o.Configure(serviceOf(slog.New(slog.DiscardHandler), moved))
		pass(0)
		if n := len(r.all()); n != 1 || len(old.all()) != 1 {
			t.Errorf("%d requests to the new URL", n)
		}
	})
}

// counting counts the calls of List.
type counting struct {
	state.Records
	lists atomic.Int64
}

func (c *counting) List(ctx context.Context, q state.Query) ([]*state.Record, error) {
	c.lists.Add(1)
	return c.Records.List(ctx, q)
}

func TestOutboxIsIdleWithoutEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, store, h := newReceiver(t, always(200)), &counting{Records: inMemory(t)}, hook("ops")
		o := connected(t, store, map[string]*receiver{"ops": r}, h)
		put(t, o, store, h, "task-1")
		pass(time.Minute)
		before := store.lists.Load()
		pass(10 * time.Hour)
		if n := store.lists.Load() - before; n != 0 || len(r.all()) != 1 {
			t.Errorf("%d looks for due deliveries", n)
		}
	})
}

func TestLogAndHealthHoldNoSecret(t *testing.T) {
	var log bytes.Buffer
	health := ""
	synctest.Test(t, func(t *testing.T) {
		r, store, h := newReceiver(t, func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 1 {
				panic(http.ErrAbortHandler)
			}
			w.WriteHeader(410)
		}), inMemory(t), hook("ops")
		o := connected(t, store, map[string]*receiver{"ops": r}, h)
		o.Configure(serviceOf(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), h))
		put(t, o, store, h, "task-1")
		pass(time.Second)
		health = fmt.Sprint(o.Health(t.Context()))
		pass(time.Hour)
	})
	said := health + log.String()
	if !strings.Contains(said, "http://ops.example") || !strings.Contains(said, "the receiver answered 410 Gone") || !strings.Contains(said, "the connection to the receiver failed") {
		t.Errorf("the log or the health report lacks something: %s", said)
	}
	if strings.Contains(said, "hunter22") || strings.Contains(said, secret) || strings.Contains(said, "/hooks") {
		t.Errorf("the log or the health report has a secret: %s", said)
	}
}
