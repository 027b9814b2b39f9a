package importer

import (
	"fmt"
	"io"
	"strings"

	"hatchel/cmd/hatchel/console"
	"hatchel/internal/printable"
)

// maxLossesOfName is the number of losses printed for one name; the others are counted.
const maxLossesOfName = 10

// Print prints the report for a person. dir is the directory as the user gave it.
func (r *Report) Print(w io.Writer, dir string, dryRun bool) {
	wrote := "Wrote"
	if dryRun {
		wrote = "Would write"
	}
	var counts []string
	for _, s := range []State{Added, Replaced, Renamed, Unchanged, Kept, Removed, Conflict, Gone, Foreign} {
		if n := r.Count(s); n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, s))
		}
	}
	blocks := "no blocks"
	if counts != nil {
		blocks = "blocks: " + strings.Join(counts, ", ")
	}
	fmt.Fprintf(w, "%s: %s; %s.\n", r.Source, console.Plural(r.Tools(), "tool"), blocks)
	if len(r.Files) > 0 {
		fmt.Fprintf(w, "%s in %s: %s\n", wrote, dir, strings.Join(r.Files, ", "))
	}
	for _, e := range r.Entries {
		if e.State == Renamed {
			const text = "  %s in %s: was %s; adapt the toolsets, policies, tests and calls that name it\n"
			fmt.Fprintf(w, text, e.Block, e.File, e.Before)
		}
		if note := stateNotes[e.State]; note != "" {
			fmt.Fprintf(w, "  %s in %s: %s\n", e.Block, e.File, note)
		}
	}
	r.printLosses(w)
	for _, note := range r.Notes {
		fmt.Fprintln(w, printable.Reveal(note, ""))
	}
	for _, name := range r.Exports {
		fmt.Fprintf(w, "Set the environment variable %s before you load the directory.\n", name)
	}
}

var stateNotes = map[State]string{
	Kept:     "you changed it and the source did not; kept",
	Removed:  "you removed it; not written again",
	Conflict: "you and the source changed it; your block is kept, and the new block is in a file with the suffix .new",
	Gone:     "the source or the selection does not contain it any longer; kept",
	Foreign:  "another block has this name; it is kept",
}

func (r *Report) printLosses(w io.Writer) {
	if len(r.Losses) == 0 {
		return
	}
	kinds, count := r.kinds()
	for i, k := range kinds {
		kinds[i] = fmt.Sprintf("%d × %s", count[k], k)
	}
	fmt.Fprintf(w, "Not mapped, or mapped with a change: %s\n", strings.Join(kinds, ", "))
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
		fmt.Fprintln(w, printable.Reveal(line, ""))
	}
	for _, l := range r.Losses {
		if more := printed[l.Name] - maxLossesOfName; more > 0 {
			fmt.Fprintf(w, "  %s: %d more, listed with --json\n", printable.Reveal(l.Name, ""), more)
			printed[l.Name] = 0
		}
	}
}
