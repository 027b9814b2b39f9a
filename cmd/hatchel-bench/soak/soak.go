// Package soak puts many clients at once on the real program and checks what each of them observes.
// [Load] holds thousands of subscribed listeners while calls and changes arrive at a steady rate.
// [Soak] lets clients and authors, well-behaved or not, do everything at the same time. Both judge
// the server from outside: by its answers, its log, and what the operating system says that the
// process holds.
package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// stepTimeout is how long a single step may take on a busy machine.
const stepTimeout = time.Minute

// maxIdleGoroutines is more goroutines than an idle server has, open keep-alive connections
// included.
const maxIdleGoroutines = 100

// Options says how long Soak runs, and on what.
type Options struct {
	Binary   string
	Race     bool   // the binary has the race detector: its memory is not judged
	Folder   string // an empty folder for everything that is written
	Served   string // a folder that is served in addition to that of Load; it is copied
	Duration time.Duration
	Logf     func(format string, args ...any) // reports progress; never called concurrently
}

// Report is the result of Soak.
type Report struct {
	Options  Options
	Events   map[string]int // how often each thing happened
	Pauses   []Pause
	Failures []string
}

// Pause is the usage of a server while no actor acts.
type Pause struct {
	Run        int // of the server, from 1
	Usage      Usage
	Goroutines int // at the end of the last run; 0 otherwise
}

// run is a Soak in progress.
type run struct {
	Options
	*record
	folder *folder
	server *server
	edits  sync.Mutex // held while the folder does not load, or lacks what listeners subscribe to
}

// actors act at the same time, each again and again.
var actors = []struct {
	name  string
	count int
	act   func(*run, context.Context) error
}{
	{"legacy client", 3, func(r *run, ctx context.Context) error { return r.useServer(ctx, legacy) }},
	{"modern client", 3, func(r *run, ctx context.Context) error { return r.useServer(ctx, modern) }},
	{"task client", 1, (*run).runTask},
	{"stdio client", 1, (*run).useStdio},
	{"listener", 10, (*run).listen},
	{"author", 1, (*run).edit},
	{"malformed client", 2, (*run).sendMalformed},
	{"stalling client", 3, (*run).stall},
}

// Soak runs all actors at once. They pause several times, and what the server holds then must not
// grow. In the middle of the time the server is stopped with SIGTERM and started again on the same
// state.
func Soak(ctx context.Context, o Options) (*Report, error) {
	path := filepath.Join(o.Folder, "soak")
	if err := writeFolder(path, o.Served); err != nil {
		return nil, err
	}
	r := &run{Options: o, record: newRecord(), folder: newFolder(path)}
	report := &Report{Options: o}
	const runs = 2
	phases := max(2, int(o.Duration/runs/time.Minute))
	for n := range runs {
		pauses, err := r.serve(ctx, n+1, phases, o.Duration/runs/time.Duration(phases), n == runs-1)
		report.Pauses = append(report.Pauses, pauses...)
		if err != nil {
			return nil, err
		}
	}
	for _, log := range []string{"server.log", "stdio.log"} {
		alarms, err := findAlarms(filepath.Join(o.Folder, log))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, a := range alarms {
			r.fail("log: "+alarmKind(a), "%s", a)
		}
	}
	report.Events, report.Failures = r.counts(), r.allFailures()
	return report, nil
}

// alarmKind returns the beginning of an alarm without its time.
func alarmKind(alarm string) string {
	line, _, _ := strings.Cut(alarm, "\n")
	if _, after, ok := strings.Cut(line, "level="); ok {
		line = after
	}
	return line[:min(len(line), 60)]
}

// serve runs the server once, with a pause after each phase.
func (r *run) serve(ctx context.Context, number, phases int, phase time.Duration, last bool) (pauses []Pause,
	err error) {
	r.server, err = startServer(ctx, r.Binary, r.folder.path, filepath.Join(r.Folder, "server.log"))
	if err != nil {
		return nil, err
	}
	for n := range phases {
		if err := r.actAll(ctx, phase); err != nil {
			r.server.stop()
			return nil, fmt.Errorf("%w: %s", err, r.server.logTail())
		}
		var limit Usage // the first pause is the limit of the others
		var timeout time.Duration
		if n > 0 {
			limit, timeout = pauses[0].Usage, stepTimeout
		}
		if r.Race {
			limit.Memory = math.MaxInt / 2
		}
		usage, err := r.server.idleUsage(ctx, limit, timeout)
		if err != nil {
			return nil, fmt.Errorf("%w: %s", err, r.server.logTail())
		}
		r.Logf("run %d, pause %d: %v", number, n+1, usage)
		for _, failure := range r.allFailures() {
			r.Logf("so far: %s", failure)
		}
		if n > 0 && !usage.within(limit) {
			r.fail("growth", "%v at the first pause of run %d, %v at pause %d", pauses[0].Usage, number, usage, n+1)
		}
		pauses = append(pauses, Pause{Run: number, Usage: usage})
	}
	if !last {
		if err := r.server.stop(); err != nil {
			r.fail("shutdown", "%v", err)
		}
		return pauses, nil
	}
	goroutines, err := r.server.stopCounting()
	if pauses[len(pauses)-1].Goroutines = goroutines; goroutines > maxIdleGoroutines {
		r.fail("growth", "%d goroutines while idle", goroutines)
	}
	return pauses, err
}

// actAll lets all actors act for d.
func (r *run) actAll(ctx context.Context, d time.Duration) error {
	acting, cancel := context.WithTimeout(ctx, d)
	defer cancel()
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
						sleep(acting, 50*time.Millisecond)
					}
				}
			})
		}
	}
	running.Wait()
	if _, err := readUsage(r.server.pid()); err != nil {
		return fmt.Errorf("the server has exited: %w", err)
	}
	return ctx.Err()
}

// Write prints the report as a table.
func (r *Report) Write(w io.Writer) {
	var rows [][2]string
	for _, event := range slices.Sorted(maps.Keys(r.Events)) {
		rows = append(rows, [2]string{event, fmt.Sprint(r.Events[event])})
	}
	for _, p := range r.Pauses {
		usage := p.Usage.String()
		if p.Goroutines > 0 {
			usage += fmt.Sprintf(", %d goroutines", p.Goroutines)
		}
		rows = append(rows, [2]string{fmt.Sprintf("usage in a pause of run %d", p.Run), usage})
	}
	table(w, rows, r.Failures)
}
