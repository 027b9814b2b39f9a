// Package webhook delivers events to webhooks as Standard Webhooks specifies
// (https://www.standardwebhooks.com). An event that was put into the Outbox is delivered at least
// once, always with the same ID, by one of the processes that share the store, even when the
// process that has put it there is gone. Delivery is given up when the retention of the webhook has
// passed.
package webhook

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/go-resty/resty/v2"

	"hatchel/internal/queue"
	"hatchel/internal/service"
	"hatchel/runtime/durable/state"
)

// Kind is the kind of the records of deliveries.
const Kind = "delivery"

// Endpoint is a webhook as the configuration declares it.
type Endpoint struct {
	Name      string
	URL       string
	Origin    string        // scheme and host of URL, for logs and health reports
	Keys      [][]byte      // every request is signed with each of them
	Timeout   time.Duration // of one attempt
	Retention time.Duration // how long delivery of an event is attempted
}

// Config holds the dependencies of an Outbox.
type Config struct {
	Hooks map[string]Endpoint // by name
	Agent string              // value of the User-Agent header
	Log   *slog.Logger
}

// Resolver returns the final event about a subject. It reports false while the outcome of the
// subject is not known yet. A nil event means that the subject does not exist any more.
type Resolver func(ctx context.Context, subject string) (e *Event, settled bool, err error)

// Outbox delivers events. It starts a goroutine when [Outbox.Configure] and Open were called, and does
// nothing while nothing is pending. Its methods may be called concurrently.
type Outbox struct {
	resolve Resolver
	client  *resty.Client
	wake    queue.Signal

	mu        sync.Mutex
	service   Config                    // guarded by mu
	store     state.Records             // nil before Open; guarded by mu
	started   bool                      // the dispatcher was started; guarded by mu
	endpoints map[string]*endpointState // by webhook; guarded by mu

	dispatching *service.Group
	delivering  *service.Group // its context is that of requests, and ends when they must stop
}

// New returns an Outbox that delivers nothing yet. What it will do in the background has the values of ctx.
func New(ctx context.Context, resolve Resolver) *Outbox {
	return &Outbox{
		resolve: resolve, client: newClient(newTransport()),
		wake: queue.NewSignal(), endpoints: map[string]*endpointState{},
		dispatching: service.NewGroup(ctx), delivering: service.NewGroup(ctx),
	}
}

// Configure replaces the webhooks. Backoff after failures starts anew, because a webhook may have
// another URL now.
func (o *Outbox) Configure(s Config) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.service = s
	for hook, e := range o.endpoints {
		if _, served := s.Hooks[hook]; !served && e.sending == 0 {
			delete(o.endpoints, hook)
		}
		e.succeeded()
	}
	o.startDispatcher()
	o.wake.Send()
}

// Endpoint returns the webhook of a name.
func (o *Outbox) Endpoint(name string) (Endpoint, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	h, ok := o.service.Hooks[name]
	return h, ok
}

// Open sets the store and starts to deliver what is pending there. Only the first call has an
// effect.
func (o *Outbox) Open(store state.Records) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.store == nil {
		o.store = store
		o.startDispatcher()
	}
}

// startDispatcher starts the dispatcher once there are a store and a webhook. The caller holds mu.
func (o *Outbox) startDispatcher() {
	if o.store != nil && !o.started && len(o.service.Hooks) > 0 {
		o.started = o.dispatching.Go(o.dispatch)
	}
}

// Wake makes the dispatcher look for due deliveries: this or another process has added some.
func (o *Outbox) Wake() {
	o.mu.Lock()
	for _, e := range o.endpoints {
		e.settled = false
	}
	o.mu.Unlock()
	o.wake.Send()
}

// maxResolved is how many deliveries to a webhook the dispatcher is told to resolve at once. Those beyond are resolved
// when it looks for their outcome the next time.
const maxResolved = 1024

// Resolve makes the dispatcher resolve the deliveries of an event whose subject has its outcome now. Webhooks without
// deliveries that wait for an outcome are left alone.
func (o *Outbox) Resolve(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for hook := range o.service.Hooks {
		if e := o.endpoint(hook); !e.settled && len(e.resolved) < maxResolved {
			e.resolved[deliveryName(hook, id)] = true
			o.wake.Send()
		}
	}
}

var errNoHook = errors.New("there is no such webhook")

// Enqueue stores the delivery of an event to a webhook. The event is stored, not delivered, when
// [Outbox.Enqueue] returns. Of all events with the same ID one is delivered to each webhook. When the
// store is full the event is lost, which is logged, and the error is state.ErrFull.
func (o *Outbox) Enqueue(ctx context.Context, store state.Records, h Endpoint, e *Event) error {
	if h.Name == "" {
		return errNoHook
	}
	r, err := newRecord(h, e, time.Now())
	if err != nil {
		return err
	}
	existing, err := store.Add(ctx, r)
	switch {
	case errors.Is(err, state.ErrFull):
		o.logLost(ctx, h, e)
	case err == nil && existing == nil:
		o.Wake()
	}
	return err
}

func (o *Outbox) logLost(ctx context.Context, h Endpoint, e *Event) {
	o.mu.Lock()
	log := o.service.Log
	o.mu.Unlock()
	if log != nil {
		log.LogAttrs(ctx, slog.LevelError, "webhook event lost, the state store is full",
			slog.String("webhook", h.Name), slog.String("event", e.Type), slog.String("id", e.ID))
	}
}

// closeGrace is how long requests in flight may take after Close.
const closeGrace = 3 * time.Second

// Close ends delivery and waits up to 3 seconds for requests in flight. Whatever is not delivered
// then stays in the store.
func (o *Outbox) Close() {
	o.dispatching.Close()
	o.delivering.Drain(closeGrace)
}
