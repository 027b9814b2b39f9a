package crowd

import (
	"fmt"
	"io"
	"maps"
	"slices"
)

// LoadReport is what a load showed.
type LoadReport struct {
	Strain Strain

	Made   int               // changes
	Due    int               // notifications, where those of changes at once count once
	Told   int               // notifications
	Idle   int               // notifications after which there was nothing new, where changes did not come at once
	Lost   int               // revisions that a listener did not learn
	Delays map[string]Spread // from a change to the moment in which a listener was told, by kind
	Took   Spread            // from the moment in which a call was due to its reply

	Before, During, After Holdings
	Goroutines            struct{ Before, After int }

	Faults []string
	faults *faults
}

// judge fills the faults: what went wrong on the way, and what is not as it was.
func (r *LoadReport) judge(log string) error {
	found, err := alarms(log)
	if err != nil {
		return err
	}
	for _, said := range found {
		r.faults.add("the server's log", "%s", said)
	}
	if r.Lost > 0 {
		r.faults.add("lost", "%d revisions", r.Lost)
	}
	if r.Idle > 0 {
		r.faults.add("told without need", "%d notifications had nothing new behind them", r.Idle)
	}
	before := r.Before
	if r.Strain.Race {
		before.Memory = r.After.Memory
	}
	if !r.After.within(before) {
		r.faults.add("left behind", "%v before, %v after", r.Before, r.After)
	}
	if r.Goroutines.After > r.Goroutines.Before+slack.Threads {
		r.faults.add("left behind", "%d goroutines before, %d after", r.Goroutines.Before, r.Goroutines.After)
	}
	r.Faults = r.faults.all()
	return nil
}

// Write prints a table, and the faults.
func (r *LoadReport) Write(w io.Writer) {
	row := func(what, format string, args ...any) {
		fmt.Fprintf(w, "| %s | %s |\n", what, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(w, "| what | measured |\n|---|---|\n")
	row("listeners", "%d, half of them in each era, a quarter over a toolset", r.Strain.Listeners)
	row("calls", "%d in %v, %d a second", len(r.Took), r.Strain.For, r.Strain.Rate)
	row("a call, from when it was due", "%v", r.Took)
	row("changes, notifications due, received", "%d, %d, %d", r.Made, r.Due, r.Told)
	for _, kind := range slices.Sorted(maps.Keys(r.Delays)) {
		row("told "+kind, "%v", r.Delays[kind])
	}
	row("lost", "%d", r.Lost)
	row("before", "%v, %d goroutines", r.Before, r.Goroutines.Before)
	row("during", "%v", r.During)
	row("after", "%v, %d goroutines", r.After, r.Goroutines.After)
	for _, said := range r.Faults {
		fmt.Fprintf(w, "FAULT %s\n", said)
	}
}
