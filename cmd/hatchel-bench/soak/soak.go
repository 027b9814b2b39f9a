// Package soak puts many clients at once on the real program and checks what each of them observes.
// [Load] holds thousands of subscribed listeners while calls and changes arrive at a steady rate.
// [Soak] lets clients and authors, well-behaved or not, do everything at the same time. Both judge
// the server from outside: by its answers, its log, and what the operating system says that the
// process holds.
package soak

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"hatchel/cmd/hatchel-bench/process"
	"hatchel/internal/ctxtime"
)

// stepTimeout is how long a single step may take on a busy machine.
const stepTimeout = time.Minute

// Options are those of Load and Soak.
type Options struct {
	Binary   string
	Race     bool   // the binary has the race detector: its memory is not judged
	Folder   string // an empty folder for everything that is written
	Duration time.Duration
	Logf     func(format string, args ...any) // reports progress; never called concurrently

	Listeners int // subscribed clients of Load
	Rate      int // tool calls per second of Load

	Served  string // of Soak: a folder that is served in addition to that of Load; it is copied
	Program string // of Soak: a binary whose command upstream is an MCP server
}

// run is a Soak in progress.
type run struct {
	Options
	*Report
	folder    *folder
	upstreams *upstreams
	server    *process.Process
	edits     sync.Mutex // held while the folder does not load, or lacks what listeners subscribe to
}

// actors act at the same time, each again and again.
var actors = []struct {
	name  string
	count int
	act   func(*run, context.Context) error
}{
	{"legacy client", 3, func(r *run, ctx context.Context) error { return r.useHTTP(ctx, legacy) }},
	{"modern client", 3, func(r *run, ctx context.Context) error { return r.useHTTP(ctx, modern) }},
	{"stdio client", 1, (*run).useStdio},
	{"listener", 10, (*run).listen},
	{"author", 1, (*run).edit},
	{"malformed client", 2, (*run).sendMalformed},
	{"stalling client", 3, (*run).stall},
	{"client of MCP servers", 3, (*run).useUpstreams},
	{"killer of programs", 1, (*run).killProgram},
}

// Soak runs all actors at once. They pause several times, and what the server holds then must not
// grow. In the middle of the time the server is stopped with SIGTERM and started again on the same
// state.
func Soak(ctx context.Context, o Options) (*Report, error) {
	path := filepath.Join(o.Folder, "soak")
	if err := writeFolder(path, o.Served); err != nil {
		return nil, err
	}
	r := &run{Options: o, Report: newReport(), folder: newFolder(path)}
	var stop func()
	var err error
	if r.upstreams, stop, err = startUpstreams(ctx, o.Program, o.Folder); err != nil {
		return nil, err
	}
	defer stop()
	if err := r.upstreams.write(path); err != nil {
		return nil, err
	}
	const runs = 2
	phases := max(2, int(o.Duration/runs/time.Minute))
	for n := range runs {
		if err := r.serve(ctx, n+1, phases, o.Duration/runs/time.Duration(phases), n == runs-1); err != nil {
			return nil, err
		}
	}
	if err := r.upstreams.judge(r.Report); err != nil {
		return nil, err
	}
	if err := r.failAlarms(filepath.Join(o.Folder, "server.log")); err != nil {
		return nil, err
	}
	return r.Report, r.failAlarms(filepath.Join(o.Folder, "stdio.log"))
}

// serve runs the server once, with a pause after each phase. The usage in the first pause limits
// that in the others.
func (r *run) serve(ctx context.Context, number, phases int, phase time.Duration, last bool) (err error) {
	if r.server, err = startServer(ctx, r.Options, r.folder.path); err != nil {
		return err
	}
	limit := unlimited
	for n := range phases {
		if err := r.actAll(ctx, phase); err != nil {
			r.server.Stop(syscall.SIGTERM, stepTimeout)
			return fmt.Errorf("%w: %s", err, r.server.LogTail())
		}
		r.checkUpstreams(ctx, fmt.Sprintf("in pause %d of run %d", n+1, number), maxIdleSessions, maxIdlePrograms)
		usage, err := idleUsage(ctx, r.server, limit)
		if err != nil {
			return fmt.Errorf("%w: %s", err, r.server.LogTail())
		}
		r.Logf("run %d, pause %d: %v, %d failures", number, n+1, usage, len(r.Failures()))
		r.add(fmt.Sprintf("usage in a pause of run %d", number), "%v", usage)
		if !isWithin(usage, limit) {
			r.fail("growth", "%v at pause %d of run %d", usage, n+1, number)
		}
		if n == 0 {
			limit = usage
		}
		if r.Race {
			limit.Memory = unlimited.Memory
		}
	}
	if !last {
		if err := r.server.Stop(syscall.SIGTERM, stepTimeout); err != nil {
			r.fail("shutdown", "%v", err)
		}
		r.checkUpstreams(ctx, "after SIGTERM", 0, 0)
		return nil
	}
	goroutines, err := r.server.StopCounting()
	r.checkUpstreams(ctx, "after SIGQUIT", maxIdleSessions, 0) // which closes no session
	if r.add("goroutines after the last pause", "%d", goroutines); goroutines > maxIdleGoroutines {
		r.fail("growth", "%d goroutines while idle", goroutines)
	}
	return err
}

// actAll lets all actors act for d.
func (r *run) actAll(ctx context.Context, d time.Duration) error {
	acting, cancel := context.WithCancel(ctx) // without a deadline, by which a dial would fail before acting ends
	defer cancel()
	defer time.AfterFunc(d, cancel).Stop()
	var running sync.WaitGroup
	for _, a := range actors {
		for range a.count {
			running.Go(func() {
				for acting.Err() == nil {
					started := time.Now()
					err := a.act(r, acting)
					if took := time.Since(started); took > stepTimeout {
						r.fail(a.name, "took %v", took)
					}
					if err != nil && acting.Err() == nil {
						r.fail(a.name, "%v", err)
						ctxtime.Sleep(acting, 50*time.Millisecond)
					}
				}
			})
		}
	}
	running.Wait()
	if _, err := process.ReadUsage(r.server.PID()); err != nil {
		return fmt.Errorf("the server has exited: %w", err)
	}
	return ctx.Err()
}
