package mcp

import (
	"bytes"
	"sync"
	"time"
)

// lineBatch is the content of one line, until all of its requests have been answered.
type lineBatch struct {
	conn   *stdioConn
	packet *packet
	line   *buffer
	peer   *peer // nil before initialize

	mu      sync.Mutex
	pending int      // replies that are not complete yet; guarded by mu
	replies [][]byte // of a batch, so far; guarded by mu
}

// process acts on the messages in their order.
func (b *lineBatch) process() {
	b.pending = 1 // for process itself
	for i := range b.packet.messages {
		b.processMessage(&b.packet.messages[i])
	}
	b.addReply(nil)
}

func (b *lineBatch) processMessage(m *message) {
	c := b.conn
	switch {
	case m.invalid != "":
		b.replyNow(invalidRequest(m.invalid).appendReply(nil, m.id))
	case m.isResponse():
		if b.peer != nil {
			b.peer.resolve(m)
		}
	case !m.isRequest():
		if string(m.method) == "notifications/cancelled" {
			c.cancel(m.param("requestId"))
		} else if b.peer != nil {
			b.peer.handleNotification(m)
		}
	case m.isModern():
		b.serveModern(m)
	case string(m.method) == "initialize":
		b.replyNow(c.initialize(m, b.packet.batch))
	case b.peer == nil && string(m.method) != "ping":
		b.replyNow(errorf(CodeInvalidRequest, "Send initialize first").appendReply(nil, m.id))
	default:
		b.serveLegacy(m)
	}
}

// initialize returns the reply to initialize.
func (c *stdioConn) initialize(m *message, batch bool) []byte {
	var p *peer
	err, began := errInitialized, time.Now()
	defer func() { c.server.observeInitialize(&Caller{}, err, began) }()
	switch {
	case batch:
		err = errorf(CodeInvalidRequest, "initialize cannot be part of a batch")
	case c.peer.Load() == nil:
		p = &peer{toolset: c.toolset}
		err = p.readInitialize(m)
	}
	if err != nil {
		return err.appendReply(nil, m.id)
	}
	p.start(c.server)
	p.subscription.mailbox.open(func() { c.writer.enqueueSubscription(p.subscription) })
	c.began = began
	c.peer.Store(p)
	return p.appendInitializeReply(nil, m, c.info(), legacyCapabilities)
}

func (b *lineBatch) serveModern(m *message) {
	caller := &Caller{Toolset: b.conn.toolset, Operates: true}
	if err := checkMeta(m, caller); err != nil {
		b.replyNow(err.appendReply(nil, m.id))
		return
	}
	if string(m.method) == "subscriptions/listen" {
		b.listen(m, caller)
		return
	}
	b.answer(m, &b.conn.inflightModern, caller, nil)
}

func (b *lineBatch) serveLegacy(m *message) {
	p := b.peer
	if p == nil { // a ping before initialize
		p = &peer{revision: legacyRevisions[0], toolset: b.conn.toolset}
		p.start(b.conn.server)
	}
	caller := p.caller()
	caller.Operates = true
	b.answer(m, &p.inflight, caller, p)
}

// answer sends the reply to a request, unless the client has cancelled it. A request that may block
// gets its own goroutine.
func (b *lineBatch) answer(m *message, inflight *inflightRequests, caller *Caller, p *peer) {
	s := b.conn.server
	if err := s.admit(); err != nil {
		b.replyNow(err.appendReply(nil, m.id))
		return
	}
	request, err := inflight.begin(b.conn.ctx, m.id)
	if err != nil {
		s.calls.Release(1)
		b.replyNow(err.appendReply(nil, m.id))
		return
	}
	b.expectReply()
	run := func() {
		defer s.calls.Release(1)
		buf := borrowBuffer()
		defer buf.release()
		rc := requestContext{caller: caller, peer: p, wire: b.conn, info: b.conn.info(), memory: &b.line.memory}
		buf.b, _ = s.reply(request.ctx, buf.b, m, rc)
		frame := buf.b
		if request.cancelled() {
			frame = nil
		}
		request.done()
		b.addReply(frame)
	}
	if mayBlock(m.method) {
		b.conn.replying.Go(run)
		return
	}
	run()
}

func (b *lineBatch) expectReply() {
	b.mu.Lock()
	b.pending++
	b.mu.Unlock()
}

func (b *lineBatch) replyNow(frame []byte) {
	b.expectReply()
	b.addReply(frame)
}

// addReply completes one reply, which is nil if nothing is sent. After the last one the batch is
// released.
func (b *lineBatch) addReply(frame []byte) {
	b.mu.Lock()
	if b.packet.batch {
		b.replies = append(b.replies, bytes.Clone(frame))
	} else if frame != nil {
		b.conn.writer.writeLine(frame)
	}
	b.pending--
	last := b.pending == 0
	if last && b.packet.batch {
		if frame := joinReplies(b.replies); frame != nil {
			b.conn.writer.writeLine(frame)
		}
	}
	b.mu.Unlock()
	if last {
		b.release()
	}
}

func (b *lineBatch) release() {
	b.packet.release()
	b.line.release()
}
