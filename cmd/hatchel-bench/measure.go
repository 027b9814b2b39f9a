package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"hatchel/cmd/hatchel-bench/process"
)

// figures are those of one target in one cell: the medians of its rounds.
type figures struct {
	cpu      float64 // µs of the server process, per call
	p50, p99 float64 // µs
	calls    float64 // per second
	// ratio is the CPU against the floor's: the median of the ratios of the rounds, each to its
	// neighbour in time.
	ratio float64
}

// cell is one row in one era with one number of connections.
type cell struct {
	row         *callRow
	era         era
	connections int
	targets     map[string]figures // of those that could be measured
}

// targetNames are the servers measured side by side; rounds go through them in this order.
var targetNames = []string{"floor", "hatchel", "sdk"}

// direct is the target of a row with delays that is called without a server between.
const direct = "upstream"

// server is one running target.
type server struct {
	*process.Process
	name string
	bare bool // it answers requests without a session
}

// stop ends the server and waits for it: with SIGTERM, and after two seconds by force.
func (s *server) stop() { s.Stop(syscall.SIGTERM, 2*time.Second) }

// cpuTime returns what the process has used so far, if requested with the children it has waited
// for.
func (s *server) cpuTime(children bool) (time.Duration, error) {
	own, err := process.CPUTime(s.PID())
	if err != nil || !children {
		return own, err
	}
	theirs, err := process.ChildrenCPUTime(s.PID())
	return own + theirs, err
}

// bench is one run of the benchmark.
type bench struct {
	self     string // this binary, which is the floor, the SDK server and the upstream too
	hatchel  string // the binary under test
	folder   string // temporary
	quick    bool
	cells    []cell
	loading  *loadFigures         // nil if not measured
	watched  map[*goRow]goFigures // nil if not measured
	startup  *startFigures        // nil if not measured
	failures []string             // of targets that could not be measured
}

func (b *bench) fail(format string, args ...any) {
	b.failures = append(b.failures, fmt.Sprintf(format, args...))
	progress("%s", b.failures[len(b.failures)-1])
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
func (b *bench) measureRow(ctx context.Context, row *callRow) error {
	folder := filepath.Join(b.folder, row.name)
	if err := makeFolder(row.name, folder); err != nil {
		return err
	}
	if row.postgres {
		undo, err := b.prepareDatabase(ctx, row)
		if err != nil {
			return err
		}
		defer undo()
	}
	connections := row.connections
	if b.quick {
		connections = []int{row.judged}
	}
	for _, e := range eras {
		address, upstream, err := b.startUpstream(ctx, row, e)
		if err != nil {
			return err
		}
		servers := b.startServers(ctx, row, folder, address)
		if upstream != nil {
			servers[direct] = upstream
		}
		for _, n := range connections {
			c := b.measureCell(row, e, n, servers)
			b.cells = append(b.cells, c)
			progress("%s, %s, %d connections: %v", row.name, e, n, c.targets)
		}
		for _, s := range servers {
			s.stop()
		}
	}
	return ctx.Err()
}

// startUpstream starts the server that the tools of a row call, if any. It returns the address for the targets: a URL,
// or "command:" and the command that each target starts.
func (b *bench) startUpstream(ctx context.Context, row *callRow, e era) (address string, s *server, err error) {
	command := []string{b.self, "upstream"}
	switch row.upstream {
	case "":
		return "", nil, nil
	case "http":
	case "stdio":
		return strings.Join(append([]string{"command:" + b.self}, "upstream", "stdio", string(e)), " "), nil, nil
	default:
		command = append(command, row.upstream, string(e))
	}
	if s, err = b.start(ctx, direct, false, command); err != nil {
		return "", nil, err
	}
	if address = "http://" + s.Host; row.upstream != "http" {
		address += "/mcp"
	}
	return address, s, nil
}

// startServers starts the row's targets. The floor starts last: that of tools/list serves the bytes
// of an upstream, which is another target.
func (b *bench) startServers(ctx context.Context, row *callRow, folder, upstream string) map[string]*server {
	servers := map[string]*server{}
	for _, name := range []string{"hatchel", "sdk", "floor"} {
		if name == "sdk" && row.unaudited {
			continue
		}
		s, err := b.startServer(ctx, name, row, folder, upstream)
		if err != nil {
			b.fail("row %s: %s: %v", row.name, name, err)
			continue
		}
		servers[name] = s
		if row.name == "list" {
			upstream = "http://" + s.Host
		}
	}
	return servers
}

func (b *bench) startServer(ctx context.Context, name string, row *callRow, folder, upstream string) (*server, error) {
	var command []string
	bare := name == "floor" && !row.unaudited
	switch {
	case row.unaudited:
		below := auditedFolder
		if name == "floor" {
			below = unauditedFolder
		}
		command = []string{b.hatchel, "serve", filepath.Join(folder, below), "--listen", "127.0.0.1:0"}
	case name != "hatchel":
		work, transport := row.name, "http"
		if row.stdio {
			transport = "stdio"
		}
		command = []string{b.self, name, work, folder, upstream, transport}
	case row.stdio:
		command = []string{b.hatchel, "serve", folder, "--stdio"}
	default:
		command = []string{b.hatchel, "serve", folder, "--listen", "127.0.0.1:0"}
		switch {
		case row.upstream == "stdio":
			words := strings.Fields(upstream)
			command = append(command, "--var", "program="+b.self, "--var", "revision="+words[len(words)-1])
		case upstream != "":
			command = append(command, "--var", "upstream="+upstream)
		}
	}
	s, err := b.start(ctx, name, row.stdio, command)
	s.bare = bare
	return s, err
}

func (b *bench) start(ctx context.Context, name string, stdio bool, command []string) (*server, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	p, err := process.Start(cmd, filepath.Join(b.folder, name+".log"), stdio)
	return &server{Process: p, name: name}, err
}

// measureCell calls every server in turn, round after round. A server that fails is left out.
func (b *bench) measureCell(row *callRow, e era, n int, servers map[string]*server) cell {
	clients, rounds := map[string][]*client{}, map[string][]figures{}
	drop := func(name string, err error) {
		b.fail("row %s, %s, %d connections: %s: %v", row.name, e, n, name, err)
		delete(clients, name)
	}
	for name, s := range servers {
		if name == direct && !row.delays {
			continue
		}
		connected, err := dial(s, row, e, n)
		if err != nil {
			drop(name, err)
			continue
		}
		defer closeAll(connected)
		clients[name] = connected
	}
	count, each := b.rounds(row, n)
	for round := -1; round < count; round++ { // one more, unmeasured, to warm up
		for _, name := range append(slices.Clone(targetNames), direct) {
			if clients[name] == nil {
				continue
			}
			f, err := measureRound(servers[name], clients[name], row, each)
			if err != nil {
				drop(name, err)
			} else if round >= 0 {
				rounds[name] = append(rounds[name], f)
			}
		}
	}
	c := cell{row, e, n, map[string]figures{}}
	for name := range clients {
		f := medians(rounds[name])
		f.ratio = median(ratios(rounds[name], rounds["floor"]))
		c.targets[name] = f
	}
	return c
}

func measureRound(s *server, clients []*client, row *callRow, d time.Duration) (figures, error) {
	before, err := s.cpuTime(row.children)
	if err != nil {
		return figures{}, err
	}
	start := time.Now()
	times, err := runAll(clients, d)
	if err != nil {
		return figures{}, err
	}
	wall := time.Since(start)
	after, err := s.cpuTime(row.children)
	if err != nil {
		return figures{}, err
	}
	slices.Sort(times)
	calls := float64(len(times))
	return figures{
		cpu:   microseconds(after-before) / calls,
		p50:   microseconds(times[len(times)/2]),
		p99:   microseconds(times[len(times)*99/100]),
		calls: calls / wall.Seconds(),
	}, nil
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func medians(rounds []figures) figures {
	of := func(field func(figures) float64) float64 {
		var values []float64
		for _, f := range rounds {
			values = append(values, field(f))
		}
		return median(values)
	}
	return figures{
		cpu:   of(func(f figures) float64 { return f.cpu }),
		p50:   of(func(f figures) float64 { return f.p50 }),
		p99:   of(func(f figures) float64 { return f.p99 }),
		calls: of(func(f figures) float64 { return f.calls }),
	}
}

func ratios(rounds, floor []figures) []float64 {
	var all []float64
	for i := range min(len(rounds), len(floor)) {
		all = append(all, rounds[i].cpu/floor[i].cpu)
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

// String shows the CPU time.
func (f figures) String() string { return fmt.Sprintf("%.1f µs", f.cpu) }
