package soak

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// LoadOptions says how much load Load puts on a server.
type LoadOptions struct {
	Binary    string
	Folder    string // an empty folder for everything that is written
	Listeners int    // subscribed clients
	Rate      int    // tool calls per second
	Race      bool   // the binary has the race detector: its memory is not judged
	Duration  time.Duration
	Logf      func(format string, args ...any) // reports progress; never called concurrently
}

// LoadReport is the result of Load.
type LoadReport struct {
	Options       LoadOptions
	Changes       int
	Due, Received int                  // notifications; changes in quick succession are due once
	Spurious      int                  // notifications after which there was nothing new
	Lost          int                  // revisions that a listener never learned
	Delays        map[string]Durations // from a change to its notification, by kind of change
	Latency       Durations            // of a call, from the moment it was due

	Before, During, After Usage
	Goroutines            struct{ Before, After int }
	Failures              []string
}

// Load subscribes listeners, half of them in each era and a quarter through a toolset, calls tools
// at a steady rate and changes the folder about once a second. Every listener must learn the last
// revision of every topic it subscribed to, within stepTimeout of the change, from notifications
// alone; every eighth time five changes come in quick succession. After the listeners have left,
// the server must hold no more than before.
func Load(ctx context.Context, o LoadOptions) (*LoadReport, error) {
	r := &LoadReport{Options: o, Delays: map[string]Durations{}}
	log := newRecord()
	path := filepath.Join(o.Folder, "load")
	if err := writeFolder(path, ""); err != nil {
		return nil, err
	}
	idle, err := r.startWarm(ctx, path, log)
	if err != nil {
		return nil, err
	}
	if r.Goroutines.Before, err = idle.stopCounting(); err != nil {
		return nil, err
	}
	s, err := r.startWarm(ctx, path, log)
	if err != nil {
		return nil, err
	}
	if err := r.run(ctx, s, newFolder(path), log); err != nil {
		s.stop()
		return nil, fmt.Errorf("%w\n%s", err, s.logTail())
	}
	if r.After, err = s.idleUsage(ctx, r.Before, 10*time.Second); err != nil {
		return nil, err
	}
	if r.Goroutines.After, err = s.stopCounting(); err != nil {
		return nil, err
	}
	return r, r.judge(s.log, log)
}

// startWarm starts a server, lets it answer calls for a second, and takes its usage.
func (r *LoadReport) startWarm(ctx context.Context, path string, log *record) (*server, error) {
	s, err := startServer(ctx, r.Options.Binary, path, filepath.Join(r.Options.Folder, "server.log"))
	if err != nil {
		return nil, err
	}
	warm, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	calls, err := startCalls(warm, s.host, 200, log)
	if err == nil {
		calls.wait()
		r.Before, err = s.idleUsage(ctx, Usage{}, 0)
	}
	if err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (r *LoadReport) run(ctx context.Context, s *server, f *folder, log *record) error {
	started := time.Now()
	a, err := subscribeAll(ctx, f, s.host, r.Options.Listeners, log)
	if err != nil {
		return err
	}
	defer a.close()
	r.Options.Logf("%d listeners subscribed after %v", len(a.listeners), time.Since(started).Round(time.Millisecond))
	running, cancel := context.WithTimeout(ctx, r.Options.Duration)
	defer cancel()
	calls, err := startCalls(running, s.host, r.Options.Rate, log)
	if err != nil {
		return err
	}
	if err := r.change(ctx, running, f, a); err != nil {
		return err
	}
	r.Latency = calls.wait()
	if r.During, err = readUsage(s.pid()); err != nil {
		return err
	}
	r.Received, r.Spurious = int(a.received.Load()), int(a.spurious.Load())
	return nil
}

// change changes the folder until running ends, and after each change waits until every listener
// knows it.
func (r *LoadReport) change(ctx, running context.Context, f *folder, a *audience) error {
	session, closeSession, err := dial(ctx, a.host, "", modern, &mcp.ClientOptions{})
	if err != nil {
		return err
	}
	defer closeSession()
	for n := 0; running.Err() == nil; n++ {
		next := time.Now().Add(time.Second)
		c, repeat := f.changes[n%len(f.changes)], 1
		if n%8 == 7 {
			c, repeat = f.changes[0], 5
		}
		a.expect(c, repeat > 1)
		for i := range repeat {
			if i > 0 {
				sleep(ctx, 40*time.Millisecond)
			}
			if err := f.apply(ctx, c, session); err != nil {
				return err
			}
			r.Changes++
		}
		r.Due += a.subscribers(c)
		delays, missing := a.await(ctx, c)
		r.Delays[c.kind] = append(r.Delays[c.kind], delays...)
		if missing > 0 {
			a.log.fail("lost change", "%s: %d listeners do not know it", c.kind, missing)
			r.Lost += missing
		}
		sleep(running, time.Until(next))
	}
	return nil
}

// judge completes the failures with what the log and the final usage show.
func (r *LoadReport) judge(serverLog string, log *record) error {
	alarms, err := findAlarms(serverLog)
	if err != nil {
		return err
	}
	for _, a := range alarms {
		log.fail("server log", "%s", a)
	}
	if r.Spurious > 0 {
		log.fail("spurious notifications", "%d had nothing new behind them", r.Spurious)
	}
	before := r.Before
	if r.Options.Race {
		before.Memory = r.After.Memory
	}
	if !r.After.within(before) {
		log.fail("leak", "%v before, %v after", r.Before, r.After)
	}
	if r.Goroutines.After > r.Goroutines.Before+usageSlack.Threads {
		log.fail("leak", "%d goroutines before, %d after", r.Goroutines.Before, r.Goroutines.After)
	}
	r.Failures = log.allFailures()
	return nil
}

// Write prints the report as a table.
func (r *LoadReport) Write(w io.Writer) {
	rows := [][2]string{
		{"listeners", fmt.Sprintf("%d, half of them in each era, a quarter through a toolset", r.Options.Listeners)},
		{"calls", fmt.Sprintf("%d in %v, %d a second", len(r.Latency), r.Options.Duration, r.Options.Rate)},
		{"latency of a call, from when it was due", r.Latency.String()},
		{"changes, notifications due, received", fmt.Sprintf("%d, %d, %d", r.Changes, r.Due, r.Received)},
	}
	for _, kind := range slices.Sorted(maps.Keys(r.Delays)) {
		rows = append(rows, [2]string{"notification of " + kind, r.Delays[kind].String()})
	}
	rows = append(rows, [][2]string{
		{"lost", fmt.Sprint(r.Lost)},
		{"before", fmt.Sprintf("%v, %d goroutines", r.Before, r.Goroutines.Before)},
		{"during", r.During.String()},
		{"after", fmt.Sprintf("%v, %d goroutines", r.After, r.Goroutines.After)},
	}...)
	table(w, rows, r.Failures)
}

// calls are clients that call tools at a steady rate, whether or not earlier calls were answered.
type calls struct {
	running sync.WaitGroup
	mu      sync.Mutex
	latency Durations // guarded by mu
}

const callConnections = 32

// startCalls makes rate calls per second until ctx ends.
func startCalls(ctx context.Context, host string, rate int, log *record) (*calls, error) {
	c := &calls{}
	due := make(chan time.Time, 100_000)
	for i := range callConnections {
		session, closeSession, err := dial(context.WithoutCancel(ctx), host, "", eras[i%2], &mcp.ClientOptions{})
		if err != nil {
			return nil, err
		}
		c.running.Go(func() {
			defer closeSession()
			c.call(context.WithoutCancel(ctx), session, due, log)
		})
	}
	c.running.Go(func() {
		defer close(due)
		start := time.Now()
		for n := 0; ; n++ {
			at := start.Add(time.Duration(n) * time.Second / time.Duration(rate))
			if sleep(ctx, time.Until(at)) != nil {
				return
			}
			due <- at
		}
	})
	return c, nil
}

// call makes one call for every moment that arrives, and checks its answer.
func (c *calls) call(ctx context.Context, session *mcp.ClientSession, due <-chan time.Time, log *record) {
	steady := []struct {
		params *mcp.CallToolParams
		want   string
	}{
		{&mcp.CallToolParams{Name: "say_hello", Arguments: map[string]any{"name": "Ada"}}, "Hello Ada"},
		{&mcp.CallToolParams{Name: "office_lookup", Arguments: map[string]any{"id": 1}}, "revision"},
	}
	for n := 0; ; n++ {
		at, open := <-due
		if !open {
			return
		}
		call := steady[n%len(steady)]
		result, err := session.CallTool(ctx, call.params)
		latency := time.Since(at)
		switch {
		case err != nil:
			log.fail("failed call", "%v", err)
			return
		case result.IsError || !strings.Contains(encode(result), call.want):
			log.fail("wrong answer", "%s: %.300s", call.params.Name, encode(result))
		}
		c.mu.Lock()
		c.latency = append(c.latency, latency)
		c.mu.Unlock()
	}
}

// wait waits for the last call and returns the latency of all.
func (c *calls) wait() Durations {
	c.running.Wait()
	return c.latency
}
