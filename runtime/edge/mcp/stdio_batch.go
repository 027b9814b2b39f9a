package mcp

import (
	"bytes"
	"sync"
	"time"
)

// lineBatch is the content of one line, until all of its requests have been answered.
type lineBatch struct {
	conn   *stdioConn
	client *stdioClient // that is answered
	packet *Packet
	line   *Buffer
	peer   LegacyPeer // of the client as of the line; nil before initialize

	mu      sync.Mutex
	pending int      // replies that are not complete yet; guarded by mu
	replies [][]byte // of a batch, so far; guarded by mu
}

// process acts on the messages in their order.
func (b *lineBatch) process() {
	b.pending = 1 // for process itself
	for i := range b.packet.Messages {
		b.processMessage(&b.packet.Messages[i])
	}
	b.addReply(nil)
}

func (b *lineBatch) processMessage(m *Message) {
	c := b.conn
	switch {
	case m.Invalid != "":
		b.replyNow(InvalidRequest(m.Invalid).AppendReply(nil, m.ID))
	case m.IsResponse():
		if b.peer != nil {
			b.peer.Resolve(m)
		}
	case !m.IsRequest():
		if string(m.Method) == "notifications/cancelled" {
			b.client.cancel(m.Param("requestId"))
		} else if b.peer != nil {
			b.peer.HandleNotification(m)
		}
	case m.isModern():
		b.serveModern(m)
	case string(m.Method) == "initialize":
		reply := c.initialize(m, b.packet.Batch)
		b.client = c.client
		b.replyNow(reply)
	case b.peer == nil && (string(m.Method) != "ping" || c.server.legacy == nil):
		b.replyNow(Errorf(CodeInvalidRequest, "Send initialize first").AppendReply(nil, m.ID))
	default:
		b.serveLegacy(m)
	}
}

// initialize returns the reply to initialize. Hosts and tunnels repeat it: with the same parameters it changes nothing,
// and with others it is that of another client, for which the process starts anew.
func (c *stdioConn) initialize(m *Message, batch bool) []byte {
	var reply []byte
	var err *Error
	began := time.Now()
	caller := &Caller{}
	c.identify(caller)
	defer func() { c.server.ObserveInitialize(caller, err, began) }()
	switch {
	case c.server.legacy == nil:
		err = c.server.unsupportedVersion(m.requestedVersion())
	case batch:
		err = Errorf(CodeInvalidRequest, "initialize cannot be part of a batch")
	case c.client.peer != nil && bytes.Equal(c.client.parameters, initializeParameters(m)):
		reply = c.client.peer.RepeatInitialize(nil, m, c.info())
	default:
		p := c.server.legacy.NewPeer(c.toolset)
		if reply, err = p.Initialize(nil, m, c.info(), c.writer.enqueueSubscription); err == nil {
			if c.client.peer != nil {
				c.client.leave()
				c.client = newStdioClient(c)
			}
			c.client.peer, c.client.began, c.client.parameters = p, began, initializeParameters(m)
		}
	}
	if err != nil {
		return err.AppendReply(nil, m.ID)
	}
	return reply
}

// identify sets what is known of the user who has started the process.
func (c *stdioConn) identify(caller *Caller) {
	caller.Operates = true
	caller.SetIdentity(c.server.options.StreamIdentity)
}

func (b *lineBatch) serveModern(m *Message) {
	caller := &Caller{Toolset: b.conn.toolset}
	b.conn.identify(caller)
	if err := b.conn.server.checkMeta(m, caller); err != nil {
		b.replyNow(err.AppendReply(nil, m.ID))
		return
	}
	if string(m.Method) == "subscriptions/listen" {
		b.listen(m, caller)
		return
	}
	b.answer(m, &b.client.inflight, nil, caller)
}

func (b *lineBatch) serveLegacy(m *Message) {
	p := b.peer
	if p == nil { // a ping before initialize
		p = b.conn.server.legacy.NewPeer(b.conn.toolset)
	}
	client, caller := p.Client(m)
	b.conn.identify(caller)
	b.answer(m, p.Requests(), client, caller)
}

// answer sends the reply to a request, unless the client has cancelled it. A request that may block
// gets its own goroutine.
func (b *lineBatch) answer(m *Message, inflight *InflightRequests, client LegacyClient, caller *Caller) {
	s := b.conn.server
	if err := s.Admit(); err != nil {
		b.replyNow(err.AppendReply(nil, m.ID))
		return
	}
	request, err := inflight.Begin(b.conn.ctx, m.ID, nil)
	if err != nil {
		s.calls.Release(1)
		b.replyNow(err.AppendReply(nil, m.ID))
		return
	}
	b.expectReply()
	run := func() {
		defer s.calls.Release(1)
		buf := BorrowBuffer()
		defer buf.Release()
		rc := RequestContext{
			Caller: caller, Client: client, Wire: b.client, Info: b.conn.info(), Memory: &b.line.memory,
		}
		buf.B, _ = s.Reply(request, buf.B, m, rc)
		frame := buf.B
		if request.Cancelled() {
			frame = nil
		}
		request.Finish()
		b.addReply(frame)
	}
	if mayBlock(m.Method) {
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
	if b.packet.Batch {
		b.replies = append(b.replies, bytes.Clone(frame))
	} else if frame != nil {
		b.client.Notify(frame)
	}
	b.pending--
	last := b.pending == 0
	if last && b.packet.Batch {
		if frame := JoinReplies(b.replies); frame != nil {
			b.client.Notify(frame)
		}
	}
	b.mu.Unlock()
	if last {
		b.release()
	}
}

func (b *lineBatch) release() {
	b.packet.Release()
	b.line.Release()
}
