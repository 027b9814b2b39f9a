package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// goRow is a row that a Go benchmark of this module measures.
type goRow struct {
	title     string
	folder    string // of its package
	benchmark string // of those below it, the slowest counts
	without   string // a benchmark that is subtracted, round by round; empty for none
	metric    string // as the benchmark names it
	bound     float64
	show      func(float64) string // shows the metric; nil for one in ns
	// floor is a benchmark of the work that cannot be avoided; empty for none. The row passes, too, when it takes at
	// most ratio times as long, on a machine that is slower than that of the bound.
	floor, floorTitle string
	ratio             float64
	// allocates says that the benchmark may allocate memory, beyond that without.
	allocates bool
}

var goRows = []*goRow{
	addedRow("what `metrics` adds to a call", "metrics", "nothing", 1000, false),
	addedRow("what `otlp` adds to a call that is not sampled", "untraced", "continued", 150, false),
	addedRow("what `otlp` adds to a call on average, 5 % of them sampled", "traced", "nothing", 1000, true),
	{
		title: "what `events` adds to a call, nobody listens", folder: "runtime/observe/event",
		benchmark: "NobodyListens", metric: "ns/op", bound: 10,
	},
	addedRow("what `events` adds to a call, one listener", "heard", "nothing", 2000, false),
	{
		title: "delay of a call by 8 listeners that do not read, 99th percentile", folder: "runtime/observe/event",
		benchmark: "StalledListeners", metric: "p99-ns", bound: 50_000,
	},
	{
		title: "whom a call runs as in PostgreSQL: a role and four values", folder: "adapters/sql",
		benchmark: "Identity", metric: "ns/op", bound: 10_000, allocates: true,
	},
	{
		title: "a scrape of 1,000 called tools", folder: "runtime/observe/metrics",
		benchmark: "ScrapeOf1000Tools", metric: cpuMetric, bound: 30e6, allocates: true,
	},
	{
		title: "a page of the console with 1,000 tools", folder: "runtime/edge/console",
		benchmark: "Page", metric: cpuMetric, bound: 8e6, allocates: true,
	},
	{
		title: "a signature of AWS (Signature Version 4) of a request with 4 KiB", folder: "adapters/credential/aws",
		benchmark: "Sign", metric: cpuMetric, bound: 30e3, allocates: true,
	},
	{
		title: "an access token of `sign_in`, the first time", folder: "runtime/edge/auth",
		benchmark: "OwnToken/first", metric: cpuMetric, bound: 150e3, allocates: true,
		floor: "OwnToken/signature", floorTitle: "`ecdsa.Verify`", ratio: 1.3,
	},
	{
		title: "an access token of `sign_in`, from the second time on", folder: "runtime/edge/auth",
		benchmark: "OwnToken/again", metric: cpuMetric, bound: 5e3, allocates: true,
	},
	{
		title: "memory of a connection to an MCP server over HTTP, after a call", folder: "adapters/mcp",
		benchmark: "Memory/connection", without: "Memory/server", metric: memoryMetric, bound: 64 << 10,
		show: kibibytes, allocates: true,
	},
	{
		title: "memory of one more session of that connection", folder: "adapters/mcp",
		benchmark: "Memory/session", metric: memoryMetric, bound: 6 << 10, show: kibibytes, allocates: true,
	},
	{
		title: "memory of a program that is an MCP server, on the side of Hatchel", folder: "adapters/mcp",
		benchmark: "Memory/program", metric: memoryMetric, bound: 160 << 10, show: kibibytes, allocates: true,
	},
	{
		title: "memory of the definitions of 200 tools, for a byte of their file", folder: "adapters/mcp/definition",
		benchmark: "Memory200", metric: "B/byte", bound: 3, show: times, allocates: true,
	},
	{
		title: "what a file of definitions and the checks by it add to the load of 200 tools", folder: "adapters/mcp",
		benchmark: "Load200/pinned", without: "Load200/plain", metric: cpuMetric, bound: 20e6, allocates: true,
	},
	{
		title: "reading a file of definitions of 200 tools of an MCP server", folder: "adapters/mcp/definition",
		benchmark: "Read200", metric: cpuMetric, bound: 20e6, allocates: true,
	},
	{
		title: "the first list of an MCP server with 200 tools, compared with the file", folder: "adapters/mcp/drift",
		benchmark: "CheckOf200/first", metric: "ns/op", bound: 10e6, allocates: true,
	},
	{
		title: "a later list of that server, without a change", folder: "adapters/mcp/drift",
		benchmark: "CheckOf200/again", metric: "ns/op", bound: 10e6, allocates: true,
	},
}

const (
	cpuMetric    = "cpu-ns/op" // of benchtest.ReportCPU
	memoryMetric = "B/each"
)

// addedRow is what one way to watch calls adds to the same call without.
func addedRow(title, name, without string, bound float64, allocates bool) *goRow {
	return &goRow{
		title: title, folder: "runtime", benchmark: "WatchedCall/" + name, without: "WatchedCall/" + without,
		metric: cpuMetric, bound: bound, allocates: allocates,
	}
}

// goFigures are those of one row: the medians of its rounds. The metric of the row may be another one than ns.
type goFigures struct{ ns, floor, allocations float64 }

// measureGo runs the benchmarks of the rows, round after round.
func (b *bench) measureGo(ctx context.Context) error {
	b.watched = map[*goRow]goFigures{}
	rounds, each := 9, "0.4s"
	if b.quick {
		rounds, each = 3, "0.1s"
	}
	ns, allocations, floors := map[*goRow][]float64{}, map[*goRow][]float64{}, map[*goRow][]float64{}
	binaries := map[string]string{}
	for range rounds {
		for _, row := range goRows {
			if binaries[row.folder] == "" {
				binary := filepath.Join(b.folder, strings.ReplaceAll(row.folder, "/", "-")+".test")
				if err := run(ctx, "", io.Discard, "go", "test", "-c", "-o", binary, "./"+row.folder); err != nil {
					return err
				}
				binaries[row.folder] = binary
			}
			with, err := runBenchmark(ctx, binaries[row.folder], row, row.benchmark, each)
			if err != nil {
				return err
			}
			var without goFigures
			if row.without != "" {
				if without, err = runBenchmark(ctx, binaries[row.folder], row, row.without, each); err != nil {
					return err
				}
			}
			if row.floor != "" {
				floor, err := runBenchmark(ctx, binaries[row.folder], row, row.floor, each)
				if err != nil {
					return err
				}
				floors[row] = append(floors[row], floor.ns)
			}
			ns[row] = append(ns[row], with.ns-without.ns)
			allocations[row] = append(allocations[row], with.allocations-without.allocations)
		}
	}
	for _, row := range goRows {
		f := goFigures{ns: median(ns[row]), allocations: median(allocations[row])}
		if row.floor != "" {
			f.floor = median(floors[row])
		}
		b.watched[row] = f
		progress("%s: %v", row.benchmark, b.watched[row])
	}
	return nil
}

// runBenchmark returns the figures of the slowest benchmark that a name selects.
func runBenchmark(ctx context.Context, binary string, row *goRow, name, each string) (slowest goFigures, err error) {
	pattern := "^Benchmark" + strings.ReplaceAll(name, "/", "$/^") + "$"
	var out bytes.Buffer
	err = run(ctx, row.folder, &out, binary, "-test.run", "^$", "-test.bench", pattern, "-test.benchtime", each,
		"-test.benchmem")
	if err != nil {
		return slowest, fmt.Errorf("%w: %.500s", err, out.String())
	}
	found := false
	for line := range strings.Lines(out.String()) {
		if f, ok := parseBenchmark(line, row.metric); ok {
			found = true
			slowest.ns = max(slowest.ns, f.ns)
			slowest.allocations = max(slowest.allocations, f.allocations)
		}
	}
	if !found {
		return slowest, fmt.Errorf("the benchmark %s of %s has no %s: %.300s",
			name, row.folder, row.metric, out.String())
	}
	return slowest, nil
}

// parseBenchmark reads a line that a benchmark prints: its name, how often it ran, then values with their units.
func parseBenchmark(line, metric string) (f goFigures, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
		return f, false
	}
	for i := 2; i+1 < len(fields); i += 2 {
		value, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return f, false
		}
		switch fields[i+1] {
		case metric:
			f.ns, ok = value, true
		case "allocs/op":
			f.allocations = value
		}
	}
	return f, ok
}

func run(ctx context.Context, folder string, out io.Writer, command ...string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, out, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(command, " "), err)
	}
	return nil
}

// write prints the row of the table.
func (row *goRow) write(w io.Writer, f goFigures) {
	show := row.show
	if show == nil {
		show = duration
	}
	bound, figure, result := show(row.bound), show(f.ns), verdict(f.ns, row.bound)
	if f.ns <= 0 {
		figure, result = "less than the noise", "pass"
	}
	if row.floor != "" {
		ratio := over(f.ns, f.floor)
		bound = fmt.Sprintf("%s or ≤ %.2f × %s", bound, row.ratio, row.floorTitle)
		figure = fmt.Sprintf("%s, %s", figure, times(ratio))
		if ratio > 0 && ratio <= row.ratio {
			result = "pass"
		}
	}
	if !row.allocates {
		bound, figure = bound+", 0 allocations", fmt.Sprintf("%s, %.0f", figure, f.allocations)
		if f.allocations >= 1 {
			result = "**miss**"
		}
	}
	fmt.Fprintf(w, "| %s | ≤ %s | %s | %s | – | – |\n", row.title, bound, figure, result)
}

// kibibytes shows bytes.
func kibibytes(n float64) string { return fmt.Sprintf("%.3g KiB", n/(1<<10)) }

// duration shows nanoseconds in the unit of their size.
func duration(ns float64) string {
	switch {
	case ns >= 1e6:
		return fmt.Sprintf("%.3g ms", ns/1e6)
	case ns >= 1000:
		return fmt.Sprintf("%.3g µs", ns/1000)
	}
	return fmt.Sprintf("%.3g ns", ns)
}
