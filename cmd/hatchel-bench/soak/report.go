package soak

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"
)

// Report collects what a run observes. It is safe for concurrent use.
type Report struct {
	mu       sync.Mutex
	events   map[string]int // guarded by mu
	failures map[string]int // by kind; guarded by mu
	details  []string       // of the first three failures of each kind; guarded by mu
	rows     [][2]string    // guarded by mu
}

func newReport() *Report { return &Report{events: map[string]int{}, failures: map[string]int{}} }

func (r *Report) count(event string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events[event]++
}

func (r *Report) fail(kind, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failures[kind]++; r.failures[kind] <= 3 {
		r.details = append(r.details, kind+": "+fmt.Sprintf(format, args...))
	}
}

// add adds a row to the table.
func (r *Report) add(what, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = append(r.rows, [2]string{what, fmt.Sprintf(format, args...)})
}

// Failures returns the details, and for kinds with more than three failures their number.
func (r *Report) Failures() []string {
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

// Write writes a Markdown table of the events and measurements, and a line for each failure.
func (r *Report) Write(w io.Writer) {
	fmt.Fprint(w, "| what | measured |\n|---|---|\n")
	for _, event := range slices.Sorted(maps.Keys(r.events)) {
		fmt.Fprintf(w, "| %s | %d |\n", event, r.events[event])
	}
	for _, row := range r.rows {
		fmt.Fprintf(w, "| %s | %s |\n", row[0], row[1])
	}
	for _, failure := range r.Failures() {
		fmt.Fprintln(w, "FAILURE", failure)
	}
}

// durations is a sample of durations.
type durations []time.Duration

// String shows the median, the 99th percentile and the maximum.
func (d durations) String() string {
	if len(d) == 0 {
		return "–"
	}
	slices.Sort(d)
	quantile := func(q float64) time.Duration {
		return d[min(len(d)-1, int(q*float64(len(d))))].Round(10 * time.Microsecond)
	}
	return fmt.Sprintf("p50 %s, p99 %s, max %s", quantile(0.5), quantile(0.99), quantile(1))
}
