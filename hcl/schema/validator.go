package schema

import (
	"errors"
	"fmt"

	"hatchel/hcl/value"
)

// Validator enforces a type. It is immutable and safe for concurrent use.
type Validator struct {
	check     check
	arguments check // the same check with messages about arguments
}

// Compile returns the type's validator.
func (t *Type) Compile() *Validator {
	c := checkCompiler{sensitive: t.Sensitive}
	if t.Kind != Object {
		all := c.compile(t)
		return &Validator{all, all}
	}
	members := c.objectCheck(t)
	arguments := *members
	arguments.noun = "argument"
	return &Validator{c.wrapCheck(t, members.check), c.wrapCheck(t, arguments.check)}
}

// Arguments decodes and validates the arguments of a call: a JSON object, or no bytes at all. It
// returns them converted, with defaults applied at every depth, or every violation. The result does
// not alias raw.
func (v *Validator) Arguments(raw []byte) (map[string]any, []Violation) {
	var arguments any
	var err error
	if len(raw) > 0 {
		arguments, err = value.Decode(raw)
	}
	var syntax *value.SyntaxError
	if errors.As(err, &syntax) {
		return nil, singleViolation(fmt.Sprintf("the arguments are not valid JSON: %s at byte %d", syntax.Reason,
			syntax.Offset))
	}
	if arguments == nil {
		arguments = map[string]any{}
	}
	if _, ok := arguments.(map[string]any); !ok {
		return nil, singleViolation("the arguments must be an object, got " + describeValue(arguments))
	}
	return v.Values(arguments.(map[string]any))
}

// Values validates decoded arguments of a call, which it may change. It returns them converted,
// with defaults applied at every depth, or every violation.
func (v *Validator) Values(arguments map[string]any) (map[string]any, []Violation) {
	out, _, violations := v.arguments(arguments, true)
	if len(violations) > 0 {
		return nil, limitViolations(violations)
	}
	return out.(map[string]any), nil
}

// Check validates a value and returns it converted, with defaults applied at every depth. It does
// not change v. If there are violations, the returned value is undefined.
func (v *Validator) Check(val any) (any, []Violation) {
	out, _, violations := v.check(val, false)
	return out, limitViolations(violations)
}
