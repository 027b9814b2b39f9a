package mcp

import (
	"bytes"
	"context"
)

// listen starts a subscription in a goroutine.
func (b *lineBatch) listen(m *Message, caller *Caller) {
	c, client := b.conn, b.client
	filter, err := m.listenFilter(caller)
	ctx, cancel := context.WithCancel(c.ctx)
	l := c.server.NewSubscription(c.toolset, bytes.Clone(m.ID))
	l.cancel = cancel
	if err == nil {
		err = client.addListener(l)
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
			if client.removeListener(l.id, l) {
				client.Notify(c.server.ProtocolError(ctx, m, refused).AppendReply(nil, l.id))
			}
		case any:
			client.startListener(l, acknowledgement)
		case client.removeListener(l.id, l):
			client.Notify(acknowledgement)
			client.Notify(l.endReply(c.info()))
		}
		b.addReply(nil)
	})
}

func (c *stdioClient) addListener(l *Subscription) *Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, exists := c.listeners[string(l.id)]; exists {
		return duplicateID(l.id)
	}
	if len(c.listeners) >= c.conn.server.options.CallsPerSession {
		return Errorf(CodeBusy, "Too many concurrent subscriptions")
	}
	c.listeners[string(l.id)] = l
	return nil
}

// startListener sends the acknowledgement and starts the notifications, unless l has been
// cancelled.
func (c *stdioClient) startListener(l *Subscription, acknowledgement []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listeners[string(l.id)] == l {
		c.conn.writer.enqueueLine(acknowledgement)
		l.mailbox.open(func() { c.conn.writer.enqueueSubscription(l) })
	}
}

// removeListener ends the listener with this id. If only is set, it ends no other listener than
// that. It reports whether it has ended one.
func (c *stdioClient) removeListener(id []byte, only *Subscription) bool {
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
func (c *stdioClient) closeListeners() {
	for _, l := range c.takeListeners() {
		c.conn.writer.enqueueLast(l, l.endReply(c.conn.info()))
		l.Close()
	}
}

func (c *stdioClient) takeListeners() map[string]*Subscription {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.listeners
	c.listeners = nil
	return all
}
