package runtime

import (
	"strings"

	"hatchel/hcl/schema"
	"hatchel/runtime/failure"
	"hatchel/runtime/result"
)

// inputs are the arguments of a call: as they came, as another tool computed them, or as texts.
type inputs struct {
	raw    []byte
	values map[string]any
	texts  map[string]string
	wrong  error // why they could not be read; nil when they could
}

// validate reads the arguments. Everything that is wrong with them is reported at once.
func (r *operation) validate(c *call, in inputs) error {
	if in.wrong != nil {
		return in.wrong
	}
	var violations []schema.Violation
	switch {
	case in.texts != nil:
		c.frame.Input, violations = r.decl.ParseTexts(in.texts)
	case in.values == nil:
		c.frame.Input, violations = r.decl.Validator.Arguments(in.raw)
	default:
		var v any
		v, violations = r.decl.Validator.Check(in.values)
		c.frame.Input, _ = v.(map[string]any)
	}
	if len(violations) == 0 {
		return nil
	}
	return failure.Refusal("The arguments are not valid, and nothing was done:\n" + result.ListViolations(violations))
}

// runChecks asks what must hold of the arguments, and reports everything that does not.
func (r *operation) runChecks(c *call) error {
	var failed []string
	for _, check := range r.decl.Checks {
		ok, err := check.That.Eval(c.frame, nil)
		switch {
		case err != nil && len(failed) > 0: // it may rest on a check that failed
		case err != nil:
			return c.evalError(err)
		case !ok:
			failed = append(failed, failure.Render(check.Message, c.frame))
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return failure.Refusal(strings.Join(failed, "\n"))
}

// evalError is an expression that could not be computed: its error is a sentence for the model.
func (c *call) evalError(err error) error {
	return c.contextCause(failure.AsFault(err))
}
