package mcp

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// Serve serves one client that writes a message a line to in and reads a message a line from out, in both eras, until in ends or
// ctx does. The calls under way when in ends are answered before Serve returns; when ctx ends they are cancelled, and in is closed.
// Serve returns nil after the end of in. A reader that Close does not wake keeps one goroutine until it returns, and a writer that
// blocks for good keeps Serve.
func (s *Server) Serve(ctx context.Context, in io.ReadCloser, out io.Writer) error {
	return s.For("").Serve(ctx, in, out)
}

// Serve is [Server.Serve] of a toolset. One that does not exist is an error.
func (t Toolset) Serve(ctx context.Context, in io.ReadCloser, out io.Writer) error {
	s, info := t.server, t.server.handler.Info(t.name)
	if info == nil {
		return fmt.Errorf("there is no toolset %q", t.name)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &conn{server: s, toolset: t.name, first: info, ctx: ctx, out: lineWriter{w: out}, early: inflight{limit: s.options.CallsPerSession}}
	c.out.room.L = &c.out.mu
	c.out.failed = func(err error) { cancel(fmt.Errorf("writing messages: %w", err)) }
	ended := make(chan error, 1)
	go func() { ended <- c.read(in) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = context.Cause(ctx)
		in.Close()
	case <-s.closing:
		in.Close()
	}
	c.acting.Lock()
	c.over = true
	c.acting.Unlock()
	c.beginning.Wait()
	c.stopListening()
	if p := c.client(); p != nil {
		p.asked.close(ErrUnreachable)
		p.hears.end()
	}
	c.running.Wait()
	c.out.writers.Wait()
	return err
}

// conn is a pair of streams. What a client of either era says arrives on the same one.
type conn struct {
	server    *Server
	toolset   string
	first     *Info // the server as it was when the connection began
	ctx       context.Context
	out       lineWriter
	running   sync.WaitGroup // the goroutines that answer
	beginning sync.WaitGroup // the goroutines that begin a subscription
	early     inflight       // the modern requests being answered

	acting sync.Mutex // held while a line is acted on
	over   bool       // Serve is about to return, so no line is; guarded by acting

	mu        sync.Mutex
	peer      *peer                // since initialize; guarded by mu
	listeners map[string]*listener // by id as sent; guarded by mu
}

// notify sends a message ahead of a reply.
func (c *conn) notify(frame []byte) { c.out.line(frame) }

// asked returns the questions to the client, once it has introduced itself.
func (c *conn) asked() *inquiries {
	if p := c.client(); p != nil {
		return &p.asked
	}
	return nil
}

// detach does nothing: a pair of streams belongs to all calls.
func (c *conn) detach(time.Duration) bool { return false }

// away reports false: when the other end of a pair of streams is gone, all its requests end.
func (c *conn) away() bool { return false }

// read acts on every line until in ends.
func (c *conn) read(in io.Reader) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line := borrow()
		tooLong, err := readLine(r, line, c.server.options.MaxFrame)
		switch {
		case tooLong:
			c.tooLong()
			line.release()
		case len(bytes.TrimSpace(line.b)) > 0:
			line.b = bytes.TrimRight(line.b, "\r\n")
			c.receive(line)
		default:
			line.release()
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading messages: %w", err)
		}
	}
}

// readLine reads up to the end of a line. Of a line that is too long nothing is kept.
func readLine(r *bufio.Reader, line *buffer, most int) (tooLong bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(line.b)+len(part) > most+1 {
			tooLong = true
			line.b = line.b[:0]
		}
		if !tooLong {
			line.b = append(line.b, part...)
		}
		if err != bufio.ErrBufferFull {
			return tooLong, err
		}
	}
}

func (c *conn) tooLong() {
	c.acting.Lock()
	defer c.acting.Unlock()
	if !c.over {
		c.fail(errorf(CodeInvalidRequest, "The message is longer than %d bytes", c.server.options.MaxFrame))
	}
}

// fail sends an error about a line that holds no request.
func (c *conn) fail(err *Error) { c.out.line(err.append(nil, nil)) }

// receive acts on one line. Calls are answered on goroutines of their own, everything else at once.
func (c *conn) receive(line *buffer) {
	c.acting.Lock()
	defer c.acting.Unlock()
	if c.over {
		line.release()
		return
	}
	p, err := parse(line.b, c.server.options.MaxDepth)
	if err != nil {
		c.fail(parseError(err))
		line.release()
		return
	}
	t := &turn{conn: c, packet: p, line: line, peer: c.client()}
	switch {
	case p.batch && len(p.messages) == 0:
		c.fail(errorf(CodeInvalidRequest, "The batch is empty"))
		t.release()
	case p.batch && t.peer == nil:
		c.fail(errorf(CodeInvalidRequest, "A batch needs a session. Send initialize first"))
		t.release()
	case p.batch && !t.peer.revision.batches():
		c.fail(errorf(CodeInvalidRequest, "Revision %s has no batches", t.peer.revision))
		t.release()
	default:
		t.begin()
	}
}

func (c *conn) client() *peer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.peer
}

// info returns the server as it is now. A toolset that has gone since is as it was.
func (c *conn) info() *Info {
	if i := c.server.handler.Info(c.toolset); i != nil {
		return i
	}
	return c.first
}

// cancel acts on notifications/cancelled of either era.
func (c *conn) cancel(id []byte) {
	c.early.cancel(id, errCancelled)
	c.delist(id, nil)
	if p := c.client(); p != nil {
		p.requests.cancel(id, errCancelled)
	}
}
