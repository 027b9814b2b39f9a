package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// load is a client's side of a running measurement.
type load interface {
	run(d time.Duration) ([]time.Duration, error)
	close()
}

// figures are what one target showed in one cell: the medians of its rounds.
type figures struct {
	CPU   float64 `json:"cpu_us"` // of the server process, per call
	P50   float64 `json:"p50_us"`
	P99   float64 `json:"p99_us"`
	Calls float64 `json:"calls_per_s"`
	// Ratio is the CPU against the floor's: the median of the ratios of the rounds, each to its
	// neighbour in time.
	Ratio float64 `json:"ratio"`
	Error string  `json:"error,omitempty"`
}

// cell is one row in one era with one number of connections.
type cell struct {
	Row         string             `json:"row"`
	Era         era                `json:"era"`
	Connections int                `json:"connections"`
	Targets     map[string]figures `json:"targets"`
}

// targetNames are the servers measured side by side; rounds go through them in this order.
var targetNames = []string{"floor", "hatchel", "sdk"}

// bench is one run of the benchmark.
type bench struct {
	self    string // this binary, which is the floor, the SDK server and the upstream too
	hatchel string // the binary under test; empty if it could not be built
	folder  string // temporary
	quick   bool
	profile string // folder for profiles of hatchel; empty for none
	targets []string
}

func (b *bench) rounds(row *callRow, connections int) (n int, each time.Duration) {
	switch {
	case b.quick:
		return 3, 500 * time.Millisecond
	case connections == row.judged:
		return 5, 1200 * time.Millisecond
	default:
		return 3, time.Second
	}
}

// measureRow starts the servers of a row and measures all its cells.
func (b *bench) measureRow(ctx context.Context, row *callRow) ([]cell, error) {
	folder := filepath.Join(b.folder, row.name)
	if err := makeFolder(row.name, folder); err != nil {
		return nil, err
	}
	upstream := ""
	if row.upstream {
		t, err := startHTTP(ctx, "upstream", []string{b.self, "upstream"})
		if err != nil {
			return nil, err
		}
		defer t.stop()
		upstream = "http://" + t.host
	}
	var cells []cell
	connections := row.connections
	if b.quick {
		connections = []int{row.judged}
	}
	for _, e := range eras {
		servers, failures := b.startServers(ctx, row, folder, upstream)
		for _, n := range connections {
			cells = append(cells, b.measureCell(row, e, n, servers, failures))
			progress("%s, %s, %d connections: %s", row.name, e, n, cells[len(cells)-1].summary())
		}
		for _, t := range servers {
			t.stop()
		}
		if ctx.Err() != nil {
			return cells, ctx.Err()
		}
	}
	return cells, nil
}

// startServers starts the row's targets. The floor comes last: that of tools/list serves bytes of
// another target.
func (b *bench) startServers(ctx context.Context, row *callRow, folder, upstream string) (map[string]*target,
	map[string]error) {
	servers, failures := map[string]*target{}, map[string]error{}
	for _, name := range []string{"hatchel", "sdk", "floor"} {
		if !slices.Contains(b.targets, name) {
			continue
		}
		t, err := b.startServer(ctx, name, row, folder, upstream)
		if err != nil {
			failures[name] = err
			continue
		}
		servers[name] = t
		if row.name == "list" && servers["floor"] == nil {
			if err := saveList(t, row, filepath.Join(folder, listFile)); err != nil {
				failures[name] = err
				t.stop()
				delete(servers, name)
			}
		}
	}
	return servers, failures
}

func (b *bench) startServer(ctx context.Context, name string, row *callRow, folder, upstream string) (*target, error) {
	var command []string
	if name == "hatchel" {
		if b.hatchel == "" {
			return nil, fmt.Errorf("./cmd/hatchel could not be built")
		}
		command = []string{b.hatchel, "serve", folder}
		if row.stdio {
			command = append(command, "--stdio")
		} else {
			command = append(command, "--listen", "127.0.0.1:0")
		}
		if upstream != "" {
			command = append(command, "--var", "upstream="+upstream)
		}
	} else {
		work := row.name
		if row.stdio {
			work = "text"
		}
		command = []string{b.self, name, "-row", work, "-folder", folder, "-upstream", upstream}
		if row.stdio {
			command = append(command, "-stdio")
		}
	}
	if row.stdio {
		return startStdio(ctx, name, command)
	}
	return startHTTP(ctx, name, command)
}

// saveList asks t once for its tools and writes the result's bytes to file, if no earlier target
// has.
func saveList(t *target, row *callRow, file string) error {
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	l, err := dialHTTP(t, row, modern, 1)
	if err != nil {
		return err
	}
	defer l.close()
	if _, err := l.run(time.Millisecond); err != nil {
		return err
	}
	var reply struct {
		Result json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal(l.(*httpLoad).conns[0].body, &reply); err != nil {
		return err
	}
	return os.WriteFile(file, reply.Result, 0o644)
}

// measureCell calls every server in turn, round after round. A server that fails drops out with its
// error.
func (b *bench) measureCell(row *callRow, e era, n int, servers map[string]*target, failures map[string]error) cell {
	c := cell{Row: row.name, Era: e, Connections: n, Targets: map[string]figures{}}
	for name, err := range failures {
		c.Targets[name] = figures{Error: err.Error()}
	}
	dial := dialHTTP
	if row.stdio {
		dial = dialStdio
	}
	loads, rounds := map[string]load{}, map[string][]figures{}
	drop := func(name string, err error) {
		c.Targets[name] = figures{Error: err.Error()}
		delete(loads, name)
	}
	for name, t := range servers {
		l, err := dial(t, row, e, n)
		if err != nil {
			drop(name, err)
			continue
		}
		defer l.close()
		loads[name] = l
	}
	count, each := b.rounds(row, n)
	for round := -1; round < count; round++ { // one more, unmeasured, to warm up
		for _, name := range targetNames {
			l, ok := loads[name]
			if !ok {
				continue
			}
			stop := func() {}
			if round >= 0 && name == "hatchel" && n == row.judged && b.profile != "" {
				stop = record(servers[name].pid(), filepath.Join(b.profile,
					fmt.Sprintf("%s-%s-%d.data", row.name, e, round)))
			}
			f, err := measureRound(servers[name], l, row, each)
			stop()
			if err != nil {
				drop(name, err)
			} else if round >= 0 {
				rounds[name] = append(rounds[name], f)
			}
		}
	}
	for name := range loads {
		f := medians(rounds[name])
		f.Ratio = median(ratios(rounds[name], rounds["floor"]))
		c.Targets[name] = f
	}
	return c
}

func measureRound(t *target, l load, row *callRow, d time.Duration) (figures, error) {
	before, err := t.cpu(row.children)
	if err != nil {
		return figures{}, err
	}
	start := time.Now()
	times, err := l.run(d)
	if err != nil {
		return figures{}, err
	}
	wall := time.Since(start)
	after, err := t.cpu(row.children)
	if err != nil {
		return figures{}, err
	}
	slices.Sort(times)
	calls := float64(len(times))
	return figures{
		CPU:   microseconds(after-before) / calls,
		P50:   microseconds(times[len(times)/2]),
		P99:   microseconds(times[len(times)*99/100]),
		Calls: calls / wall.Seconds(),
	}, nil
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func medians(rounds []figures) figures {
	of := func(pick func(figures) float64) float64 {
		var values []float64
		for _, f := range rounds {
			values = append(values, pick(f))
		}
		return median(values)
	}
	return figures{
		CPU:   of(func(f figures) float64 { return f.CPU }),
		P50:   of(func(f figures) float64 { return f.P50 }),
		P99:   of(func(f figures) float64 { return f.P99 }),
		Calls: of(func(f figures) float64 { return f.Calls }),
	}
}

func ratios(rounds, floor []figures) []float64 {
	var all []float64
	for i := range min(len(rounds), len(floor)) {
		all = append(all, rounds[i].CPU/floor[i].CPU)
	}
	return all
}

// median is 0 for no values.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	if n := len(sorted); n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[len(sorted)/2]
}

func (c cell) summary() string {
	var parts []string
	for _, name := range targetNames {
		if f, ok := c.Targets[name]; ok && f.Error == "" {
			parts = append(parts, fmt.Sprintf("%s %.1f µs", name, f.CPU))
		} else if ok {
			parts = append(parts, name+" failed: "+f.Error)
		}
	}
	return strings.Join(parts, ", ")
}
