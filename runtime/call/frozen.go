package call

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
	"hatchel/runtime/stage/elicit"
	"hatchel/runtime/stage/opencall"
)

// frozenVersion is the latest form of a frozen call that this program writes and reads. A program that reads a form
// reads all of the members that it knows, so a member may be added if a program that does not know it goes on with the
// call correctly; otherwise the version is increased. Calls that were frozen before there were versions have the
// version 0, and the members of version 1 except changes.
const frozenVersion = 4

// frozenCall is the stored form of a pausedCall. Values are in the form of elicit.AppendFrozen.
type frozenCall struct {
	Version  int             `json:"v"`
	Next     int             `json:"at"`
	Spent    int64           `json:"spent"` // in milliseconds
	Steps    json.RawMessage `json:"steps"`
	Locals   json.RawMessage `json:"locals,omitempty"`
	Input    json.RawMessage `json:"input,omitempty"`
	Done     json.RawMessage `json:"done,omitempty"`
	Trace    string          `json:"trace,omitempty"`
	Approval string          `json:"approval,omitempty"` // a frozenApproval, as JSON
	Key      string          `json:"key,omitempty"`
	Changes  []adapters.Part `json:"changes,omitempty"`

	// Failures has those of the steps that were run. A program of version 1 does not know that the call has failed in
	// part, so a call without failures has version 1.
	Failures *adapters.Failures `json:"failures,omitempty"`

	// Asking is what the backend of the next step asks. A program of version 2 would call the backend again, so a call
	// of which a backend asks has version 3.
	Asking *frozenAsking `json:"asking,omitempty"`

	// Lifted are the masks that showed the caller values. A program of version 3 would go on for a caller who may not
	// see these any more, so a call with some has version 4.
	Lifted []string `json:"lifted,omitempty"`
}

// frozenAsking is the stored form of asking.
type frozenAsking struct {
	Questions json.RawMessage `json:"questions"`
	Resume    []byte          `json:"resume,omitempty"`
	Open      *opencall.Ref   `json:"open,omitempty"`
}

// pausedCall is what it takes to resume a call.
type pausedCall struct {
	next     int           // the step that is run next
	spent    time.Duration // that the call has run
	steps    map[string]any
	locals   map[string]any
	input    map[string]any  // nil where somebody sends it again
	done     map[string]any  // the answers of the client, by question
	trace    string          // traceparent
	approval *frozenApproval // nil for none
	key      string          // name of the record of the idempotency key
	changes  []adapters.Part
	failures adapters.Failures // of the steps that were run
	asking   *asking           // nil for nothing
	lifted   []string          // the masks that showed the caller values

	unknownChanges, unknownFailures bool // the program that has frozen the call did not record them
}

// maxFrozenCall is how many bytes a frozen call may have.
const maxFrozenCall = 4 << 20

// freeze returns the stored form of the call.
func (p *pausedCall) freeze() ([]byte, error) {
	f := frozenCall{
		Version: 1, Next: p.next, Spent: p.spent.Milliseconds(), Trace: p.trace, Key: p.key, Changes: p.changes,
		Failures: &p.failures,
	}
	if f.Failures.Failed > 0 {
		f.Version = 2
	}
	err := p.freezeAsking(&f)
	if f.Lifted = p.lifted; len(f.Lifted) > 0 {
		f.Version = frozenVersion
	}
	if p.approval != nil {
		text, _ := json.Marshal(p.approval) // texts and times
		f.Approval = string(text)
	}
	var frozen bytes.Buffer
	err = errors.Join(
		err, appendFrozen(&f.Steps, p.steps), appendFrozen(&f.Locals, p.locals), appendFrozen(&f.Input, p.input),
		appendFrozen(&f.Done, p.done),
	)
	if err == nil {
		encoder := json.NewEncoder(&frozen)
		encoder.SetEscapeHTML(false)
		err = encoder.Encode(&f)
	}
	if err != nil {
		text := "the outputs of the steps so far cannot be stored: " + err.Error()
		return nil, &adapters.Fault{Message: text, Cause: err}
	}
	if frozen.Len() > maxFrozenCall {
		const text = "the outputs of the steps so far, %s, are too large to be stored; the limit is %s"
		return nil, &adapters.Fault{Message: fmt.Sprintf(text, hcl.Size(frozen.Len()), hcl.Size(maxFrozenCall))}
	}
	return frozen.Bytes(), nil
}

// freezeAsking writes what the backend of the next step asks, if it asks.
func (p *pausedCall) freezeAsking(f *frozenCall) (err error) {
	a := p.asking
	if a == nil {
		return nil
	}
	f.Version, f.Asking = 3, &frozenAsking{Resume: a.resume}
	if a.open != (opencall.Ref{}) {
		f.Asking.Open = &a.open
	}
	f.Asking.Questions, err = elicit.FreezeQuestions(a.questions)
	return err
}

// thaw returns what the backend of the next step asks; nil for nothing.
func (f *frozenAsking) thaw() (*asking, error) {
	if f == nil {
		return nil, nil
	}
	a := &asking{resume: f.Resume}
	if f.Open != nil {
		a.open = *f.Open
	}
	var err error
	a.questions, err = elicit.ThawQuestions(f.Questions)
	return a, err
}

// appendFrozen writes a map as a member; nothing for nil.
func appendFrozen(member *json.RawMessage, m map[string]any) (err error) {
	if m != nil {
		*member, err = elicit.AppendFrozen(nil, m)
	}
	return err
}

var errFrozenCall = errors.New("the frozen call does not belong to the operation")

// thaw reads the stored form of a call with so many steps. It reserves the memory of what it decodes.
func thaw(frozen []byte, steps int, reserve func(bytes int64) error) (p pausedCall, err error) {
	var f frozenCall
	if err := json.Unmarshal(frozen, &f); err != nil {
		return p, fmt.Errorf("%w: %w", errFrozenCall, err)
	}
	if f.Version > frozenVersion {
		const text = "the call has waited in a form that only a newer version of this server reads (version %d, and " +
			"this one reads up to %d), so it was not continued here. Find out what it has done before calling again"
		return p, &adapters.Fault{Message: fmt.Sprintf(text, f.Version, frozenVersion)}
	}
	p = pausedCall{
		next: f.Next, spent: time.Duration(f.Spent) * time.Millisecond, trace: f.Trace, key: f.Key, changes: f.Changes,
		lifted:         f.Lifted,
		unknownChanges: f.Version == 0, unknownFailures: f.Failures == nil,
	}
	for _, m := range []struct {
		into   *map[string]any
		member json.RawMessage
	}{{&p.steps, f.Steps}, {&p.locals, f.Locals}, {&p.input, f.Input}, {&p.done, f.Done}} {
		if *m.into, err = thawMap(m.member, reserve); err != nil {
			return p, err
		}
	}
	if p.steps == nil || f.Next < 0 || f.Next > steps {
		return p, errFrozenCall
	}
	if f.Approval != "" {
		p.approval = new(frozenApproval)
		if json.Unmarshal([]byte(f.Approval), p.approval) != nil {
			return p, errFrozenCall
		}
	}
	if f.Failures != nil {
		p.failures = *f.Failures
	}
	if p.asking, err = f.Asking.thaw(); err != nil || p.asking != nil && f.Next == steps {
		return p, errors.Join(errFrozenCall, err)
	}
	return p, nil
}

// thawMap reads a map that appendFrozen has written; nil for nothing.
func thawMap(member json.RawMessage, reserve func(bytes int64) error) (map[string]any, error) {
	if member == nil || string(member) == "null" {
		return nil, nil
	}
	v, err := elicit.Thaw(member, reserve)
	if err != nil {
		return nil, err
	}
	m, isMap := v.(map[string]any)
	if !isMap {
		return nil, errFrozenCall
	}
	return m, nil
}

// failuresOf returns the failures of steps that have run, as far as they are known from their outputs.
func failuresOf(steps []*Step, found map[string]any) (all adapters.Failures) {
	for _, s := range steps {
		if !s.Decl.ContinueOnError {
			continue
		}
		outputs := []any{found[s.Decl.Name]}
		switch out := outputs[0].(type) {
		case []any:
			outputs = out
		case map[string]any:
			if s.Decl.Each != nil {
				outputs = outputs[:0]
				for _, name := range value.Keys(out) {
					outputs = append(outputs, out[name])
				}
			}
		}
		for _, out := range outputs {
			if out == nil { // it was skipped
				continue
			}
			one := adapters.Failures{Of: 1, Step: s.Decl.Name}
			m, _ := out.(map[string]any)
			if failed, ok := m["error"].(map[string]any); ok {
				one.Failed = 1
				one.Error, _ = failed["message"].(string)
				if m["key"] != nil {
					one.Key = fmt.Sprint(m["key"])
				}
			}
			all.Add(one)
		}
	}
	return all
}

// changesOf returns what steps that have run have changed in a call of a tool, as far as that is known without a record
// of it.
func changesOf(steps []*Step, found map[string]any, of *adapters.Changes) (parts []adapters.Part) {
	for _, s := range steps {
		_, callsTool := s.Action.(*toolCall)
		if (s.writes || callsTool && !s.Decl.Backend.Effects.ReadOnly) && found[s.Decl.Name] != nil {
			parts = append(parts, adapters.Part{Name: s.part(of), Done: 1})
		}
	}
	return parts
}
