package soak

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hatchel/internal/ctxtime"
)

// audience is all listeners of a run. When listeners are notified of a topic, one reader reads it
// for all of them.
type audience struct {
	host      string
	report    *Report
	listeners []*listener
	reading   sync.WaitGroup
	close     func() // ends all listeners and readers

	received atomic.Int64 // notifications
	spurious atomic.Int64 // notifications with nothing new behind them
	burst    atomic.Bool  // changes come in quick succession: a notification may find its news read already
}

// listener is a subscribed client. It learns the revision of a topic only by reading it after a
// notification.
type listener struct {
	topics []*topic
	close  func()

	mu       sync.Mutex
	known    map[*topic]int         // revision; guarded by mu
	notified map[*topic][]time.Time // notifications since the last expect; guarded by mu
}

// subscribeAll connects n listeners.
func subscribeAll(ctx context.Context, f *folder, host string, n int, report *Report) (*audience, error) {
	ctx, cancel := context.WithCancel(ctx)
	a := &audience{host: host, report: report, listeners: make([]*listener, n)}
	a.close = func() {
		parallel(n, func(i int) error {
			if l := a.listeners[i]; l != nil {
				l.close()
			}
			return nil
		})
		cancel()
		a.reading.Wait()
	}
	for _, toolset := range toolsets {
		session, closeSession, err := dial(ctx, host, toolset, modern, &mcp.ClientOptions{})
		if err != nil {
			a.close()
			return nil, err
		}
		context.AfterFunc(ctx, closeSession)
		for _, t := range f.topics {
			if t.toolset == toolset {
				a.reading.Go(func() { a.read(ctx, session, t) })
			}
		}
	}
	err := parallel(n, func(i int) (err error) {
		a.listeners[i], err = a.subscribe(ctx, f, i)
		return err
	})
	if err != nil {
		a.close()
	}
	return a, err
}

// parallel calls f with 0 to n-1, at most 32 at the same time, and returns the first error.
func parallel(n int, f func(i int) error) (failed error) {
	var running sync.WaitGroup
	var once sync.Once
	slots := make(chan struct{}, 32)
	for i := range n {
		slots <- struct{}{}
		running.Go(func() {
			if err := f(i); err != nil {
				once.Do(func() { failed = err })
			}
			<-slots
		})
	}
	running.Wait()
	return failed
}

// subscribe connects listener number n, which decides about its era, its toolset and its topics.
func (a *audience) subscribe(ctx context.Context, f *folder, n int) (*listener, error) {
	era, toolset := eras[n%2], ""
	if n/2%4 == 0 {
		toolset = "office"
	}
	l := &listener{known: map[*topic]int{}, notified: map[*topic][]time.Time{}}
	notify := func(name string) { a.notify(l, f.topics[topicKey(toolset, name)]) }
	options := &mcp.ClientOptions{
		ToolListChangedHandler:     func(context.Context, *mcp.ToolListChangedRequest) { notify("tools") },
		PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) { notify("prompts") },
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { notify("resources") },
		ResourceUpdatedHandler: func(_ context.Context, req *mcp.ResourceUpdatedNotificationRequest) {
			notify(req.Params.URI)
		},
	}
	documents := []string{fmt.Sprintf("load://page/%d", n/8%pageCount),
		[]string{"load://notice", "load://board"}[n/3%2]}
	for _, name := range append([]string{"tools", "prompts", "resources"}, documents...) {
		l.topics = append(l.topics, f.topics[topicKey(toolset, name)])
	}
	session, closeSession, err := dial(ctx, a.host, toolset, era, options)
	if err != nil {
		return nil, fmt.Errorf("listener %d (%s, toolset %q): %w", n, era, toolset, err)
	}
	l.close = closeSession
	for _, uri := range documents {
		if err := session.Subscribe(ctx, &mcp.SubscribeParams{URI: uri}); err != nil {
			closeSession()
			return nil, fmt.Errorf("listener %d (%s, toolset %q): subscribe: %w", n, era, toolset, err)
		}
	}
	return l, nil
}

// notify takes a notification and has the topic read.
func (a *audience) notify(l *listener, t *topic) {
	if t == nil || !slices.Contains(l.topics, t) {
		a.report.fail("wrong notification", "a listener was notified of a topic that it did not subscribe to")
		return
	}
	a.received.Add(1)
	l.mu.Lock()
	l.notified[t] = append(l.notified[t], time.Now())
	l.mu.Unlock()
	t.mu.Lock()
	t.waiting = append(t.waiting, l)
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// read reads the topic for all listeners that wait, as long as ctx lasts.
func (a *audience) read(ctx context.Context, session *mcp.ClientSession, t *topic) {
	for {
		select {
		case <-t.wake:
		case <-ctx.Done():
			return
		}
		t.mu.Lock()
		waiting := t.waiting
		t.waiting = nil
		t.mu.Unlock()
		revision, err := t.read(ctx, session)
		if err != nil && ctx.Err() == nil {
			a.report.fail("reading a topic", "%v", err)
		}
		for _, l := range waiting {
			l.mu.Lock()
			if revision > l.known[t] {
				l.known[t] = revision
			} else if !a.burst.Load() {
				a.spurious.Add(1)
			}
			l.mu.Unlock()
		}
	}
}

// expect prepares for a change of c's topics.
func (a *audience) expect(c *change, burst bool) {
	a.burst.Store(burst)
	for _, l := range a.listeners {
		l.mu.Lock()
		for _, t := range c.topics {
			delete(l.notified, t)
		}
		l.mu.Unlock()
	}
}

// await waits until every listener knows the last revision of c's topics. It returns how many
// notifications were due, their delays, and how many listeners do not know it after stepTimeout.
func (a *audience) await(ctx context.Context, c *change) (due int, delays durations, missing int) {
	for deadline := time.Now().Add(stepTimeout); ; {
		due, delays, missing = a.check(c)
		if missing == 0 || time.Now().After(deadline) || ctxtime.Sleep(ctx, 5*time.Millisecond) != nil {
			return due, delays, missing
		}
	}
}

func (a *audience) check(c *change) (due int, delays durations, missing int) {
	for _, t := range c.topics {
		revision, changed := t.revision()
		for _, l := range a.listeners {
			if !slices.Contains(l.topics, t) {
				continue
			}
			due++
			l.mu.Lock()
			if l.known[t] < revision {
				missing++
			} else if times := l.notified[t]; len(times) > 0 {
				delays = append(delays, max(0, times[len(times)-1].Sub(changed)))
			}
			l.mu.Unlock()
		}
	}
	return due, delays, missing
}
