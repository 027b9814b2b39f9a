package crowd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// audience are the listeners of a load. Each follows its stream on a goroutine; what it is told to look at, a few readers read for all of them.
type audience struct {
	host      string
	listeners []*listener
	faults    *faults
	looks     chan look
	reading   sync.WaitGroup
	hearing   sync.WaitGroup
	leaving   atomic.Bool

	pending atomic.Int64 // looks that are not done
	told    atomic.Int64 // notifications
	idle    atomic.Int64 // notifications after which there was nothing new to read
	bursts  atomic.Bool  // changes come faster than they are waited for

	mu     sync.Mutex
	delays map[string]Spread // by kind; guarded by mu
	kinds  map[*topic]string // of the change that is under way; guarded by mu
}

// look is what a listener that has been told something does.
type look struct {
	listener *listener
	topic    int
	told     time.Time
}

const readers = 16

// gather opens n listeners.
func gather(ctx context.Context, w *world, host string, n int, f *faults) (*audience, error) {
	a := &audience{host: host, faults: f, looks: make(chan look, 8*n), delays: make(map[string]Spread), kinds: make(map[*topic]string)}
	for range readers {
		a.reading.Go(func() { a.read(ctx) })
	}
	numbers, opened := make(chan int), make(chan error)
	for range 32 {
		go func() {
			for i := range numbers {
				l := w.newListener(i)
				stream, err := l.begin(ctx, host)
				if err == nil {
					a.mu.Lock()
					a.listeners = append(a.listeners, l)
					a.mu.Unlock()
					a.hearing.Go(func() { a.hear(l, stream) })
				} else {
					err = fmt.Errorf("listener %d (%s, toolset %q): %w", i, l.era, l.toolset, err)
				}
				opened <- err
			}
		}()
	}
	go func() {
		for i := range n {
			numbers <- i
		}
		close(numbers)
	}()
	var failed error
	for range n {
		if err := <-opened; err != nil && failed == nil {
			failed = err
		}
	}
	return a, failed
}

// hear follows a stream until it ends, which it must not before the listener leaves.
func (a *audience) hear(l *listener, stream *events) {
	for {
		frame, err := stream.next()
		told := time.Now()
		if err != nil {
			if !a.leaving.Load() {
				a.faults.add("a listener was dropped", "%s, toolset %q: %v", l.era, l.toolset, err)
			}
			return
		}
		i, err := l.told(frame)
		if err != nil {
			a.faults.add("a listener was told something strange", "%s, toolset %q: %v", l.era, l.toolset, err)
			continue
		}
		a.told.Add(1)
		a.pending.Add(1)
		a.looks <- look{l, i, told}
	}
}

// read reads what listeners have been told to look at.
func (a *audience) read(ctx context.Context) {
	clients := make(map[string]*client)
	defer func() {
		for _, c := range clients {
			c.close()
		}
	}()
	for k := range a.looks {
		t := k.listener.follows[k.topic]
		c := clients[t.toolset]
		if c == nil {
			var err error
			if c, err = dial(ctx, a.host, t.toolset, modern, nothing); err != nil {
				a.faults.add("reading what has changed", "%v", err)
				a.pending.Add(-1)
				continue
			}
			clients[t.toolset] = c
		}
		got, err := c.must(t.read)
		if err != nil {
			a.faults.add("reading what has changed", "%v", err)
			if !errors.As(err, new(*failure)) {
				c.close()
				delete(clients, t.toolset)
			}
		} else {
			a.learned(k, t, reading(got))
		}
		a.pending.Add(-1)
	}
}

func (a *audience) learned(k look, t *topic, revision int) {
	news := k.listener.learn(k.topic, revision)
	if len(news) == 0 {
		if !a.bursts.Load() {
			a.idle.Add(1)
		}
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	kind := a.kinds[t]
	for _, made := range news {
		delay := k.told.Sub(made)
		if delay < 0 { // told of an earlier change; this one came before it was read
			delay = time.Since(made)
		}
		a.delays[kind] = append(a.delays[kind], delay)
	}
}

// expect says what kind of change is about to be made.
func (a *audience) expect(c *change) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range c.topics {
		a.kinds[t] = c.kind
	}
}

// due is how many notifications a change is to bring.
func (a *audience) due(c *change) (n int) {
	for _, l := range a.listeners {
		for _, f := range l.follows {
			for _, t := range c.topics {
				if f == t {
					n++
				}
			}
		}
	}
	return n
}

// missing is how many revisions are not known to who should know them.
func (a *audience) missing() (n int) {
	for _, l := range a.listeners {
		n += l.missing()
	}
	return n
}

// informed waits until everybody knows everything, for a while at most, and returns how many revisions are not known then.
func (a *audience) informed(ctx context.Context, within time.Duration) (missing int) {
	deadline := time.Now().Add(within)
	for {
		if missing = a.missing(); missing == 0 && a.pending.Load() == 0 || time.Now().After(deadline) {
			return missing
		}
		if pause(ctx, 5*time.Millisecond) != nil {
			return missing
		}
	}
}

// leave has everybody go: half of the clients that have a session end it in form first, which ends their stream.
func (a *audience) leave(ctx context.Context) error {
	a.leaving.Store(true)
	over, err := dial(ctx, a.host, "", modern, nothing)
	if err != nil {
		return err
	}
	defer over.close()
	for i, l := range a.listeners {
		if i%4 < 2 {
			l.close()
		}
		if err := l.leave(over); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		l.close()
	}
	a.hearing.Wait()
	close(a.looks)
	a.reading.Wait()
	return nil
}
