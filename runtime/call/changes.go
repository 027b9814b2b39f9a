package call

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hatchel/adapters"
	"hatchel/runtime/stage/failure"
)

// failureAfter returns how a call has failed, nil for no error, that has made these changes. Its message says what is
// true of all that the call has done: of its steps, their elements and attempts, and the tools that they call. First is
// set if no step has run before the one that has failed. It must be the last failure of the call.
func failureAfter(err error, changes []adapters.Part, first bool) *failure.Failure {
	f := failure.Of(err)
	if f == nil || f.Protocol != nil {
		return f
	}
	done := doneClause(changes)
	switch {
	case done != "":
		f.Advice, f.RetryAfter = "", 0
	case f.Unchanged == adapters.NothingSent && !first:
		done = adapters.NothingChanged
	default:
		done = f.Unchanged
	}
	f.Message, f.Advice = strings.TrimSpace(adapters.JoinFailure(f.Message, done, f.Advice)), ""
	return f
}

// doneClause returns what a failed call has done, and may have done; empty for nothing that its message does not say.
func doneClause(parts []adapters.Part) string {
	var done, unknown []string
	for _, p := range parts {
		switch {
		case p.Done > 1:
			done = append(done, fmt.Sprintf("%s (%d times)", p.Name, p.Done))
		case p.Done == 1:
			done = append(done, p.Name)
		}
		if p.Unknown > 0 {
			unknown = append(unknown, p.Name)
		}
	}
	var clauses []string
	if len(done) > 0 {
		verb := " was carried out and is not undone"
		if len(done) > 1 {
			verb = " were carried out and are not undone"
		}
		clauses = append(clauses, joinNames(done, "and")+verb)
	}
	if len(unknown) > 0 {
		clauses = append(clauses, "it is not known whether "+joinNames(unknown, "or")+
			" took effect, so check before calling again")
	}
	return strings.Join(clauses, "; ")
}

// joinNames returns names as part of a sentence.
func joinNames(names []string, word string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " " + word + " " + names[last]
}

// setNames sets what the step is in what a failed call says: in a call of its tool, and in one that calls its tool.
func (s *Step) setNames() {
	s.name, s.nestedName = "the call", fmt.Sprintf("the tool %q", s.operation.Decl.Name)
	if s.Decl.Name != "" {
		s.name = fmt.Sprintf("the step %q", s.Decl.Name)
		s.nestedName = s.name + " of " + s.nestedName
	}
}

// part returns the name of the step in what a failed call says.
func (s *Step) part(changes *adapters.Changes) string {
	if changes.Tool == s.operation.Decl.Name {
		return s.name
	}
	return s.nestedName
}

// doRecorded is doChecked with a record of what it changes, if the step may change anything. A panic leaves it unknown.
func (s *Step) doRecorded(call *adapters.Call) (any, error) {
	if !s.writes || call.Changes == nil {
		output, _, err := s.doChecked(call)
		return output, err
	}
	part, resumes := s.part(call.Changes), resumesIn(call)
	if !resumes { // otherwise it began before the call has paused
		call.Changes.Begin(part)
	}
	output, change, err := s.doChecked(call)
	if resumes && change == adapters.ChangeUnsent {
		change = adapters.ChangeUnknown // of what was sent before
	}
	call.Changes.End(part, change)
	return output, err
}

// mayHaveActed reports whether a call with these changes may have had an effect, or has begun one that it has undone.
func mayHaveActed(changes *adapters.Changes) bool {
	return len(changes.Parts()) > 0 || changes.HasUndone()
}

// mayRepeat reports whether a failed call, which may have begun something, has changed nothing and can be made again
// with the same key.
func mayRepeat(err error, failed *failure.Failure, changes *adapters.Changes) bool {
	if len(changes.Parts()) > 0 {
		return false
	}
	return failed.Retryable || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
