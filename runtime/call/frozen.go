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
	"hatchel/runtime/elicit"
)

// frozenVersion is the latest form of a frozen call that this program writes and reads. A program that reads a form
// reads all of the members that it knows, so a member may be added if a program that does not know it goes on with the
// call correctly; otherwise the version is increased. Calls that were frozen before there were versions have the
// version 0, and the members of version 1 except changes.
const frozenVersion = 2

// frozenCall is what it takes to resume a call. Values are in the form of elicit.AppendFrozen.
type frozenCall struct {
	Version  int             `json:"v"`
	Next     int             `json:"at"`    // the step that is run next
	Spent    int64           `json:"spent"` // milliseconds that the call has run
	Steps    json.RawMessage `json:"steps"` // the outputs of the steps, by name
	Locals   json.RawMessage `json:"locals,omitempty"`
	Input    json.RawMessage `json:"input,omitempty"` // where nobody sends it again
	Done     json.RawMessage `json:"done,omitempty"`  // the answers of the client, by question
	Trace    string          `json:"trace,omitempty"`
	Approval string          `json:"approval,omitempty"` // a frozenApproval, as JSON
	Key      string          `json:"key,omitempty"`      // name of the record of the idempotency key
	Changes  []adapters.Part `json:"changes,omitempty"`

	// Failures has those of the steps that were run. A program of version 1 does not know that the call has failed in
	// part, so a call without failures has version 1.
	Failures *adapters.Failures `json:"failures,omitempty"`
}

// maxFrozenCall is how many bytes a frozen call may have.
const maxFrozenCall = 4 << 20

// freeze returns what it takes to resume the call, with its inputs where nobody sends them again.
func (c *call) freeze(input map[string]any) ([]byte, error) {
	f := frozenCall{
		Version: 1, Next: c.progress.nextStep, Spent: c.elapsed().Milliseconds(),
		Trace: c.action.Traceparent, Changes: c.action.Changes.Parts(), Failures: &c.action.Failures,
	}
	if f.Failures.Failed > 0 {
		f.Version = frozenVersion
	}
	var done map[string]any
	if c.elicitation != nil {
		done = c.elicitation.Done
	}
	if c.approval != nil {
		text, _ := json.Marshal(c.approval.frozenApproval) // texts and times
		f.Approval = string(text)
	}
	if c.reuse.claim.Held() {
		f.Key = c.reuse.claim.Name()
	}
	var frozen bytes.Buffer
	err := errors.Join(
		appendFrozen(&f.Steps, c.frame.Steps), appendFrozen(&f.Locals, c.frame.ComputedLocals()),
		appendFrozen(&f.Input, input), appendFrozen(&f.Done, done),
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

// appendFrozen writes a map as a member; nothing for nil.
func appendFrozen(member *json.RawMessage, m map[string]any) (err error) {
	if m != nil {
		*member, err = elicit.AppendFrozen(nil, m)
	}
	return err
}

var errFrozenCall = errors.New("the frozen call does not belong to the operation")

// thaw makes the call what it was when it was frozen. It must be a call of the same operation. It reserves the memory
// of what it decodes.
func (c *call) thaw(frozen []byte, reserve func(bytes int64) error) error {
	var f frozenCall
	if err := json.Unmarshal(frozen, &f); err != nil {
		return fmt.Errorf("%w: %w", errFrozenCall, err)
	}
	if f.Version > frozenVersion {
		const text = "the call has waited in a form that only a newer version of this server reads (version %d, and " +
			"this one reads up to %d), so it was not continued here. Find out what it has done before calling again"
		return &adapters.Fault{Message: fmt.Sprintf(text, f.Version, frozenVersion)}
	}
	var steps, locals, input, done map[string]any
	var err error
	for _, m := range []struct {
		into   *map[string]any
		member json.RawMessage
	}{{&steps, f.Steps}, {&locals, f.Locals}, {&input, f.Input}, {&done, f.Done}} {
		if err = c.thawMap(m.into, m.member, reserve); err != nil {
			break
		}
	}
	switch {
	case err != nil:
		return err
	case steps == nil || f.Next < 0 || f.Next > len(c.operation.Steps):
		return errFrozenCall
	}
	c.progress.nextStep, c.timing.offset, c.frame.Steps = f.Next, time.Duration(f.Spent)*time.Millisecond, steps
	c.reuse.resumedKey = f.Key
	if f.Trace != "" {
		c.resumeTrace(f.Trace)
	}
	if f.Approval != "" {
		if c.approval, err = thawApproval(f.Approval); err != nil {
			return err
		}
	}
	if locals != nil {
		c.frame.RestoreLocals(locals)
	}
	if input != nil {
		c.frame.Input = input
	}
	if done != nil && c.elicitation != nil {
		c.elicitation.Done = done
	}
	if f.Version == 0 {
		f.Changes = c.changesOfSteps()
	}
	c.action.Changes.Restore(f.Changes)
	if f.Failures != nil {
		c.action.Failures = *f.Failures
	} else {
		c.action.Failures = c.failuresOfSteps()
	}
	return nil
}

// thawMap reads a map that appendFrozen has written; nil for nothing. Its uploaded files are found again.
func (c *call) thawMap(into *map[string]any, member json.RawMessage, reserve func(bytes int64) error) error {
	if member == nil || string(member) == "null" {
		return nil
	}
	v, err := elicit.Thaw(member, reserve)
	if err == nil && c.operation.takesFiles {
		v, err = c.restoreFiles(v)
	}
	if err != nil {
		return err
	}
	m, isMap := v.(map[string]any)
	if !isMap {
		return errFrozenCall
	}
	*into = m
	return nil
}

// failuresOfSteps returns the failures of the steps that have run, as far as they are known from their outputs.
func (c *call) failuresOfSteps() (all adapters.Failures) {
	for _, s := range c.operation.Steps[:c.progress.nextStep] {
		if !s.Decl.ContinueOnError {
			continue
		}
		outputs := []any{c.frame.Steps[s.Decl.Name]}
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

// changesOfSteps returns what the steps that have run have changed, as far as that is known without a record of it.
func (c *call) changesOfSteps() (parts []adapters.Part) {
	for _, s := range c.operation.Steps[:c.progress.nextStep] {
		_, callsTool := s.Action.(*toolCall)
		if (s.writes || callsTool && !s.Decl.Backend.Effects.ReadOnly) && c.frame.Steps[s.Decl.Name] != nil {
			parts = append(parts, adapters.Part{Name: s.part(c.action.Changes), Done: 1})
		}
	}
	return parts
}
