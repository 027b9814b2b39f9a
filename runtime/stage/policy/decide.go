package policy

import (
	"slices"
	"strings"

	"hatchel/hcl"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/failure"
)

// Verdict is the result of evaluating rules.
type Verdict string

const (
	Undecided     Verdict = "" // it depends on inputs, or no rule was evaluated
	Allowed       Verdict = "allowed"
	Denied        Verdict = "denied"
	NeedsApproval Verdict = "approve" // allowed once somebody has approved; in explanations only
)

// Decision is the decision about a call. The zero value is that of a call to which no rule applies.
type Decision struct {
	Verdict      Verdict
	Rule         string // that decided: policy.finance.deny, tool.pay.allow, default; several when none of them allows
	Cause        error  // why the rule that denies could not be evaluated; nil when it could
	BeforeInputs bool   // it denies whatever the inputs are

	rules []*Rule // those that deny
}

// Evaluation is one evaluation of rules. It belongs to one goroutine.
type Evaluation struct {
	Frame        *hcl.Frame
	BeforeInputs bool         // there is no call yet, so rules that read one are not evaluated
	Weigh        bool         // with BeforeInputs: they are, and decide if the rest of the rule does
	Partial      bool         // inputs are missing: a deny rule that fails without them does not deny
	CallResults  *RuleResults // of the same call; nil when they are not kept

	anyEntry bool // CallResults are of all entries of a list
}

// NewListEvaluation returns an evaluation before there is a call, for all operations of one caller.
func NewListEvaluation(frame *hcl.Frame) *Evaluation {
	return &Evaluation{Frame: frame, BeforeInputs: true, CallResults: new(RuleResults), anyEntry: true}
}

// eval evaluates one rule. It is open when the rule reads inputs that are not there yet.
func (e *Evaluation) eval(r *Rule) (holds, open bool, err error) {
	if e.BeforeInputs && r.readsInputs {
		if !e.Weigh {
			return false, true, nil
		}
		return r.Condition.EvalBeforeCall(e.Frame)
	}
	kept := e.CallResults != nil && !r.readsInputs && !(e.anyEntry && r.readsTool)
	if kept && e.CallResults.known&r.bit != 0 {
		return e.CallResults.holds&r.bit != 0, false, nil
	}
	holds, err = r.Condition.Eval(e.Frame, nil)
	if kept && err == nil {
		e.CallResults.known |= r.bit
		if holds {
			e.CallResults.holds |= r.bit
		}
	}
	return holds, false, err
}

// Decide evaluates the rules, and no more of them than it takes: a true deny decides before
// everything else, then the operation's own allow rule must be true, then one of those of policies.
func (rs *Rules) Decide(e *Evaluation) Decision {
	e.Frame.Tool = rs.tool
	open := false
	for _, r := range rs.denies {
		holds, later, err := e.eval(r)
		switch {
		case err != nil && e.Partial && r.readsInputs:
		case err != nil || holds:
			return deniedBy(r, err)
		}
		open = open || later
	}
	by := "default"
	if rs.own != nil {
		holds, later, err := e.eval(rs.own)
		if err != nil || !holds && !later {
			return deniedBy(rs.own, err)
		}
		open, by = open || later, rs.own.Name
	}
	switch {
	case len(rs.allows) > 0:
		return rs.decideAllows(e, open)
	case rs.own == nil && rs.denyByDefault:
		return Decision{Verdict: Denied, Rule: "default"}
	case open:
		return Decision{}
	}
	return Decision{Verdict: Allowed, Rule: by}
}

// decideAllows evaluates the allow rules of policies, when nothing before them denies.
func (rs *Rules) decideAllows(e *Evaluation, open bool) Decision {
	later := false
	for _, r := range rs.allows {
		holds, ruleOpen, err := e.eval(r)
		switch {
		case err != nil && later: // a rule before it may allow
			return Decision{}
		case err != nil:
			return deniedBy(r, err)
		case holds && open:
			return Decision{}
		case holds:
			return Decision{Verdict: Allowed, Rule: r.Name}
		}
		later = later || ruleOpen
	}
	if later {
		return Decision{}
	}
	return Decision{Verdict: Denied, Rule: rs.allowNames, rules: rs.allows}
}

func deniedBy(r *Rule, err error) Decision {
	return Decision{Verdict: Denied, Rule: r.Name, Cause: err, rules: []*Rule{r}}
}

// RuleState is the result of one rule in an explanation.
type RuleState struct {
	Rule    string    `json:"rule"`
	Program string    `json:"program"`
	Says    string    `json:"says"` // "true", "false", "error", or "" when it reads inputs that are not valid
	Error   string    `json:"error,omitempty"`
	Range   hcl.Range `json:"range"`
}

// State evaluates the rule for an explanation.
func (r *Rule) State(e *Evaluation) RuleState {
	s := RuleState{Rule: r.Name, Program: r.Condition.Source(), Range: r.Condition.Range}
	holds, open, err := e.eval(r)
	switch {
	case open:
	case err != nil:
		s.Says, s.Error = "error", err.Error()
	case holds:
		s.Says = "true"
	default:
		s.Says = "false"
	}
	return s
}

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
