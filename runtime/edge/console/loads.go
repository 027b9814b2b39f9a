package console

import (
	"strings"
	"time"

	"hatchel/hcl"
	"hatchel/runtime"
)

// loadData is what the last load came to, and what is served since.
type loadData struct {
	runtime.Readiness
	Last   runtime.Report // of the last load that was tried
	Loaded time.Time
	Loads  []runtime.Load // the last ones, the newest first
	Errors string         // diagnostics of the last load, as the terminal prints them
}

func (c *Console) newLoadData(q *request) *loadData {
	readiness, status := c.Host.Readiness(q.Context())
	return &loadData{
		Readiness: readiness, Last: status.Last, Loaded: status.Loaded, Loads: status.Loads,
		Errors: printDiagnostics(status.Last.Diagnostics, status.Last.Sources),
	}
}

// maxDiagnostics is how many diagnostics a page shows.
const maxDiagnostics = 50

// printDiagnostics returns diagnostics as the terminal prints them.
func printDiagnostics(diags hcl.Diagnostics, sources map[string][]byte) string {
	var out strings.Builder
	diags[:min(len(diags), maxDiagnostics)].Print(&out, sources) // a Builder returns no errors
	if more := len(diags) - maxDiagnostics; more > 0 {
		out.WriteString("\nand " + count(more, "more diagnostic") + ": hatchel validate prints all\n")
	}
	return out.String()
}

// LoadText says in a few words what the last load came to.
func (d *loadData) LoadText() (text string) {
	if len(d.Loads) > 0 {
		text = describeLoad(d.Loads[0], false)
	}
	if errors, warnings := d.Last.Diagnostics.Counts(); errors == 0 && warnings > 0 { // those have the errors
		text += ", " + count(warnings, "warning")
	}
	return text
}

// LastState returns the outcome of the last load, or that the next one waits for its lock.
func (d *loadData) LastState() condition {
	if d.Hold != nil {
		return condition{"warn", "waits for its lock"}
	}
	return loadState(d.Last.Result())
}

// loadState returns what a load came to, with its colour.
func loadState(result string) condition {
	switch result {
	case "ok":
		return condition{"ok", "loaded"}
	case "held":
		return condition{"warn", "held"}
	}
	return condition{"bad", "failed"}
}

// maxLoadText is how many characters the names of one kind of change have in the table of loads.
const maxLoadText = 150

// loadText says what a load has changed, or why it has changed nothing.
func loadText(l runtime.Load) string { return describeLoad(l, true) }

// describeLoad is loadText with or without the names of what has changed.
func describeLoad(l runtime.Load, named bool) string {
	var parts []string
	for _, change := range []struct {
		names []string
		verb  string
	}{{l.Change.Added, "added"}, {l.Change.Removed, "removed"}, {l.Change.Changed, "changed"}} {
		n := len(change.names)
		if n == 0 {
			continue
		}
		part := count(n, "block") + " " + change.verb
		if named {
			part += ": " + shorten(strings.Join(change.names, ", "), maxLoadText)
		}
		parts = append(parts, part)
	}
	if l.Errors > 0 {
		parts = append(parts, count(l.Errors, "error"))
	}
	if l.Differences > 0 {
		parts = append(parts, count(l.Differences, "difference")+" to the lock")
	}
	if len(parts) == 0 {
		return "nothing changed"
	}
	if named {
		return strings.Join(parts, "; ")
	}
	return strings.Join(parts, ", ")
}

// shortRevision returns the beginning of a revision, by which people tell revisions apart.
func shortRevision(revision string) string { return revision[:min(len(revision), 12)] }
