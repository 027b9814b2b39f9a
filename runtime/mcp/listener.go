package mcp

import (
	"bytes"
	"context"

	"hatchel/hcl/jsonscan"
)

// listener is a subscriptions/listen on a pair of streams.
type listener struct {
	*subscription
	cancel context.CancelFunc // of what it takes to begin
}

// listen begins a subscription. That may take time, so it goes on on its own.
func (t *turn) listen(m *message, caller *Caller) {
	c := t.conn
	w, err := m.wishes(caller)
	ctx, cancel := context.WithCancel(c.ctx)
	l := &listener{c.server.newSubscription(c.toolset, bytes.Clone(m.id)), cancel}
	if err == nil {
		err = c.enlist(l)
	}
	t.expect()
	if err != nil {
		cancel()
		t.settle(err.append(nil, m.id))
		return
	}
	c.out.yield()
	c.beginning.Go(func() {
		defer cancel()
		acknowledged, some, refused := c.server.grant(ctx, l.subscription, caller, w)
		switch {
		case refused != nil:
			if c.delist(l.id, l) {
				c.out.line(c.server.refused(ctx, m, refused).append(nil, l.id))
			}
		case some:
			c.acknowledge(l, acknowledged)
		case c.delist(l.id, l):
			c.out.line(acknowledged)
			c.out.line(l.ended(c.info()))
		}
		t.settle(nil)
	})
}

// enlist takes a listener in under its id.
func (c *conn) enlist(l *listener) *Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, taken := c.listeners[string(l.id)]; taken {
		return errorf(CodeInvalidRequest, "A request with the id %s is being answered", jsonscan.Excerpt(l.id))
	}
	if len(c.listeners) >= c.server.options.CallsPerSession {
		return errorf(CodeBusy, "Too many subscriptions at once")
	}
	if c.listeners == nil {
		c.listeners = make(map[string]*listener)
	}
	c.listeners[string(l.id)] = l
	return nil
}

// acknowledge begins to tell l what it hears of, unless it has been cancelled meanwhile.
func (c *conn) acknowledge(l *listener, acknowledged []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listeners[string(l.id)] == l {
		c.out.post(acknowledged)
		l.deliver(func() { c.out.note(l.subscription) })
	}
}

// delist ends the listener with this id, if it is there, and is one in particular unless that is nil.
func (c *conn) delist(id []byte, one *listener) bool {
	c.mu.Lock()
	l := c.listeners[string(id)]
	if l == nil || one != nil && l != one {
		c.mu.Unlock()
		return false
	}
	delete(c.listeners, string(id))
	c.mu.Unlock()
	l.cancel()
	l.end()
	return true
}

// stopListening ends every subscription in form. None is beginning any more.
func (c *conn) stopListening() {
	c.mu.Lock()
	all := c.listeners
	c.listeners = nil
	c.mu.Unlock()
	for _, l := range all {
		c.out.last(l.subscription, l.ended(c.info()))
		l.end()
	}
}
