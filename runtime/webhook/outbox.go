// Package webhook delivers events to webhooks, as Standard Webhooks says (https://www.standardwebhooks.com). What was put into it is delivered at least once, with the same
// id each time, by one of the processes that share a store, also when the one that has put it there is gone; until the time is over for which its webhook keeps it.
package webhook

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/go-resty/resty/v2"

	"hatchel/runtime/state"
)

// Kind is the kind of the records of deliveries.
const Kind = "delivery"

// Hook is a webhook, as it is declared now.
type Hook struct {
	Name    string
	URL     string
	Place   string        // where that leads, as far as it may be shown
	Keys    [][]byte      // each signs what is sent
	Timeout time.Duration // of one attempt
	Keep    time.Duration // for which an event is tried
}

// Service is what an Outbox delivers with.
type Service struct {
	Hooks map[string]Hook
	Agent string // the User-Agent
	Log   *slog.Logger
}

// Settled returns what there is to say of a thing that an event is about. It reports false while that is not settled; nil says that nothing is known of it any more.
type Settled func(ctx context.Context, of string) (e *Event, settled bool, err error)

// Outbox delivers. It has no goroutine before both Serve and Open were called, and does nothing while nothing waits. Its methods may be called by many goroutines at once.
type Outbox struct {
	settled Settled
	client  *resty.Client
	wake    chan struct{}

	mu      sync.Mutex
	service Service            // guarded by mu
	store   state.Records      // nil before it is open; guarded by mu
	ctx     context.Context    // of the goroutines; guarded by mu
	stop    context.CancelFunc // ends the dispatching; nil before it began; guarded by mu
	closed  bool               // guarded by mu
	sending map[string]names   // that are being sent by this process, by webhook; guarded by mu
	ready   map[string]names   // that somebody says are settled, by webhook; guarded by mu
	streaks map[string]*streak // of failed tries, by webhook; guarded by mu

	dispatching sync.WaitGroup
	delivering  sync.WaitGroup
	hurry       context.Context // ends when what is being sent must stop
	abort       context.CancelFunc
}

// names are those of deliveries.
type names map[string]struct{}

// add adds a name to those of a webhook.
func add(to map[string]names, hook, name string) {
	if to[hook] == nil {
		to[hook] = names{}
	}
	to[hook][name] = struct{}{}
}

// New returns an Outbox that delivers nothing yet.
func New(settled Settled) *Outbox {
	return &Outbox{settled: settled, client: newClient(), wake: make(chan struct{}, 1), sending: map[string]names{}, ready: map[string]names{}, streaks: map[string]*streak{}}
}

// Serve says from now on what webhooks there are.
func (o *Outbox) Serve(s Service) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.service = s
	clear(o.streaks) // a webhook may lead elsewhere now
	o.begin()
	o.Wake()
}

// Hook returns the webhook of a name.
func (o *Outbox) Hook(name string) (Hook, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	h, ok := o.service.Hooks[name]
	return h, ok
}

// Open says where deliveries are remembered, and has those delivered that are.
func (o *Outbox) Open(ctx context.Context, store state.Records) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.store != nil || o.closed {
		return
	}
	o.store, o.ctx = store, context.WithoutCancel(ctx)
	o.begin()
}

// begin starts to deliver, if there is something to deliver from, and to.
func (o *Outbox) begin() {
	if o.store == nil || o.stop != nil || o.closed || len(o.service.Hooks) == 0 {
		return
	}
	var ctx context.Context
	ctx, o.stop = context.WithCancel(o.ctx)
	o.hurry, o.abort = context.WithCancel(o.ctx)
	o.dispatching.Go(func() { o.dispatch(ctx) })
}

// Wake has it looked whether something is due: something was put into the outbox, maybe by another process, or what it waited for is settled.
func (o *Outbox) Wake() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Ready has an event delivered at once that waited for what it is about to be settled, to every webhook.
func (o *Outbox) Ready(id string) {
	o.mu.Lock()
	for hook := range o.service.Hooks {
		add(o.ready, hook, nameOf(hook, id))
	}
	o.mu.Unlock()
	o.Wake()
}

var errNoHook = errors.New("there is no such webhook")

// Put remembers that an event is to be delivered, durably; it does not wait for that. Of any number of events with the same id one is delivered to each webhook. Of an event that
// cannot be remembered because too much is, the log tells, too: then it is lost.
func (o *Outbox) Put(ctx context.Context, store state.Records, h Hook, e *Event) error {
	if h.Name == "" {
		return errNoHook
	}
	r, err := newRecord(h, e, time.Now())
	if err != nil {
		return err
	}
	before, err := store.Add(ctx, r)
	switch {
	case errors.Is(err, state.ErrFull):
		o.lost(ctx, h, e)
	case err == nil && before == nil:
		o.Wake()
	}
	return err
}

func (o *Outbox) lost(ctx context.Context, h Hook, e *Event) {
	o.mu.Lock()
	log := o.service.Log
	o.mu.Unlock()
	if log != nil {
		log.LogAttrs(ctx, slog.LevelError, "too much is remembered already, and an event is not delivered", slog.String("webhook", h.Name), slog.String("event", e.Type), slog.String("id", e.ID))
	}
}

// moment is how long what is being sent has to end when the outbox is closed.
const moment = 3 * time.Second

// Close delivers nothing any more. What is being sent gets a moment to end; what has not then, and what is not being sent, stays for who opens the store next.
func (o *Outbox) Close() {
	o.mu.Lock()
	o.closed = true
	stop := o.stop
	o.mu.Unlock()
	if stop == nil {
		return
	}
	stop()
	o.dispatching.Wait()
	late := time.AfterFunc(moment, o.abort)
	o.delivering.Wait()
	late.Stop()
	o.abort()
}
