// Package couriertest carries messages between couriers in one process, for tests of what uses a [state.Courier].
package couriertest

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"

	"hatchel/runtime/durable/state"
)

// Exchange connects couriers.
type Exchange struct {
	mu       sync.Mutex
	couriers map[string]*Courier // those that receive; guarded by mu
	lost     bool                // guarded by mu
}

// Courier implements [state.Courier].
type Courier struct {
	exchange *Exchange
	name     string
	inbox    chan delivery
}

type delivery struct {
	from     string
	message  []byte
	received chan struct{} // closed when the messages were received
}

const inboxSize = 1024

var _ state.Courier = (*Courier)(nil)

// New returns a new courier, which exists for others while it receives.
func (x *Exchange) New() *Courier {
	return &Courier{exchange: x, name: rand.Text(), inbox: make(chan delivery, inboxSize)}
}

// SetUnavailable sets whether Send fails with [state.ErrUnavailable].
func (x *Exchange) SetUnavailable(unavailable bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.lost = unavailable
}

// Interrupt tells all couriers that they may have missed messages to all.
func (x *Exchange) Interrupt() {
	for _, c := range x.others("") {
		c.inbox <- delivery{received: make(chan struct{})}
	}
}

func (x *Exchange) others(name string) (others []*Courier) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range x.couriers {
		if c.name != name {
			others = append(others, c)
		}
	}
	return others
}

// Name implements state.Courier.
func (c *Courier) Name() string { return c.name }

// Processes implements state.Courier.
func (c *Courier) Processes() int { return len(c.exchange.others(c.name)) + 1 }

// Send implements state.Courier.
func (c *Courier) Send(ctx context.Context, to string, message []byte) error {
	x := c.exchange
	x.mu.Lock()
	receiver, lost := x.couriers[to], x.lost
	x.mu.Unlock()
	d := delivery{c.name, slices.Clone(message), make(chan struct{})}
	switch {
	case lost:
		return state.ErrUnavailable
	case to == "" && len(message) > state.MaxBroadcast:
		return errors.New("the message is too large for all processes")
	case to == "":
		for _, other := range x.others(c.name) {
			other.inbox <- delivery{d.from, d.message, make(chan struct{})}
		}
		return nil
	case receiver == nil:
		return state.ErrNoReceiver
	}
	receiver.inbox <- d
	select {
	case <-d.received:
		return nil
	case <-ctx.Done():
		return state.ErrUnavailable
	}
}

// Receive implements state.Courier.
func (c *Courier) Receive(ctx context.Context, receive func(from string, message []byte), attempted func(error)) {
	x := c.exchange
	x.mu.Lock()
	if x.couriers == nil {
		x.couriers = map[string]*Courier{}
	}
	x.couriers[c.name] = c
	x.mu.Unlock()
	defer func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.couriers, c.name)
	}()
	attempted(nil)
	receive("", nil)
	for {
		select {
		case d := <-c.inbox:
			receive(d.from, d.message)
			close(d.received)
		case <-ctx.Done():
			return
		}
	}
}
