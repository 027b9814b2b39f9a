package mcp

import (
	"context"
	"sync"
)

// turn is what came in one line, until all of it has been answered.
type turn struct {
	conn   *conn
	packet *packet
	line   *buffer
	peer   *peer // nil before initialize

	mu      sync.Mutex
	due     int    // answers still to come; guarded by mu
	replies []byte // of a batch, so far; guarded by mu
}

// begin acts on the messages in their order; what takes time goes on on its own.
func (t *turn) begin() {
	t.due = 1 // for begin itself
	for i := range t.packet.messages {
		t.message(&t.packet.messages[i])
	}
	t.settle(nil)
}

func (t *turn) message(m *message) {
	c := t.conn
	switch {
	case m.invalid != "":
		t.expect()
		t.settle(errorf(CodeInvalidRequest, "Invalid request: %s", m.invalid).append(nil, m.id))
	case m.isResponse():
		if t.peer != nil {
			t.peer.asked.settle(m)
		}
	case !m.isRequest():
		if string(m.method) == "notifications/cancelled" {
			c.cancel(m.requestID)
		} else if t.peer != nil {
			t.peer.notice(m)
		}
	case m.speaksModern():
		t.modern(m)
	case string(m.method) == "initialize":
		t.expect()
		t.settle(c.initialize(m, t.packet.batch))
	case t.peer == nil && string(m.method) != "ping":
		t.expect()
		t.settle(errorf(CodeInvalidRequest, "Send initialize first").append(nil, m.id))
	default:
		t.legacy(m)
	}
}

// initialize returns the reply to initialize.
func (c *conn) initialize(m *message, batch bool) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	var p *peer
	err := errorf(CodeInvalidRequest, "The session has been initialized before")
	switch {
	case batch:
		err = errorf(CodeInvalidRequest, "initialize cannot be part of a batch")
	case c.peer == nil:
		p, err = c.server.greet(m, c.toolset)
	}
	if err != nil {
		return err.append(nil, m.id)
	}
	p.hears.deliver(func() { c.out.note(p.hears) })
	c.peer = p
	return p.welcome(nil, m, c.info())
}

func (t *turn) modern(m *message) {
	caller := &Caller{Toolset: t.conn.toolset}
	if err := checkMeta(m, caller); err != nil {
		t.expect()
		t.settle(err.append(nil, m.id))
		return
	}
	if string(m.method) == "subscriptions/listen" {
		t.listen(m, caller)
		return
	}
	t.answer(m, &t.conn.early, func(ctx context.Context, dst []byte) []byte {
		dst, _ = t.conn.server.answer(ctx, dst, m, query{caller, t.conn, t.conn.info()})
		return dst
	})
}

func (t *turn) legacy(m *message) {
	p := t.peer
	if p == nil { // a ping before initialize
		p = &peer{revision: legacyRevisions[0], requests: inflight{limit: 1}, hears: t.conn.server.newSubscription(t.conn.toolset, nil)}
	}
	t.answer(m, &p.requests, func(ctx context.Context, dst []byte) []byte {
		dst, _ = t.conn.server.answerPeer(ctx, dst, m, p, query{p.caller(), t.conn, t.conn.info()})
		return dst
	})
}

// answer has reply append the reply, on a goroutine of its own if that takes time, and sends it unless the client has cancelled.
func (t *turn) answer(m *message, requests *inflight, reply func(ctx context.Context, dst []byte) []byte) {
	s := t.conn.server
	t.expect()
	err := s.admit()
	if err != nil {
		t.settle(err.append(nil, m.id))
		return
	}
	p, err := requests.begin(t.conn.ctx, m.id)
	if err != nil {
		s.calls.leave()
		t.settle(err.append(nil, m.id))
		return
	}
	run := func() {
		defer s.calls.leave()
		b := borrow()
		defer b.release()
		b.b = reply(p.ctx, b.b)
		frame := b.b
		if p.unwanted() {
			frame = nil
		}
		p.done()
		t.settle(frame)
	}
	if takesTime(m.method) {
		t.conn.running.Go(run)
		return
	}
	run()
}

func (t *turn) expect() {
	t.mu.Lock()
	t.due++
	t.mu.Unlock()
}

// settle takes an answer, nil for none, and after the last one gives back what the turn holds.
func (t *turn) settle(frame []byte) {
	t.mu.Lock()
	if frame != nil {
		if !t.packet.batch {
			t.conn.out.line(frame)
		} else {
			if len(t.replies) > 0 {
				t.replies = append(t.replies, ',')
			}
			t.replies = append(t.replies, frame...)
		}
	}
	t.due--
	last := t.due == 0
	if last && len(t.replies) > 0 {
		t.conn.out.line(append(append([]byte{'['}, t.replies...), ']'))
	}
	t.mu.Unlock()
	if last {
		t.release()
	}
}

func (t *turn) release() {
	t.packet.release()
	t.line.release()
}
