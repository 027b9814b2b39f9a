package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"hatchel/hcl/jsonscan"
	"hatchel/internal/ctxtime"
	"hatchel/internal/queue"
)

// NewStdio returns the transport to a program that reads one message a line from w, its standard input, and writes
// one a line to r, its standard output. It is used for one session. The session ends when r ends or fails. At its end
// the session closes w, also during a write, and reads r until it ends: the owner of the program ends it.
func NewStdio(r io.Reader, w io.WriteCloser) Transport { return &stdioTransport{r, w} }

type stdioTransport struct {
	r io.Reader
	w io.WriteCloser
}

func (t *stdioTransport) connect(s *Session) (conn, error) {
	c := &stdioConn{
		session: s, r: t.r, w: t.w, out: make(chan *outgoing), pending: map[string]*exchange{},
		left: map[string]struct{}{},
	}
	context.AfterFunc(s.ctx, func() { t.w.Close() })
	go c.readAll()
	c.running.Go(c.writeAll)
	return c, nil
}

// stdioConn is a conn over the pipes of a program.
type stdioConn struct {
	session *Session
	r       io.Reader
	w       io.WriteCloser
	out     chan *outgoing
	running sync.WaitGroup

	mu       sync.Mutex
	pending  map[string]*exchange // by id; guarded by mu
	left     map[string]struct{}  // the ids in leftRing, whose answers nobody waits for; guarded by mu
	leftRing [maxLeft]string      // guarded by mu
	leftNext int                  // of leftRing; guarded by mu
}

// maxLeft is of how many requests that ended without an answer a late answer is known as one.
const maxLeft = 256

// outgoing is a line on its way to the program.
type outgoing struct {
	line []byte
	done chan struct{} // is closed after err and n are set
	n    int           // how many bytes were written
	err  error
}

const (
	readBuffer  = 32 << 10
	endOfStdout = "the program has closed its standard output"
)

var errEndOfStdout = errors.New(endOfStdout)

func (c *stdioConn) cancelsByClosing() bool { return false }

func (c *stdioConn) negotiated(string) {}

// writeAll writes what is to be sent, one line after the other, until the session ends.
func (c *stdioConn) writeAll() {
	for {
		select {
		case o := <-c.out:
			o.n, o.err = c.w.Write(o.line)
			close(o.done)
			if o.err != nil {
				c.session.end(fmt.Errorf("the program does not read its standard input: %w", o.err))
				return
			}
		case <-c.session.done:
			return
		}
	}
}

// write sends a line. The error is an *Error.
func (c *stdioConn) write(ctx context.Context, frame []byte) error {
	o := &outgoing{line: append(frame, '\n'), done: make(chan struct{})}
	select {
	case c.out <- o:
	case <-ctx.Done():
		return &Error{Kind: NotSent, Err: context.Cause(ctx)}
	case <-c.session.done:
		return c.session.closedError(NotSent)
	}
	select {
	case <-o.done:
	case <-ctx.Done():
		return &Error{Kind: Unknown, Err: context.Cause(ctx)}
	}
	switch {
	case o.err == nil:
		return nil
	case o.n == 0:
		return &Error{Kind: NotSent, Err: fmt.Errorf("%w: %w", ErrClosed, o.err)}
	}
	return &Error{Kind: Unknown, Err: fmt.Errorf("%w: %w", ErrClosed, o.err)}
}

// send implements conn.
func (c *stdioConn) send(ctx context.Context, frame []byte) error { return c.write(ctx, frame) }

// do implements conn.
func (c *stdioConn) do(ctx context.Context, x *exchange) (answer *message, err error) {
	x.wake = queue.NewSignal()
	if !c.session.enter(x, nil) {
		return nil, c.session.closedError(NotSent)
	}
	defer c.session.leave(x)
	c.mu.Lock()
	c.pending[x.id] = x
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.pending, x.id)
		if answer == nil {
			c.leave(x.id)
		}
		c.mu.Unlock()
		late, _ := x.take()
		c.refuse(x, late)
	}()
	if err := c.write(ctx, x.frame); err != nil {
		return nil, err
	}
	for {
		list, err := x.take()
		for i, m := range list {
			if m.method == "" {
				c.refuse(x, list[i+1:])
				return m, nil
			}
			c.session.incoming(x, m)
		}
		if err != nil {
			return nil, &Error{Kind: Invalid, Err: err}
		}
		select {
		case <-x.wake:
			continue
		default:
		}
		select {
		case <-x.wake:
		case <-ctx.Done():
			return nil, &Error{Kind: Unknown, Err: context.Cause(ctx)}
		case <-c.session.done:
			list, _ := x.take()
			if i := slices.IndexFunc(list, func(m *message) bool { return m.method == "" }); i >= 0 {
				return list[i], nil
			}
			return nil, c.session.closedError(Unknown)
		}
	}
}

// refuse refuses the questions among messages that came too late for their call.
func (c *stdioConn) refuse(x *exchange, late []*message) {
	for _, m := range late {
		if m.isQuestion() {
			c.session.reply(c.session.ctx, x, m.id, refusalOf(m))
		}
	}
}

// readAll reads messages until the program ends or the session does. Those that belong to no request are throttled.
func (c *stdioConn) readAll() {
	in, throttle := bufio.NewReaderSize(c.r, readBuffer), throttleMessages()
	for c.session.ctx.Err() == nil {
		line, err := c.readLine(in)
		if err != nil {
			c.session.end(err)
			break
		}
		text := bytes.TrimSpace(line)
		if len(text) > 0 && c.receive(text) {
			continue
		}
		if pause := throttle.Pause(len(line)); pause > 0 {
			ctxtime.Sleep(c.session.ctx, pause)
		}
	}
	io.Copy(io.Discard, in) // a program that writes would wait otherwise, and not see that its input has ended
}

// readLine reads a line in memory of its own.
func (c *stdioConn) readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > c.session.options.MaxMessage+1 {
			return nil, tooLarge(c.session.options.MaxMessage)
		}
		line = append(grow(line, len(part)), part...)
		switch err {
		case nil:
			return line, nil
		case bufio.ErrBufferFull:
		case io.EOF:
			return nil, errEndOfStdout
		default:
			return nil, fmt.Errorf("%s: %w", endOfStdout, err)
		}
	}
}

// receive passes a line to what it belongs to, and reports whether all of it belongs to requests that wait. A line that
// is no message is one of a program that prints something else, too.
func (c *stdioConn) receive(line []byte) (belongs bool) {
	list, err := parse(line)
	if err != nil {
		c.session.countUnknown(nil)
		return false
	}
	c.session.trace(false, line)
	belongs = true
	for _, m := range list {
		var x *exchange
		switch m.method {
		case "":
			if x = c.find(m.id); x == nil && !c.isLate(m.id) {
				c.session.countUnknown(nil)
			}
		case "notifications/progress":
			if token, ok := jsonscan.Lookup(m.params, "progressToken"); ok {
				x = c.find(token)
			}
		case "notifications/message", "notifications/cancelled", "elicitation/create", "sampling/createMessage":
			if x = c.onlyCall(); x == nil || !x.takesUnnamed(m) {
				x = nil
				c.session.incoming(nil, m)
			}
		default:
			c.session.incoming(nil, m)
		}
		if x == nil {
			belongs = false
		} else {
			x.put(m)
		}
	}
	return belongs
}

// onlyCall returns the only call that waits for its answer; nil if it is none or more than one.
func (c *stdioConn) onlyCall() *exchange {
	x := c.session.onlyCall()
	if x == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pending[x.id] // nil before it is sent
}

// find returns the exchange with a raw id; nil if there is none.
func (c *stdioConn) find(id []byte) *exchange {
	text, ok := jsonscan.Text(id)
	if !ok {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pending[text]
}

// leave notes that nobody waits for the answer to a request any more. The caller holds mu.
func (c *stdioConn) leave(id string) {
	delete(c.left, c.leftRing[c.leftNext])
	c.left[id], c.leftRing[c.leftNext] = struct{}{}, id
	c.leftNext = (c.leftNext + 1) % maxLeft
}

// isLate reports whether a raw id is that of a request that ended without an answer, as one does that is cancelled
// while its answer is on the way. It does so once for each request.
func (c *stdioConn) isLate(id []byte) bool {
	text, _ := jsonscan.Text(id)
	c.mu.Lock()
	defer c.mu.Unlock()
	_, late := c.left[text]
	delete(c.left, text)
	return late
}

// listen implements conn. A program sends what belongs to no call at any time; since 2026-07-28 it wants to be asked.
func (c *stdioConn) listen() {
	s := c.session
	if !s.modern {
		return
	}
	x := s.newExchange("subscriptions/listen", []byte(`"notifications":{"toolsListChanged":true}`))
	x.endless = true
	s.do(s.ctx, x) // without a subscription, the list is still read again when its time is over
}

// close implements conn.
func (c *stdioConn) close() { c.running.Wait() }
