package adapters

import (
	"slices"
	"strings"
)

// Upstream is a connection to a server whose definitions the configuration pins. No load and no check of readiness
// waits for such a server: its state is what the connection knows already.
type Upstream interface {
	// UpstreamState returns what is known of the server. It sends nothing, waits for nothing, and may be called
	// concurrently.
	UpstreamState() UpstreamState
	// Watch is called when the connection begins to be served: from then on it may ask the server without a call. It
	// does not block.
	Watch()
}

// States of an upstream server.
const (
	UpstreamReady    = "ready"    // a session was opened, and what it lists is as reviewed
	UpstreamStarting = "starting" // no session was opened yet, or the next one is being opened
	UpstreamFailed   = "failed"   // no session can be opened
	UpstreamDrifted  = "drifted"  // a definition that blocks use is not as reviewed, and its tools are withdrawn
)

// UpstreamState is what is known of an upstream server, for people who operate the server. It has no token that
// the connection has fetched; a server may have repeated a secret of the configuration.
type UpstreamState struct {
	State    string
	Failure  string // why no session can be opened; empty if one can
	Protocol string // revision of the latest session; empty before the first one
	Sessions int    // that are open, or processes that run
	Restarts int    // of programs since the connection was opened, of those that ended by themselves
	Unused   int    // tools that the server lists and no block uses
	Drift    []Drift
}

// Scrubbed returns the state with what a function returns for each text of the server, such as one without secrets.
func (s UpstreamState) Scrubbed(scrub func(string) string) UpstreamState {
	s.Failure = scrub(s.Failure)
	s.Drift = slices.Clone(s.Drift)
	for i := range s.Drift {
		s.Drift[i] = s.Drift[i].Scrubbed(scrub)
	}
	return s
}

// Drift is a definition that blocks use and that is not as reviewed.
type Drift struct {
	Name string // of the upstream tool
	// Changed are the differences in words, such as "description" and `input "assignee" added`; for a definition that
	// cannot be compared, one of DriftMissing and DriftRepeated.
	Changed []string
	Served  bool // on_drift accepts the differences
	// Pinned and Found are the reviewed definition and the one of the server, for people: a line for each member, and
	// schemas on several lines. Found is empty if the server does not list it.
	Pinned, Found string
}

// What is wrong with a definition that cannot be compared.
const (
	DriftMissing  = "missing"
	DriftRepeated = "listed more than once"
)

// String returns the drift as a person reads it, such as `create_issue has changed: description`.
func (d Drift) String() string {
	switch {
	case len(d.Changed) == 1 && d.Changed[0] == DriftMissing:
		return d.Name + " is missing"
	case len(d.Changed) == 1 && d.Changed[0] == DriftRepeated:
		return d.Name + " is listed more than once"
	}
	return d.Name + " has changed: " + strings.Join(d.Changed, "; ")
}

// Scrubbed returns the drift with what a function returns for each text of the server.
func (d Drift) Scrubbed(scrub func(string) string) Drift {
	changed := make([]string, len(d.Changed))
	for i, text := range d.Changed {
		changed[i] = scrub(text)
	}
	d.Changed, d.Found = changed, scrub(d.Found)
	return d
}

// ReviewCommand returns the command that shows what differs at the server of a connection.
func ReviewCommand(connection string) string {
	return "hatchel import mcp " + connection + " --update --dry-run"
}

// Withdrawable is an Action of an upstream tool. Withdrawn returns the failure of its calls while it is known that the
// tool is not as reviewed; nil otherwise. It sends nothing. A result that was kept is not delivered while it fails.
type Withdrawable interface {
	Withdrawn() *Fault
}
