package mcp

import (
	"bytes"
	"context"
)

// listen starts a subscription in a goroutine.
func (b *lineBatch) listen(m *Message, caller *Caller) {
	c := b.conn
	filter, err := m.listenFilter(caller)
	ctx, cancel := context.WithCancel(c.ctx)
	l := c.server.NewSubscription(c.toolset, bytes.Clone(m.ID))
	l.cancel = cancel
	if err == nil {
		err = c.addListener(l)
	}
	if err != nil {
		cancel()
		b.replyNow(err.AppendReply(nil, m.ID))
		return
	}
	b.expectReply()
	c.writer.waitForRoom()
	c.subscribing.Go(func() {
		defer cancel()
		acknowledgement, any, refused := c.server.subscribe(ctx, l, caller, filter)
		switch {
		case refused != nil:
			if c.removeListener(l.id, l) {
				c.writer.writeLine(c.server.ProtocolError(ctx, m, refused).AppendReply(nil, l.id))
			}
		case any:
			c.startListener(l, acknowledgement)
		case c.removeListener(l.id, l):
			c.writer.writeLine(acknowledgement)
			c.writer.writeLine(l.endReply(c.info()))
		}
		b.addReply(nil)
	})
}

func (c *stdioConn) addListener(l *Subscription) *Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, exists := c.listeners[string(l.id)]; exists {
		return duplicateID(l.id)
	}
	if len(c.listeners) >= c.server.options.CallsPerSession {
		return Errorf(CodeBusy, "Too many concurrent subscriptions")
	}
	c.listeners[string(l.id)] = l
	return nil
}

// startListener sends the acknowledgement and starts the notifications, unless l has been
// cancelled.
func (c *stdioConn) startListener(l *Subscription, acknowledgement []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listeners[string(l.id)] == l {
		c.writer.enqueueLine(acknowledgement)
		l.mailbox.open(func() { c.writer.enqueueSubscription(l) })
	}
}

// removeListener ends the listener with this id. If only is set, it ends no other listener than
// that. It reports whether it has ended one.
func (c *stdioConn) removeListener(id []byte, only *Subscription) bool {
	c.mu.Lock()
	l := c.listeners[string(id)]
	if l == nil || only != nil && l != only {
		c.mu.Unlock()
		return false
	}
	delete(c.listeners, string(id))
	c.mu.Unlock()
	l.cancel()
	l.Close()
	return true
}

// closeListeners ends every listener with a reply. None must be starting.
func (c *stdioConn) closeListeners() {
	c.mu.Lock()
	all := c.listeners
	c.listeners = nil
	c.mu.Unlock()
	for _, l := range all {
		c.writer.enqueueLast(l, l.endReply(c.info()))
		l.Close()
	}
}
