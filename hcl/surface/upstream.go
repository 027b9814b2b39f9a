package surface

import (
	"cmp"
	"slices"
	"strings"

	"hatchel/hcl"
)

// upstreamOf returns what is compared of the reviewed definition of a tool of another MCP server; nil for none.
func upstreamOf(p *hcl.PinnedTool) *Upstream {
	if p == nil {
		return nil
	}
	u := &Upstream{Tool: p.Name, Definition: p.Digest}
	for _, hint := range []struct {
		said    *bool
		safe    bool // the value that promises something
		promise string
		warning string
	}{
		{p.ReadOnly, true, "changes nothing", "changes something"},
		{p.Destructive, false, "loses nothing", "is destructive"},
		{p.Idempotent, true, "is idempotent", "is not idempotent"},
		{p.OpenWorld, false, "reaches declared systems only", "reaches other systems"},
	} {
		switch {
		case hint.said == nil:
		case *hint.said == hint.safe:
			u.Safe = append(u.Safe, hint.promise)
		default:
			u.Warnings = append(u.Warnings, hint.warning)
		}
	}
	return u
}

// upstream compares the definitions of the tools that a step calls. Another tool is reported with the effects.
func (s *stepsComparison) upstream(a, b *Step) {
	was, is := a.Upstream, b.Upstream
	if was == nil || is == nil || was.Tool != is.Tool || was.Definition == is.Definition {
		return
	}
	_, place := s.label(b)
	lost, warned := missing(was.Safe, is.Safe), missing(is.Warnings, was.Warnings)
	switch {
	case len(warned) > 0:
		s.add(Widening, "upstream", place, "the pinned definition of %s now says: %s", is.Tool,
			strings.Join(warned, "; "))
	case len(lost) > 0:
		s.add(Widening, "upstream", place, "the pinned definition of %s no longer says: %s", is.Tool,
			strings.Join(lost, "; "))
	default:
		s.add(Behaviour, "upstream", place, "the pinned definition of %s changed", is.Tool)
	}
}

// upstreamArguments are the arguments of connections to other MCP servers with rules of their own.
var upstreamArguments = []string{
	"asks", "ask_hosts", "roots", "sessions", "on_drift", "protocol", "max_sessions", "idle", "max_message", "start",
	"start_timeout", "refresh",
}

// refreshDefault is how old the list of a server may be without the argument refresh.
const refreshDefault = `"5m"`

// sessionSharing are the values of sessions, from that with which least is shared.
var sessionSharing = []string{`"call"`, `"caller"`, `"shared"`}

// upstreamClass returns the class of a change of an argument of a connection to another MCP server.
func upstreamClass(path, old, new string) Class {
	switch path {
	case "asks", "ask_hosts", "roots":
		return classIf(!grantsLess(old, new))
	case "on_drift":
		return classIf(new == `"compatible"`)
	case "refresh":
		return classIf(!isLower(cmp.Or(old, refreshDefault), cmp.Or(new, refreshDefault)))
	case "sessions":
		shared := func(value string) int { return slices.Index(sessionSharing, cmp.Or(value, `"caller"`)) }
		return classIf(shared(new) < 0 || shared(old) < 0 || shared(new) > shared(old))
	}
	return Behaviour
}
