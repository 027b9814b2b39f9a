package importer

import (
	"fmt"
	"io"
	"strings"
)

// maxLossesOfName is the number of losses printed for one name; the others are counted.
const maxLossesOfName = 10

// Print prints the report for a person. dir is the directory as the user gave it.
func (r *Report) Print(w io.Writer, dir string, dryRun bool) {
	wrote := "Wrote"
	if dryRun {
		wrote = "Would write"
	}
	counts := []string{plural(r.Tools(), "tool")}
	for _, s := range []State{Added, Replaced, Unchanged, Kept, Removed, Conflict, Gone, Foreign} {
		if n := r.Count(s); n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, s))
		}
	}
	fmt.Fprintf(w, "%s: %s; blocks: %s.\n", r.Source, counts[0], strings.Join(counts[1:], ", "))
	if len(r.Files) > 0 {
		fmt.Fprintf(w, "%s in %s: %s\n", wrote, dir, strings.Join(r.Files, ", "))
	}
	for _, e := range r.Entries {
		if note := stateNotes[e.State]; note != "" {
			fmt.Fprintf(w, "  %s in %s: %s\n", e.Block, e.File, note)
		}
	}
	r.printLosses(w)
	for _, name := range r.Exports {
		fmt.Fprintf(w, "Set the environment variable %s before you load the directory.\n", name)
	}
}

var stateNotes = map[State]string{
	Kept:     "you have changed it and the source has not; kept",
	Removed:  "you have removed it; not written again",
	Conflict: "you and the source have changed it; yours is kept, and the new one is in the file with the suffix .new",
	Gone:     "the source or the selection has it no more; kept",
	Foreign:  "a block of this name exists and was not imported; kept",
}

func (r *Report) printLosses(w io.Writer) {
	if len(r.Losses) == 0 {
		return
	}
	kinds, count := r.kinds()
	for i, k := range kinds {
		kinds[i] = fmt.Sprintf("%d × %s", count[k], k)
	}
	fmt.Fprintf(w, "Not mapped or changed: %s\n", strings.Join(kinds, ", "))
	printed := map[string]int{}
	for _, l := range r.Losses {
		if printed[l.Name]++; printed[l.Name] > maxLossesOfName {
			continue
		}
		line := "  " + l.Name + ": " + l.Kind
		if l.Detail != "" {
			line += ": " + l.Detail
		}
		if l.Origin != "" {
			line += " (" + l.Origin + ")"
		}
		fmt.Fprintln(w, Printable(line))
	}
	for _, l := range r.Losses {
		if more := printed[l.Name] - maxLossesOfName; more > 0 {
			fmt.Fprintf(w, "  %s: %d more, listed with --json\n", Printable(l.Name), more)
			printed[l.Name] = 0
		}
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
