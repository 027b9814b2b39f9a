package soak

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"
)

// Durations is a sample of durations. Its methods sort it.
type Durations []time.Duration

// Quantile returns the duration that the share q of all does not exceed; 0 for an empty sample.
func (d Durations) Quantile(q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return d[min(len(d)-1, int(q*float64(len(d))))]
}

// String shows the median, the 99th percentile and the maximum.
func (d Durations) String() string {
	if len(d) == 0 {
		return "–"
	}
	round := func(q float64) time.Duration {
		v := d.Quantile(q)
		if v < 10*time.Millisecond {
			return v.Round(10 * time.Microsecond)
		}
		return v.Round(time.Millisecond)
	}
	return fmt.Sprintf("p50 %s, p99 %s, max %s", round(0.5), round(0.99), round(1))
}

// record counts events and failures by kind. It is safe for concurrent use.
type record struct {
	mu       sync.Mutex
	events   map[string]int // guarded by mu
	failures map[string]int // guarded by mu
	details  []string       // of the first three failures of each kind; guarded by mu
}

func newRecord() *record { return &record{events: map[string]int{}, failures: map[string]int{}} }

func (r *record) count(event string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events[event]++
}

func (r *record) fail(kind, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failures[kind]++; r.failures[kind] <= 3 {
		r.details = append(r.details, kind+": "+fmt.Sprintf(format, args...))
	}
}

func (r *record) counts() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.events)
}

// allFailures returns the details, and for kinds with more than three failures their number.
func (r *record) allFailures() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := slices.Clone(r.details)
	for _, kind := range slices.Sorted(maps.Keys(r.failures)) {
		if n := r.failures[kind]; n > 3 {
			all = append(all, fmt.Sprintf("%s: %d times", kind, n))
		}
	}
	return all
}

// table writes a Markdown table of measurements, and a line for each failure.
func table(w io.Writer, rows [][2]string, failures []string) {
	fmt.Fprint(w, "| what | measured |\n|---|---|\n")
	for _, row := range rows {
		fmt.Fprintf(w, "| %s | %s |\n", row[0], row[1])
	}
	for _, failure := range failures {
		fmt.Fprintln(w, "FAILURE", failure)
	}
}
