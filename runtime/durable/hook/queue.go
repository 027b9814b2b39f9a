package hook

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	"hatchel/internal/backoff"
	"hatchel/internal/ctxtime"
	"hatchel/internal/service"
	"hatchel/runtime/durable/webhook"
	"hatchel/runtime/observe/event"
)

// Store stores n events of a series durably for a webhook, of which e is the first. It ignores a
// webhook that does not exist.
type Store func(ctx context.Context, name string, s *webhook.Series, e *webhook.Event, n int) error

// Queue keeps events until they are stored. While events of a series are being stored, further ones of the same
// interval are collected, and stored together: the first of them with their number. A Queue belongs to a process and
// has no goroutine while it is empty. Its methods may be called concurrently.
type Queue struct {
	store Store

	mu      sync.Mutex
	pending map[seriesKey]*pendingSeries // guarded by mu
	closed  bool                         // guarded by mu

	storing *service.Group
	waiting context.Context // of pauses, until Close
	stop    context.CancelFunc
}

// seriesKey identifies a series of events for one webhook.
type seriesKey struct{ webhook, series string }

// pendingSeries has the events of a series that are not stored yet.
type pendingSeries struct {
	series  *webhook.Series
	log     *slog.Logger
	groups  []group
	taken   int           // how many of the groups are being stored, and do not change
	stored  chan struct{} // closed after an attempt to store the other groups; nil if nobody waits
	failing bool          // the last attempt failed; calls do not wait until one succeeds
}

// group is events of one interval.
type group struct {
	first *webhook.Event
	count int
}

// maxGroups limits the groups of a series while they cannot be stored. Further events are counted in the last one.
const maxGroups = 256

// NewQueue returns an empty Queue, which stores with the values of ctx.
func NewQueue(ctx context.Context, store Store) *Queue {
	q := &Queue{store: store, pending: map[seriesKey]*pendingSeries{}, storing: service.NewGroup(ctx)}
	q.waiting, q.stop = context.WithCancel(q.storing.Context())
	return q
}

var noWait = func() chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}()

// add adds an event for a webhook. An event with an ID may come from several processes, and is stored once.
// The returned channel is closed when the event is stored. It is closed already when storing fails at the
// moment, and after Close, when the event is dropped.
func (q *Queue) add(
	name string, s *webhook.Series, m *event.Meta, id string, data []byte, log *slog.Logger,
) (stored <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return noWait
	}
	key := seriesKey{name, s.Name}
	p := q.pending[key]
	if p == nil {
		p = &pendingSeries{series: s, log: log}
		q.pending[key] = p
		q.storing.Go(func(ctx context.Context) { q.storeAll(ctx, key, p) })
	}
	p.add(m, id, data)
	if p.failing {
		return noWait
	}
	if p.stored == nil {
		p.stored = make(chan struct{})
	}
	return p.stored
}

func (p *pendingSeries) add(m *event.Meta, id string, data []byte) {
	if n := len(p.groups); n > p.taken {
		last := &p.groups[n-1]
		together := id == "" && p.series.Slot(last.first.At) == p.series.Slot(m.Time)
		if together || n >= maxGroups {
			last.count++
			return
		}
	}
	e := &webhook.Event{ID: id, Type: m.Kind.String(), At: m.Time, Data: json.RawMessage(slices.Clone(data))}
	p.groups = append(p.groups, group{e, 1})
}

// storeBackoff is how often events are tried to be stored again.
var storeBackoff = backoff.Policy{First: time.Second, Max: 30 * time.Second}

// storeAll stores the events of a series until there are none.
func (q *Queue) storeAll(ctx context.Context, key seriesKey, p *pendingSeries) {
	for failures := 0; ; {
		groups, stored := q.take(key, p)
		if len(groups) == 0 {
			return
		}
		n, err := 0, error(nil)
		for n < len(groups) && err == nil {
			if err = q.store(ctx, key.webhook, p.series, groups[n].first, groups[n].count); err == nil {
				n++
			}
		}
		failedBefore, lost := q.finishAttempt(p, stored, n, err != nil)
		attrs := []any{"webhook", key.webhook, "event", groups[0].first.Type}
		switch {
		case err == nil && failedBefore:
			p.log.Info("events of a hook stored again", attrs...)
		case err != nil && lost > 0:
			p.log.Error("events of a hook lost, they cannot be stored", append(attrs, "events", lost, "error", err)...)
			return
		case err != nil && !failedBefore:
			p.log.Error("events of a hook not stored, will be tried again", append(attrs, "error", err)...)
		}
		if err == nil {
			failures = 0
			continue
		}
		failures++
		ctxtime.Sleep(q.waiting, storeBackoff.Pause(failures))
	}
}

// take returns the pending groups of a series, which is removed when there are none.
func (q *Queue) take(key seriesKey, p *pendingSeries) (groups []group, stored chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(p.groups) == 0 {
		delete(q.pending, key)
	}
	stored = p.stored
	p.taken, p.stored = len(p.groups), nil
	return p.groups, stored
}

// finishAttempt ends an attempt: it removes the first n groups, which are stored, and wakes the callers that wait for
// the attempt, after a failure also those of later events. It reports whether the attempt before this one had
// failed, and how many events are lost because the Queue is closed.
func (q *Queue) finishAttempt(
	p *pendingSeries, stored chan struct{}, n int, failed bool,
) (failedBefore bool, lost int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p.groups, p.taken = p.groups[n:], 0
	for _, waiting := range []chan struct{}{stored, p.stored} {
		if waiting != nil && (failed || waiting == stored) {
			close(waiting)
		}
	}
	if failed {
		p.stored = nil
	}
	failedBefore, p.failing = p.failing, failed
	if failed && q.closed {
		for _, g := range p.groups {
			lost += g.count
		}
	}
	return failedBefore, lost
}

// closeGrace is how long Close tries to store what is pending.
const closeGrace = 3 * time.Second

// Close stores what is pending, for up to 3 seconds.
func (q *Queue) Close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.stop()
	q.storing.Drain(closeGrace)
}
