package console

import (
	"fmt"
	"strings"

	"hatchel/runtime"
)

// LastState returns the outcome of the last load, or that the next one waits for its lock.
func (o *overviewData) LastState() condition {
	if o.Hold != nil {
		return condition{"warn", "waits for its lock"}
	}
	return loadState(o.Last.Result())
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
func loadText(l runtime.Load) string {
	var parts []string
	for _, change := range []struct {
		names []string
		verb  string
	}{{l.Change.Added, "added"}, {l.Change.Removed, "removed"}, {l.Change.Changed, "changed"}} {
		if n := len(change.names); n > 0 {
			names := shorten(strings.Join(change.names, ", "), maxLoadText)
			parts = append(parts, fmt.Sprintf("%d %s: %s", n, change.verb, names))
		}
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
	return strings.Join(parts, "; ")
}

// shortRevision returns the beginning of a revision, by which people tell revisions apart.
func shortRevision(revision string) string { return revision[:min(len(revision), 12)] }
