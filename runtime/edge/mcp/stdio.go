package mcp

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
)

// Serve serves one client of the toolset, which must exist, that writes one message a line to in and
// reads one message a line from out, in both eras. It returns nil after the end of in, when the
// requests in progress have been answered. If ctx ends first, the requests are cancelled, in is
// closed, and Serve returns the cause. A reader that Close does not wake keeps one goroutine until it
// returns; a writer that blocks forever blocks Serve.
func (t Toolset) Serve(ctx context.Context, in io.ReadCloser, out io.Writer) error {
	s, info := t.server, t.server.handler.Info(t.name)
	if info == nil {
		return fmt.Errorf("toolset %q not found", t.name)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &stdioConn{
		server: s, toolset: t.name, initialInfo: info, ctx: ctx, writer: lineWriter{w: out},
	}
	c.client = newStdioClient(c)
	c.writer.room.L = &c.writer.mu
	c.writer.failed = func(err error) { cancel(fmt.Errorf("writing messages: %w", err)) }
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
	c.processing.Lock()
	c.over = true
	c.processing.Unlock()
	c.subscribing.Wait()
	c.client.closeListeners()
	c.client.closePeer()
	c.replying.Wait()
	c.writer.writers.Wait()
	return err
}

// stdioConn is a pair of streams. Messages of both eras share it.
type stdioConn struct {
	server      *Server
	toolset     string
	initialInfo *Info // as of the start of the connection
	ctx         context.Context
	writer      lineWriter
	replying    sync.WaitGroup // goroutines that answer requests
	subscribing sync.WaitGroup // goroutines that start subscriptions

	processing sync.Mutex   // held while a line is processed
	over       bool         // Serve is about to return, and lines are dropped; guarded by processing
	client     *stdioClient // guarded by processing; does not change when over
}

// read processes every line of in.
func (c *stdioConn) read(in io.Reader) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line := BorrowBuffer()
		line.memory = Reservation{server: c.server}
		refused, ids, err := readLine(r, line, c.server.options.MaxFrame)
		switch {
		case refused != nil:
			line.Release()
			c.refuseLine(refused, ids)
		case len(bytes.TrimSpace(line.B)) > 0:
			line.B = bytes.TrimRight(line.B, "\r\n")
			c.processLine(line)
		default:
			line.Release()
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading messages: %w", err)
		}
	}
}

// readLine reads a line with its line break. It skips a line of more than limit bytes, and one for which there is no
// memory, and returns why it is refused, with the ids of its requests.
func readLine(r *bufio.Reader, line *Buffer, limit int) (refused *Error, ids requestIDs, err error) {
	var skipped skippedText
	for {
		part, err := r.ReadSlice('\n')
		if len(line.B)+len(part) > limit+1 {
			refused = Errorf(CodeInvalidRequest, "The message is longer than %d bytes", limit)
		}
		for len(part) > 0 && refused == nil {
			if line.room(-1, int64(limit)) != nil {
				refused = ErrNoMemory
				break
			}
			n := copy(line.B[len(line.B):cap(line.B)], part)
			line.B, part = line.B[:len(line.B)+n], part[n:]
		}
		if refused != nil {
			skipped.write(line.B)
			skipped.write(part)
			line.B = line.B[:0]
		}
		if err != bufio.ErrBufferFull {
			return refused, skipped.requestIDs(), err
		}
	}
}

// refuseLine answers a line that was not read.
func (c *stdioConn) refuseLine(refused *Error, ids requestIDs) {
	c.processing.Lock()
	defer c.processing.Unlock()
	if !c.over {
		c.writer.writeLine(refused.appendReplies(nil, ids))
	}
}

// sendError sends an error about a line that contains no request.
func (c *stdioConn) sendError(err *Error) { c.writer.writeLine(err.AppendReply(nil, nil)) }

// processLine acts on one line. Requests that may block are answered by goroutines, the others at
// once.
func (c *stdioConn) processLine(line *Buffer) {
	c.processing.Lock()
	defer c.processing.Unlock()
	if c.over {
		line.Release()
		return
	}
	p, err := Parse(line.B, c.server.options.MaxDepth)
	if err != nil {
		c.writer.writeLine(parseError(err).appendReplies(nil, requestIDsIn(line.B)))
		line.Release()
		return
	}
	b := &lineBatch{conn: c, client: c.client, peer: c.client.peer, packet: p, line: line}
	var invalid *Error
	switch {
	case p.Batch && len(p.Messages) == 0:
		invalid = errEmptyBatch
	case p.Batch && b.peer == nil:
		invalid = Errorf(CodeInvalidRequest, "A batch needs a session. Send initialize first")
	case p.Batch:
		invalid = b.peer.CheckBatch()
	}
	if invalid == nil {
		b.process()
		return
	}
	c.sendError(invalid)
	b.release()
}

// info returns the current Info, or the initial one if the toolset no longer exists.
func (c *stdioConn) info() *Info {
	if i := c.server.handler.Info(c.toolset); i != nil {
		return i
	}
	return c.initialInfo
}
