package policy

import (
	"slices"
	"strings"

	"hatchel/hcl"
	"hatchel/runtime/failure"
	"hatchel/runtime/mcp"
)

// NotVisibleError is a request for something that the caller may not call whatever the inputs are.
// It is not in their lists, so they are answered as if it did not exist. Only the log and the audit
// log name the rule.
type NotVisibleError struct {
	As    *mcp.Error // the error for the caller
	Cause error      // why the rule could not be evaluated; nil when it could
}

func (e *NotVisibleError) Error() string { return e.As.Message }

// Failure implements the interface of package failure.
func (e *NotVisibleError) Failure() *failure.Failure {
	f := &failure.Failure{Message: e.As.Message, Code: e.As.Code, Refused: true, Protocol: e.As, Cause: e.Cause}
	if e.Cause != nil {
		f.ID = failure.NewID()
	}
	return f
}

// RuleError is a call that is denied because a rule could not be evaluated.
type RuleError struct{ Cause error }

func (e *RuleError) Error() string {
	return "This call was not made, because the server could not evaluate a rule about who may call. " +
		"This is a problem on the server, not of the arguments."
}

// Failure implements the interface of package failure.
func (e *RuleError) Failure() *failure.Failure {
	return &failure.Failure{Message: e.Error(), Refused: true, Cause: e.Cause, ID: failure.NewID()}
}

// DeniedByError returns the decision of a rule that is part of no policy and could not be
// evaluated.
func DeniedByError(rule string, cause error) Decision {
	return Decision{Verdict: Denied, Rule: rule, Cause: cause}
}

// Err returns why a call is denied, in the words of the policies that deny it; nil when it is not.
func (d *Decision) Err(f *hcl.Frame) error {
	switch {
	case d.Verdict != Denied:
		return nil
	case d.Cause != nil:
		return &RuleError{d.Cause}
	}
	var messages []string
	for _, r := range d.rules {
		if r.message == nil {
			continue
		}
		if text := failure.Render(r.message, f); !slices.Contains(messages, text) {
			messages = append(messages, text)
		}
	}
	if len(messages) == 0 {
		return failure.Refusal("You are not allowed to make this call.")
	}
	return failure.Refusal(strings.Join(messages, "\n"))
}
