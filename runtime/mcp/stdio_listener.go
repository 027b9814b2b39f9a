package mcp

import (
	"bytes"
	"context"
)

// stdioListener is a subscriptions/listen on a pair of streams.
type stdioListener struct {
	*subscription
	cancel context.CancelFunc // cancels the start of the subscription
}

// listen starts a subscription in a goroutine.
func (b *lineBatch) listen(m *message, caller *Caller) {
	c := b.conn
	filter, err := m.listenFilter(caller)
	ctx, cancel := context.WithCancel(c.ctx)
	l := &stdioListener{c.server.newSubscription(c.toolset, bytes.Clone(m.id)), cancel}
	if err == nil {
		err = c.addListener(l)
	}
	if err != nil {
		cancel()
		b.replyNow(err.appendReply(nil, m.id))
		return
	}
	b.expectReply()
	c.writer.waitForRoom()
	c.subscribing.Go(func() {
		defer cancel()
		acknowledgement, any, refused := c.server.subscribe(ctx, l.subscription, caller, filter)
		switch {
		case refused != nil:
			if c.removeListener(l.id, l) {
				c.writer.writeLine(c.server.protocolError(ctx, m, refused).appendReply(nil, l.id))
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

func (c *stdioConn) addListener(l *stdioListener) *Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, exists := c.listeners[string(l.id)]; exists {
		return duplicateID(l.id)
	}
	if len(c.listeners) >= c.server.options.CallsPerSession {
		return errorf(CodeBusy, "Too many concurrent subscriptions")
	}
	c.listeners[string(l.id)] = l
	return nil
}

// startListener sends the acknowledgement and starts the notifications, unless l has been
// cancelled.
func (c *stdioConn) startListener(l *stdioListener, acknowledgement []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listeners[string(l.id)] == l {
		c.writer.enqueueLine(acknowledgement)
		l.start(func() { c.writer.enqueueSubscription(l.subscription) })
	}
}

// removeListener ends the listener with this id. If only is set, it ends no other listener than
// that. It reports whether it has ended one.
func (c *stdioConn) removeListener(id []byte, only *stdioListener) bool {
	c.mu.Lock()
	l := c.listeners[string(id)]
	if l == nil || only != nil && l != only {
		c.mu.Unlock()
		return false
	}
	delete(c.listeners, string(id))
	c.mu.Unlock()
	l.cancel()
	l.close()
	return true
}

// closeListeners ends every listener with a reply. None must be starting.
func (c *stdioConn) closeListeners() {
	c.mu.Lock()
	all := c.listeners
	c.listeners = nil
	c.mu.Unlock()
	for _, l := range all {
		c.writer.enqueueLast(l.subscription, l.endReply(c.info()))
		l.close()
	}
}
