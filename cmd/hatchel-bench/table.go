package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
)

// The bounds of the rows that are not ratios.
const (
	loadBound      = 500 // ms
	reloadBound    = 120 // ms
	parsingBound   = 1.8 // × hclsyntax.ParseConfig
	anonymousBound = 80  // MiB
	residentBound  = 100 // MiB
	memoryBound    = 96  // MiB
	restedBound    = 75  // MiB
	startBound     = 30  // ms
	ratioBound     = 1.3 // × floor
	versionBound   = 10  // ms
	readyBound     = 1.1 // × with servers that answer
)

// write prints the table of the bounds, and below it every figure.
func (b *bench) write(w io.Writer) {
	fmt.Fprintf(w, "%s, %s/%s, %d cores. Ratios are CPU of the server process per call (user + system) "+
		"against the floor,\n"+
		"at 16 connections (4 for the 1 MB body), in the worse era.\n\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	fmt.Fprintln(w, "| work | must reach | hatchel | | SDK | floor, µs |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|")
	for _, row := range callRows {
		b.writeRow(w, row)
		b.writeDelay(w, row)
		if row.name == "shell" {
			b.writeStartup(w)
		}
	}
	for _, row := range goRows {
		if f, measured := b.watched[row]; measured {
			row.write(w, f)
		}
	}
	fmt.Fprintln(w, "\n| row | era | connections | target | µs CPU a call | × floor | p50, µs | p99, µs | "+
		"calls a second |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|")
	for _, c := range b.cells {
		for _, name := range append(slices.Clone(targetNames), direct) {
			if f, ok := c.targets[name]; ok {
				fmt.Fprintf(w, "| %s | %s | %d | %s | %.1f | %.2f | %.0f | %.0f | %.0f |\n",
					c.row.name, c.era, c.connections, name, f.cpu, f.ratio, f.p50, f.p99, f.calls)
			}
		}
	}
}

func (b *bench) writeRow(w io.Writer, row *callRow) {
	var ours, toSDK, cpu, floor []float64
	var theirs []string
	unit := "× floor"
	for _, c := range b.cells {
		if c.row != row || c.connections != row.judged {
			continue
		}
		hatchel, sdk := c.targets["hatchel"], c.targets["sdk"]
		toSDK, cpu = append(toSDK, over(hatchel.cpu, sdk.cpu)), append(cpu, hatchel.cpu)
		switch {
		case row.againstSDK:
			unit = "× SDK"
			hatchel.ratio, sdk.ratio = over(hatchel.cpu, sdk.cpu), over(sdk.cpu, sdk.cpu)
		case row.against != "":
			unit = "× row `" + row.against + "`"
			hatchel.ratio = over(hatchel.cpu, b.hatchelCPU(row.against, c.era))
		}
		ours, floor = append(ours, hatchel.ratio), append(floor, c.targets["floor"].cpu)
		theirs = append(theirs, times(sdk.ratio))
	}
	if len(ours) == 0 {
		return
	}
	var bounds, found, verdicts []string
	judge := func(figures []float64, bound float64, unit string, show func(float64) string) {
		if bound == 0 {
			return
		}
		judged := slices.Max(figures)
		if slices.Min(figures) == 0 {
			judged = 0 // an era was not measured
		}
		bounds = append(bounds, fmt.Sprintf("≤ %s %s", shortest(bound), unit))
		found = append(found, show(slices.Max(figures)))
		verdicts = append(verdicts, verdict(judged, bound))
	}
	judge(ours, row.bound, unit, times)
	judge(toSDK, row.sdkBound, "× SDK", times)
	judge(cpu, row.cpuBound, "µs", func(us float64) string { return fmt.Sprintf("%.0f µs", us) })
	fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %.1f |\n", row.title, strings.Join(bounds, ", "),
		strings.Join(found, ", "), strings.Join(verdicts, " / "), strings.Join(theirs, ", "), slices.Max(floor))
}

// The bounds of the latency that Hatchel adds to a call of an MCP server, in µs.
const (
	delayBound     = 500  // median
	longDelayBound = 3000 // 99th percentile
)

// writeDelay prints what a row with delays adds to the latency of a call, when one is in flight, in the worse era.
func (b *bench) writeDelay(w io.Writer, row *callRow) {
	var p50, p99 float64
	for _, c := range b.cells {
		without, measured := c.targets[direct]
		if with, ok := c.targets["hatchel"]; ok && measured && c.row == row && c.connections == 1 {
			p50, p99 = max(p50, with.p50-without.p50), max(p99, with.p99-without.p99)
		}
	}
	if p50 > 0 {
		fmt.Fprintf(w, "| what Hatchel adds to the latency of that call, one at a time: median / 99th percentile "+
			"| ≤ %d / ≤ %d µs | %.0f / %.0f µs | %s / %s | – | – |\n",
			delayBound, longDelayBound, p50, p99, verdict(p50, delayBound), verdict(p99, longDelayBound))
	}
}

// shortest writes a bound with two decimals, or with none from 100 on.
func shortest(bound float64) string {
	if bound >= 100 {
		return fmt.Sprintf("%.0f", bound)
	}
	return fmt.Sprintf("%.2f", bound)
}

// hatchelCPU returns the figure of Hatchel in another row, at the connections that are judged; 0 if it was not
// measured.
func (b *bench) hatchelCPU(row string, e era) float64 {
	for _, c := range b.cells {
		if c.row.name == row && c.era == e && c.connections == c.row.judged {
			return c.targets["hatchel"].cpu
		}
	}
	return 0
}

func (b *bench) writeStartup(w io.Writer) {
	if f := b.loading; f != nil {
		fmt.Fprintf(w, "| 1,000 tool files of 40 lines: load cold / reload after one edit / resident memory "+
			"| ≤ %d ms / ≤ %d ms / ≤ %d MiB | %.0f ms / %.0f ms / %.0f MiB | %s / %s / %s | – | – |\n",
			loadBound, reloadBound, memoryBound, f.cold, f.reload, f.memory,
			verdict(f.cold, loadBound), verdict(f.reload, reloadBound), verdict(f.memory, memoryBound))
		fmt.Fprintf(w, "| their cold load, CPU (floor: `hclsyntax.ParseConfig` of the same files) "+
			"| ≤ %.2f × floor | %s | %s | – | – |\n",
			parsingBound, times(f.parsing), verdict(f.parsing, parsingBound))
		fmt.Fprintf(w, "| after that load: anonymous at once / resident at once / resident after 30 s "+
			"| ≤ %d / ≤ %d / ≤ %d MiB | %.0f / %.0f / %.0f MiB | %s / %s / %s | – | – |\n",
			anonymousBound, residentBound, restedBound, f.anonymous, f.resident, f.rested,
			verdict(f.anonymous, anonymousBound), verdict(f.resident, residentBound), verdict(f.rested, restedBound))
	}
	if f := b.startup; f != nil {
		ms := f.firstAnswer
		fmt.Fprintf(w, "| one-tool folder: process start to first answer (floor: a bare server) "+
			"| ≤ %d ms, ≤ %.2f × floor | %.1f ms, %s | %s / %s | %.1f ms | %.1f ms |\n",
			startBound, ratioBound, ms["hatchel"], times(f.ratio), verdict(ms["hatchel"], startBound),
			verdict(f.ratio, ratioBound), ms["sdk"], ms["floor"])
		fmt.Fprintf(w, "| `hatchel version`, CPU | ≤ %d ms | %.1f ms | %s | – | – |\n",
			versionBound, f.version, verdict(f.version, versionBound))
		fmt.Fprintf(w, "| process start to ready, with %d MCP servers that do not answer (floor: that answer) "+
			"| ≤ %.2f × floor | %s, %.1f ms | %s | – | – |\n",
			upstreamServers, readyBound, times(f.readyRatio), f.ready, verdict(f.readyRatio, readyBound))
	}
}

// verdict judges a figure, which is 0 when it was not measured.
func verdict(figure, bound float64) string {
	switch {
	case figure == 0:
		return "not measured"
	case figure <= bound:
		return "pass"
	}
	return "**miss**"
}

func over(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

func times(ratio float64) string {
	if ratio == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f ×", ratio)
}
