package sql

import (
	"context"
	"errors"
	"sync"
	"time"
)

var errClosed = errors.New("the connection was closed")

// pool lends connections. It lends the most recently used one first, because its statements are
// prepared.
type pool[C interface{ close() error }] struct {
	open    func(context.Context) (C, error)
	slots   chan struct{}
	maxIdle time.Duration // 0 means no limit

	mu     sync.Mutex
	idle   []idleConn[C] // oldest first; guarded by mu
	reaper *time.Timer   // guarded by mu
	closed bool          // guarded by mu
}

type idleConn[C any] struct {
	conn  C
	since time.Time
}

func newPool[C interface{ close() error }](size int, open func(context.Context) (C, error)) *pool[C] {
	return &pool[C]{open: open, slots: make(chan struct{}, size)}
}

// acquire lends a connection and opens one if none is idle. The caller must release it.
func (p *pool[C]) acquire(ctx context.Context) (c C, err error) {
	if err := ctx.Err(); err != nil {
		return c, err
	}
	select {
	case p.slots <- struct{}{}:
	default:
		select {
		case p.slots <- struct{}{}:
		case <-ctx.Done():
			return c, ctx.Err()
		}
	}
	p.mu.Lock()
	if n := len(p.idle); n > 0 && !p.closed {
		c = p.idle[n-1].conn
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return c, nil
	}
	closed := p.closed
	p.mu.Unlock()
	err = errClosed
	if !closed {
		c, err = p.open(ctx)
	}
	if err != nil {
		<-p.slots
		if ctx.Err() != nil {
			return c, ctx.Err()
		}
		return c, &unreachableError{err}
	}
	return c, nil
}

// release returns a connection to the pool, which closes it unless it is usable.
func (p *pool[C]) release(c C, usable bool) {
	p.mu.Lock()
	keep := usable && !p.closed
	if keep {
		last := idleConn[C]{conn: c}
		if p.maxIdle > 0 {
			last.since = time.Now()
			if p.reaper == nil {
				p.reaper = time.AfterFunc(p.maxIdle, p.closeIdle)
			}
		}
		p.idle = append(p.idle, last)
	}
	p.mu.Unlock()
	if !keep {
		_ = c.close() // a connection that is not reused has no error to handle
	}
	<-p.slots
}

// closeIdle closes the connections that were idle for longer than maxIdle.
func (p *pool[C]) closeIdle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reaper = nil
	if p.closed {
		return
	}
	old := time.Now().Add(-p.maxIdle)
	n := 0
	for n < len(p.idle) && !p.idle[n].since.After(old) {
		_ = p.idle[n].conn.close()
		n++
	}
	p.idle = append(p.idle[:0:0], p.idle[n:]...)
	if len(p.idle) > 0 {
		p.reaper = time.AfterFunc(time.Until(p.idle[0].since.Add(p.maxIdle)), p.closeIdle)
	}
}

// close waits until all connections are released and closes them.
func (p *pool[C]) close() error {
	p.mu.Lock()
	p.closed = true
	if p.reaper != nil {
		p.reaper.Stop()
	}
	p.mu.Unlock()
	for range cap(p.slots) {
		p.slots <- struct{}{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, c := range p.idle {
		errs = append(errs, c.conn.close())
	}
	p.idle = nil
	for range cap(p.slots) {
		<-p.slots
	}
	return errors.Join(errs...)
}

// check opens a connection if none is idle, and returns it to the pool.
func (p *pool[C]) check(ctx context.Context) error {
	c, err := p.acquire(ctx)
	if err == nil {
		p.release(c, true)
	}
	return err
}
