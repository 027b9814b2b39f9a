package runtime

import (
	"errors"
	"fmt"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
)

// largestFrozen is how many bytes it may take to remember a call.
const largestFrozen = 4 << 20

// freeze is what it takes to go on with a call, and its inputs where nobody gives them again.
func (c *call) freeze(input map[string]any) ([]byte, error) {
	m := map[string]any{
		"at":     c.at,
		"spent":  int(c.clock().Milliseconds()),
		"steps":  c.frame.Steps,
		"locals": c.frame.Computed(),
	}
	if input != nil {
		m["input"] = input
	}
	if c.talk != nil && c.talk.done != nil {
		m["done"] = c.talk.done
	}
	if c.consent != nil {
		m["consent"] = c.consent.frozen()
	}
	if c.claim != nil && c.acted(nil) {
		m["deed"] = c.claim.row.Name
	}
	frozen, err := appendFrozen(nil, m)
	if err != nil {
		return nil, &adapters.Fault{Message: "what the steps have given so far cannot be remembered: " + err.Error(), Cause: err}
	}
	if len(frozen) > largestFrozen {
		return nil, &adapters.Fault{Message: fmt.Sprintf("what the steps have given so far, %s, is too much to be remembered; no more than %s can be", hcl.Size(len(frozen)), hcl.Size(largestFrozen))}
	}
	return frozen, nil
}

var errFrozen = errors.New("what was remembered of a call does not fit it")

// thaw undoes freeze, in a call of the same routine.
func (c *call) thaw(frozen []byte) error {
	v, err := thaw(frozen)
	if err == nil && c.routine.attaches {
		v, err = c.reattach(v)
	}
	if err != nil {
		return err
	}
	m, _ := v.(map[string]any)
	at, isNumber := m["at"].(int)
	spent, _ := m["spent"].(int)
	steps, isObject := m["steps"].(map[string]any)
	if !isNumber || !isObject || at < 0 || at > len(c.routine.stages) {
		return errFrozen
	}
	c.at, c.ahead, c.frame.Steps = at, time.Duration(spent)*time.Millisecond, steps
	c.deed, _ = m["deed"].(string)
	if n, ok := m["consent"].(map[string]any); ok {
		c.consent = thawConsent(n)
	}
	if locals, ok := m["locals"].(map[string]any); ok {
		c.frame.Recall(locals)
	}
	if input, ok := m["input"].(map[string]any); ok {
		c.frame.Input = input
	}
	if done, ok := m["done"].(map[string]any); ok && c.talk != nil {
		c.talk.done = done
	}
	return nil
}
