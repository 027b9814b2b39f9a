package event

import (
	"slices"
	"strconv"

	"hatchel/hcl"
	"hatchel/hcl/eventkind"
)

// Event is an event as a listener gets it. It is valid until the next call of [Listener.Next].
type Event struct {
	Kind   eventkind.Kind
	Data   []byte // one line of JSON: an object
	record record
	epoch  string
	number uint64
}

// AppendID appends what names the place after the event: the value of Query.After.
func (e *Event) AppendID(dst []byte) []byte {
	return strconv.AppendUint(append(append(dst, e.epoch...), '-'), e.number, 10)
}

// Meta returns what the event is about. That of a gap has its kind only.
func (e *Event) Meta() Meta {
	if e.Kind == eventkind.Gap {
		return Meta{Kind: e.Kind}
	}
	return e.record.meta()
}

// Viewer is the caller who listens. Its methods are called by the goroutine of the listener.
type Viewer interface {
	// Owner returns what Meta.Owner is for the calls of the viewer; empty when they cannot be told from
	// those of others. A viewer sees the events of these calls.
	Owner() string
	// Sees reports whether the viewer sees all events about an operation; those about none have empty
	// names. It is called once for each operation and generation.
	Sees(operation, name string) bool
	// Check returns why the viewer may no longer listen, after another configuration is served; nil if it
	// may.
	Check() error
}

// decision is what a viewer sees of an operation in one generation.
type decision struct{ sees, matches bool }

// wants reports whether the listener gets an event.
func (l *Listener) wants(number uint64, r *record) bool {
	q := &l.query
	switch {
	case number <= l.after, r.micros < l.cutoff:
		return false
	case q.Kinds != 0 && !q.Kinds.Has(r.kind):
		return false
	case q.Caller != "" && string(r.subject) != q.Caller:
		return false
	case q.Outcomes != nil && !slices.ContainsFunc(q.Outcomes, func(o string) bool { return o == string(r.outcome) }):
		return false
	}
	own := l.owner != "" && string(r.owner) == l.owner
	if q.Own && !own {
		return false
	}
	d, known := l.decisions[string(r.topic)]
	if !known {
		operation, name := string(r.operation), string(r.name)
		d = decision{l.viewer.Sees(operation, name), q.Tool == "" ||
			operation == "tool" && hcl.MatchesPattern(q.Tool, name)}
		l.decisions[string(r.topic)] = d
	}
	return d.matches && (own || d.sees)
}
