package main

import (
	"fmt"
	"io"
	"slices"
)

// results are everything one run measured.
type results struct {
	Machine string        `json:"machine"`
	Cells   []cell        `json:"cells"`
	Load    *loadFigures  `json:"load,omitempty"`
	Start   *startFigures `json:"start,omitempty"`
}

// The bounds of the rows that are not ratios.
const (
	loadBound   = 500 // ms
	reloadBound = 120 // ms
	memoryBound = 96  // MiB
	startBound  = 30  // ms
)

// write prints the table of the bounds, and below it every figure.
func (r *results) write(w io.Writer) {
	fmt.Fprintf(w, "%s. Ratios are CPU of the server process per call (user + system) against the floor,\n"+
		"at 16 connections (4 for the 1 MB body), in the worse era.\n\n", r.Machine)
	fmt.Fprintln(w, "| work | must reach | hatchel | | SDK | floor, µs |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|")
	for _, row := range callRows {
		r.writeRow(w, row)
		if row.name == "shell" {
			r.writeStartup(w)
		}
	}
	fmt.Fprintln(w, "\n| row | era | connections | target | µs CPU a call | × floor | p50, µs | p99, µs | "+
		"calls a second |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|")
	for _, c := range r.Cells {
		for _, name := range targetNames {
			f, ok := c.Targets[name]
			switch {
			case ok && f.Error != "":
				fmt.Fprintf(w, "| %s | %s | %d | %s | failed: %s |\n", c.Row, c.Era, c.Connections, name, f.Error)
			case ok:
				fmt.Fprintf(w, "| %s | %s | %d | %s | %.1f | %.2f | %.0f | %.0f | %.0f |\n",
					c.Row, c.Era, c.Connections, name, f.CPU, f.Ratio, f.P50, f.P99, f.Calls)
			}
		}
	}
}

func (r *results) writeRow(w io.Writer, row *callRow) {
	var ours, theirs, floor []float64
	failed := false
	for _, c := range r.Cells {
		if c.Row != row.name || c.Connections != row.judged {
			continue
		}
		hatchel, sdk := c.Targets["hatchel"], c.Targets["sdk"]
		failed = failed || hatchel.CPU == 0
		if row.againstSDK {
			hatchel.Ratio, sdk.Ratio = over(hatchel.CPU, sdk.CPU), over(sdk.CPU, sdk.CPU)
		}
		ours, theirs, floor = append(ours, hatchel.Ratio), append(theirs, sdk.Ratio),
			append(floor, c.Targets["floor"].CPU)
	}
	if len(ours) == 0 {
		return
	}
	verdict := "not measured"
	if worst := slices.Max(ours); !failed && worst > 0 {
		verdict = passOrMiss(worst <= row.bound)
	}
	unit := "× floor"
	if row.againstSDK {
		unit = "× SDK"
	}
	fmt.Fprintf(w, "| %s | ≤ %.2f %s | %s | %s | %s | %.1f |\n",
		row.title, row.bound, unit, times(slices.Max(ours)), verdict, timesEach(theirs), slices.Max(floor))
}

func (r *results) writeStartup(w io.Writer) {
	if f := r.Load; f != nil {
		measured, verdict := f.Error, "not measured"
		if f.Error == "" {
			measured = fmt.Sprintf("%.0f ms / %.0f ms / %.0f MiB", f.Cold, f.Reload, f.Memory)
			verdict = passOrMiss(f.Cold <= loadBound) + " / " + passOrMiss(f.Reload <= reloadBound) + " / " +
				passOrMiss(f.Memory <= memoryBound)
		}
		fmt.Fprintf(w, "| 1,000 tool files of 40 lines: load cold / reload after one edit / resident memory "+
			"| ≤ %d ms / ≤ %d ms / ≤ %d MiB | %s | %s | – | – |\n",
			loadBound, reloadBound, memoryBound, measured, verdict)
	}
	if f := r.Start; f != nil {
		measured, verdict := f.Error, "not measured"
		if ms := f.Milliseconds["hatchel"]; ms > 0 {
			measured, verdict = fmt.Sprintf("%.1f ms", ms), passOrMiss(ms <= startBound)
		}
		fmt.Fprintf(w, "| one-tool folder: process start to first answer | ≤ %d ms | %s | %s | %.1f ms | %.1f ms |\n",
			startBound, measured, verdict, f.Milliseconds["sdk"], f.Milliseconds["floor"])
	}
}

func passOrMiss(reached bool) string {
	if reached {
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

// timesEach shows one ratio an era.
func timesEach(ratios []float64) string {
	text := ""
	for i, ratio := range ratios {
		if i > 0 {
			text += ", "
		}
		text += times(ratio)
	}
	return text
}
