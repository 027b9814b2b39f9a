package soak

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hatchel/cmd/hatchel-bench/process"
	"hatchel/internal/ctxtime"
)

// loadRun is a Load in progress.
type loadRun struct {
	Options
	*Report
	folder  *folder
	server  *process.Process
	changes int
	due     int                  // notifications; changes in quick succession are due once
	lost    int                  // revisions that a listener never learned
	delays  map[string]durations // from a change to its notification, by kind of change
	latency durations            // of a call, from the moment it was due
	during  process.Usage
	*audience
}

// Load subscribes listeners, half of them in each era and a quarter through a toolset, calls tools
// at a steady rate and changes the folder about once a second. Every listener must learn the last
// revision of every topic it subscribed to, within stepTimeout of the change, from notifications
// alone; every eighth time five changes come in quick succession. After the listeners have left,
// the server must hold no more than before.
func Load(ctx context.Context, o Options) (*Report, error) {
	r, err := load(ctx, o)
	return r.Report, err
}

func load(ctx context.Context, o Options) (r *loadRun, err error) {
	path := filepath.Join(o.Folder, "load")
	r = &loadRun{Options: o, Report: newReport(), folder: newFolder(path), delays: map[string]durations{}}
	if err := writeFolder(path, ""); err != nil {
		return r, err
	}
	if r.server, err = startServer(ctx, o, path); err != nil {
		return r, err
	}
	defer r.server.Stop(syscall.SIGTERM, stepTimeout)
	if err := r.call(ctx, time.Second, 200); err != nil { // warm up
		return r, err
	}
	before, err := idleUsage(ctx, r.server, unlimited)
	if err != nil {
		return r, err
	}
	if err := r.hold(ctx); err != nil {
		return r, fmt.Errorf("%w\n%s", err, r.server.LogTail())
	}
	after, err := idleUsage(ctx, r.server, before)
	if err != nil {
		return r, err
	}
	goroutines, err := r.server.StopCounting()
	if err != nil {
		return r, err
	}
	r.describe()
	r.add("before", "%v", before)
	r.add("during", "%v", r.during)
	r.add("after", "%v, %d goroutines", after, goroutines)
	if o.Race {
		before.Memory = unlimited.Memory
	}
	if !isWithin(after, before) || goroutines > maxIdleGoroutines {
		r.fail("leak", "%v before, %v and %d goroutines after", before, after, goroutines)
	}
	return r, r.failAlarms(filepath.Join(o.Folder, "server.log"))
}

// hold subscribes the listeners, calls and changes for the duration, and lets the listeners leave.
func (r *loadRun) hold(ctx context.Context) (err error) {
	started := time.Now()
	if r.audience, err = subscribeAll(ctx, r.folder, r.server.Host, r.Listeners, r.Report); err != nil {
		return err
	}
	defer r.audience.close()
	r.Logf("%d listeners subscribed after %v", r.Listeners, time.Since(started).Round(time.Millisecond))
	called := make(chan error, 1)
	go func() { called <- r.call(ctx, r.Duration, r.Rate) }()
	if err := cmp.Or(r.change(ctx), <-called); err != nil {
		return err
	}
	r.during, err = process.ReadUsage(r.server.PID())
	return err
}

// change changes the folder for the duration, and after each change waits until every listener
// knows it.
func (r *loadRun) change(ctx context.Context) error {
	session, closeSession, err := dial(ctx, r.server.Host, "", modern, &mcp.ClientOptions{})
	if err != nil {
		return err
	}
	defer closeSession()
	for n, deadline := 0, time.Now().Add(r.Duration); time.Now().Before(deadline); n++ {
		next := time.Now().Add(time.Second)
		c, repeat := r.folder.changes[n%len(r.folder.changes)], 1
		if n%8 == 7 {
			c, repeat = r.folder.changes[0], 5
		}
		r.expect(c, repeat > 1)
		for i := range repeat {
			if i > 0 {
				ctxtime.Sleep(ctx, 40*time.Millisecond)
			}
			if err := r.folder.apply(ctx, c, session); err != nil {
				return err
			}
			r.changes++
		}
		due, delays, missing := r.await(ctx, c)
		r.due += due
		r.delays[c.kind] = append(r.delays[c.kind], delays...)
		if missing > 0 {
			r.fail("lost change", "%s: %d listeners do not know it", c.kind, missing)
			r.lost += missing
		}
		if err := ctxtime.Sleep(ctx, time.Until(next)); err != nil {
			return err
		}
	}
	return nil
}

// describe adds what the run has measured to the report.
func (r *loadRun) describe() {
	r.add("listeners", "%d, half of them in each era, a quarter through a toolset", r.Listeners)
	r.add("calls", "%d in %v, %d a second", len(r.latency), r.Duration, r.Rate)
	r.add("latency of a call, from when it was due", "%v", r.latency)
	r.add("changes, notifications due, received", "%d, %d, %d", r.changes, r.due, r.received.Load())
	for _, kind := range slices.Sorted(maps.Keys(r.delays)) {
		r.add("notification of "+kind, "%v", r.delays[kind])
	}
	r.add("lost", "%d", r.lost)
	if n := r.spurious.Load(); n > 0 {
		r.fail("spurious notifications", "%d had nothing new behind them", n)
	}
}

// steadyCalls are the calls that arrive at a steady rate, with a part of their answers.
var steadyCalls = []struct {
	params mcp.CallToolParams
	want   string
}{
	{mcp.CallToolParams{Name: "say_hello", Arguments: map[string]any{"name": "Ada"}}, "Hello Ada"},
	{mcp.CallToolParams{Name: "office_lookup", Arguments: map[string]any{"id": 1}}, "revision"},
}

const callConnections = 32

// call makes rate calls per second for d, whether or not earlier calls were answered, and sets the
// latency of them.
func (r *loadRun) call(ctx context.Context, d time.Duration, rate int) error {
	due := make(chan time.Time, 100_000)
	var calling sync.WaitGroup
	defer calling.Wait()
	defer close(due)
	var mu sync.Mutex
	r.latency = nil // guarded by mu
	for i := range callConnections {
		session, closeSession, err := dial(ctx, r.server.Host, "", eras[i%2], &mcp.ClientOptions{})
		if err != nil {
			return err
		}
		calling.Go(func() {
			defer closeSession()
			for at := range due {
				c := pick(steadyCalls) // a copy: the session changes the parameters
				result, err := session.CallTool(ctx, &c.params)
				latency := time.Since(at)
				switch {
				case err != nil:
					r.fail("failed call", "%v", err)
				case result.IsError || !strings.Contains(encode(result), c.want):
					r.fail("wrong answer", "%s: %.300s", c.params.Name, encode(result))
				}
				mu.Lock()
				r.latency = append(r.latency, latency)
				mu.Unlock()
			}
		})
	}
	start := time.Now()
	for n := range int(d.Seconds() * float64(rate)) {
		at := start.Add(time.Duration(n) * time.Second / time.Duration(rate))
		if err := ctxtime.Sleep(ctx, time.Until(at)); err != nil {
			return err
		}
		due <- at
	}
	return nil
}
