// Package couriertest carries news between couriers in one process, for tests of what uses a [state.Courier].
package couriertest

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"

	"hatchel/runtime/state"
)

// Exchange connects couriers.
type Exchange struct {
	mu       sync.Mutex
	couriers map[string]*Courier // those that hear; guarded by mu
	lost     bool                // guarded by mu
}

// Courier implements [state.Courier].
type Courier struct {
	exchange *Exchange
	name     string
	inbox    chan delivery
}

type delivery struct {
	from  string
	news  []byte
	heard chan struct{} // closed when the news were heard
}

const inboxSize = 1024

var _ state.Courier = (*Courier)(nil)

// New returns a new courier, which exists for others while it hears.
func (x *Exchange) New() *Courier {
	return &Courier{exchange: x, name: rand.Text(), inbox: make(chan delivery, inboxSize)}
}

// SetUnavailable sets whether Send fails with [state.ErrUnavailable].
func (x *Exchange) SetUnavailable(unavailable bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.lost = unavailable
}

// Interrupt tells all couriers that they may have missed news to all.
func (x *Exchange) Interrupt() {
	for _, c := range x.others("") {
		c.inbox <- delivery{heard: make(chan struct{})}
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
func (c *Courier) Send(ctx context.Context, to string, news []byte) error {
	x := c.exchange
	x.mu.Lock()
	receiver, lost := x.couriers[to], x.lost
	x.mu.Unlock()
	d := delivery{c.name, slices.Clone(news), make(chan struct{})}
	switch {
	case lost:
		return state.ErrUnavailable
	case to == "" && len(news) > state.MaxBroadcast:
		return errors.New("the news are too large for all processes")
	case to == "":
		for _, other := range x.others(c.name) {
			other.inbox <- delivery{d.from, d.news, make(chan struct{})}
		}
		return nil
	case receiver == nil:
		return state.ErrGone
	}
	receiver.inbox <- d
	select {
	case <-d.heard:
		return nil
	case <-ctx.Done():
		return state.ErrUnavailable
	}
}

// Hear implements state.Courier.
func (c *Courier) Hear(ctx context.Context, heard func(from string, news []byte), attempted func(error)) {
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
	heard("", nil)
	for {
		select {
		case d := <-c.inbox:
			heard(d.from, d.news)
			close(d.heard)
		case <-ctx.Done():
			return
		}
	}
}
