package runtime

import (
	"errors"
	"fmt"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime/elicit"
)

// maxPauseState is how many bytes it may take to remember a call.
const maxPauseState = 4 << 20

// freeze is what it takes to go on with a call, and its inputs where nobody gives them again.
func (c *call) freeze(input map[string]any) ([]byte, error) {
	m := map[string]any{
		"at":     c.nextStep,
		"spent":  int(c.clock().Milliseconds()),
		"steps":  c.frame.Steps,
		"locals": c.frame.ComputedLocals(),
	}
	if input != nil {
		m["input"] = input
	}
	if c.elicitation != nil && c.elicitation.Done != nil {
		m["done"] = c.elicitation.Done
	}
	if c.approval != nil {
		m["consent"] = c.approval.freeze()
	}
	if c.claim != nil && c.mayHaveActed(nil) {
		m["deed"] = c.claim.row.Name
	}
	frozen, err := elicit.AppendFrozen(nil, m)
	if err != nil {
		return nil, &adapters.Fault{Message: "what the steps have given so far cannot be remembered: " + err.Error(), Cause: err}
	}
	if len(frozen) > maxPauseState {
		return nil, &adapters.Fault{Message: fmt.Sprintf("what the steps have given so far, %s, is too much to be remembered; no more than %s can be", hcl.Size(len(frozen)), hcl.Size(maxPauseState))}
	}
	return frozen, nil
}

var errPauseState = errors.New("what was remembered of a call does not fit it")

// thaw undoes freeze, in a call of the same routine.
func (c *call) thaw(frozen []byte) error {
	v, err := elicit.Thaw(frozen)
	if err == nil && c.operation.takesFiles {
		v, err = c.restoreFiles(v)
	}
	if err != nil {
		return err
	}
	m, _ := v.(map[string]any)
	at, isNumber := m["at"].(int)
	spent, _ := m["spent"].(int)
	steps, isObject := m["steps"].(map[string]any)
	if !isNumber || !isObject || at < 0 || at > len(c.operation.steps) {
		return errPauseState
	}
	c.nextStep, c.clockOffset, c.frame.Steps = at, time.Duration(spent)*time.Millisecond, steps
	c.resumedKey, _ = m["deed"].(string)
	if n, ok := m["consent"].(map[string]any); ok {
		c.approval = thawApprovalState(n)
	}
	if locals, ok := m["locals"].(map[string]any); ok {
		c.frame.RestoreLocals(locals)
	}
	if input, ok := m["input"].(map[string]any); ok {
		c.frame.Input = input
	}
	if done, ok := m["done"].(map[string]any); ok && c.elicitation != nil {
		c.elicitation.Done = done
	}
	return nil
}
