package call

import (
	"fmt"
	"strings"

	"hatchel/hcl/schema"
	"hatchel/hcl/value"
	"hatchel/runtime/failure"
	"hatchel/runtime/mcp"
	"hatchel/runtime/result"
)

// inputs are the arguments of a call: as they came, as another tool computed them, or as texts.
type inputs struct {
	raw      []byte
	values   map[string]any
	texts    map[string]string
	err      error // why they could not be read; nil when they could
	admitted bool  // the call was admitted before, and has its inputs
}

const invalidArguments = "The arguments are not valid, and nothing was done:\n"

// validate reads the arguments, and reports everything that is wrong with them.
func (o *Operation) validate(c *call, in inputs) error {
	if in.err != nil {
		return in.err
	}
	var violations []schema.Violation
	switch {
	case in.texts != nil:
		c.frame.Input, violations = o.Decl.ParseTexts(in.texts)
	case in.values == nil:
		c.frame.Input, violations = o.Decl.Validator.Arguments(in.raw)
	default:
		var v any
		v, violations = o.Decl.Validator.Check(in.values)
		c.frame.Input, _ = v.(map[string]any)
	}
	if len(violations) == 0 {
		return nil
	}
	return failure.Refusal(invalidArguments + result.ListViolations(violations))
}

// runChecks evaluates the check blocks, and reports every one that is false.
func (o *Operation) runChecks(c *call) error {
	var failed []string
	for _, check := range o.Decl.Checks {
		ok, err := check.That.Eval(c.frame, nil)
		switch {
		case err != nil && len(failed) > 0: // it may depend on a check that failed
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

// textArguments reads the arguments of a prompt, which are strings.
func textArguments(raw []byte) inputs {
	texts := map[string]string{}
	if len(raw) == 0 {
		return inputs{texts: texts}
	}
	v, err := value.Decode(raw)
	if err != nil {
		text := "The arguments are not JSON: " + err.Error()
		return inputs{err: &mcp.Error{Code: mcp.CodeInvalidParams, Message: text}}
	}
	var wrong []string
	m, _ := v.(map[string]any)
	for _, name := range value.Keys(m) {
		text, ok := m[name].(string)
		if !ok {
			const format = "- %s: the arguments of a prompt are strings, got a %s"
			wrong = append(wrong, fmt.Sprintf(format, name, value.Kind(m[name])))
		}
		texts[name] = text
	}
	if len(wrong) > 0 {
		text := invalidArguments + strings.Join(wrong, "\n")
		return inputs{err: &mcp.Error{Code: mcp.CodeInvalidParams, Message: text}}
	}
	return inputs{texts: texts}
}
