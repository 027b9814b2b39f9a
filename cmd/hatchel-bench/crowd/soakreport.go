package crowd

import (
	"fmt"
	"io"
	"maps"
	"slices"
)

// Write prints what happened how often, what was held, and the faults.
func (r *SoakReport) Write(w io.Writer) {
	fmt.Fprintf(w, "| what | times |\n|---|---|\n")
	for _, what := range slices.Sorted(maps.Keys(r.Done)) {
		fmt.Fprintf(w, "| %s | %d |\n", what, r.Done[what])
	}
	fmt.Fprintf(w, "\n| life of the server | held at rest |\n|---|---|\n")
	for _, rest := range r.Rests {
		fmt.Fprintf(w, "| %d | %v", rest.Life, rest.Held)
		if rest.Goroutines > 0 {
			fmt.Fprintf(w, ", %d goroutines", rest.Goroutines)
		}
		fmt.Fprintln(w, " |")
	}
	for _, said := range r.Faults {
		fmt.Fprintf(w, "FAULT %s\n", said)
	}
}
