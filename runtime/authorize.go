package runtime

import (
	"context"
	"slices"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime/failure"
	"hatchel/runtime/mcp"
)

// verdict is what rules come to.
type verdict string

const (
	undecided     verdict = ""        // it depends on what a call has, or nothing was asked
	allowed       verdict = "allowed" //
	denied        verdict = "denied"  //
	needsApproval verdict = "approve" // allowed, once somebody has agreed; what is explained only
)

// decision is what was decided about a call. Where nothing is declared that decides, it is the zero decision.
type decision struct {
	verdict      verdict
	rule         string  // that decided: policy.finance.deny, tool.pay.allow, default; several when none of them allows
	rules        []*rule // those, when they deny
	cause        error   // why the rule denies that could not be computed
	beforeInputs bool    // it denies whatever the inputs are, which were not valid
}

// evaluation is one round of asking rules.
type evaluation struct {
	frame         *hcl.Frame
	reading       hcl.EvalBuffer
	beforeInputs  bool           // there is no call yet, so nothing is asked that reads one
	partial       bool           // not all inputs are there yet: a deny that cannot be computed without them denies nothing
	sharedResults map[*rule]bool // what the rules have answered that answer alike for everything; may be nil
	callResults   *ruleResults   // what those have answered about this very thing that read no inputs; may be nil
}

// eval asks one rule. It is open when it cannot be asked yet.
func (a *evaluation) eval(r *rule) (holds, open bool, err error) {
	if a.beforeInputs && r.readsInputs {
		return false, true, nil
	}
	common := a.sharedResults != nil && !r.readsInputs && !r.readsTool
	if holds, ok := a.sharedResults[r]; ok && common {
		return holds, false, nil
	}
	kept := a.callResults != nil && !r.readsInputs
	if kept && a.callResults.known&r.bit != 0 {
		return a.callResults.hold&r.bit != 0, false, nil
	}
	holds, err = a.reading.Eval(r.condition, a.frame)
	if kept && err == nil {
		a.callResults.known |= r.bit
		if holds {
			a.callResults.hold |= r.bit
		}
	}
	if common && err == nil {
		a.sharedResults[r] = holds
	}
	return holds, false, err
}

// decide asks the rules, and no more of them than it takes: a deny that holds goes before everything, then the thing's own allow must hold, then one of those of
// policies. What cannot be computed denies.
func (rs *rules) decide(a *evaluation) decision {
	a.frame.Tool = rs.tool
	open := false
	for _, r := range rs.denies {
		holds, later, err := a.eval(r)
		switch {
		case err != nil && a.partial && r.readsInputs:
		case err != nil || holds:
			return decision{verdict: denied, rule: r.name, rules: []*rule{r}, cause: err}
		}
		open = open || later
	}
	by := "default"
	if rs.own != nil {
		holds, later, err := a.eval(rs.own)
		if err != nil || !holds && !later {
			return decision{verdict: denied, rule: rs.own.name, rules: []*rule{rs.own}, cause: err}
		}
		open, by = open || later, rs.own.name
	}
	switch {
	case len(rs.allows) > 0:
		return rs.decideAllows(a, open)
	case rs.own == nil && rs.closed:
		return decision{verdict: denied, rule: "default"}
	case open:
		return decision{}
	}
	return decision{verdict: allowed, rule: by}
}

// decideAllows asks the policies that allow, when nothing before them has denied.
func (rs *rules) decideAllows(a *evaluation, open bool) decision {
	late := false
	for _, r := range rs.allows {
		holds, later, err := a.eval(r)
		switch {
		case err != nil && late: // one before it may allow
			return decision{}
		case err != nil:
			return decision{verdict: denied, rule: r.name, rules: []*rule{r}, cause: err}
		case holds && open:
			return decision{}
		case holds:
			return decision{verdict: allowed, rule: r.name}
		}
		late = late || later
	}
	if late {
		return decision{}
	}
	return decision{verdict: denied, rule: rs.allowNames, rules: rs.allows}
}

// notVisibleError is a request of a caller for what they may not have whatever the inputs are: it is not in their lists, so they are answered as if there was nothing of this name. Only the log and
// the audit log say that there is, and which rule has decided.
type notVisibleError struct {
	as    *mcp.Error
	cause error // why the rule could not be computed
}

func (e *notVisibleError) Error() string { return e.as.Message }

func (e *notVisibleError) Failure() *failure.Failure {
	failed := &failure.Failure{Message: e.as.Message, Code: e.as.Code, Refused: true, Protocol: e.as, Cause: e.cause}
	if e.cause != nil {
		failed.ID = failure.NewID()
	}
	return failed
}

// checkVisible refuses a caller who may not have it whatever the inputs are. It is asked before anything else that tells of it: before scopes, headers, capabilities and arguments.
func (r *operation) checkVisible(c *call, name string) error {
	if !r.rules.hidesFromLists() {
		return nil
	}
	d := r.rules.decide(&evaluation{frame: c.frame, beforeInputs: true, callResults: &c.ruleResults})
	switch {
	case d.verdict == denied:
		d.beforeInputs = true
		c.decision = d
		return &notVisibleError{r.notFound(name), d.cause}
	case !r.rules.readsInputs:
		c.decision, c.preauthorized = d, true
	}
	return nil
}

// checkVisibleRequest is conceals for a request that is no call, accounted for. Its error is one of the protocol.
func (r *operation) checkVisibleRequest(ctx context.Context, caller *mcp.Caller, name string) error {
	if !r.rules.hidesFromLists() {
		return nil
	}
	c := r.newCall(ctx, callerRoot(caller), adapters.Nobody{})
	defer c.result.Release()
	c.remoteAddr = caller.Remote
	failed := failure.Of(c.checkVisibleSafe(name))
	if failed == nil {
		return nil
	}
	c.logOutcome(ctx, failed)
	return c.protocolError(failed)
}

// checkVisibleSafe is conceals, whose panics are errors.
func (c *call) checkVisibleSafe(name string) (err error) {
	defer failure.Recover(&err)
	return c.operation.checkVisible(c, name)
}

// notFound is what a request is answered with for a name, or an address, that leads to nothing.
func (r *operation) notFound(name string) *mcp.Error {
	switch r.kind {
	case "tool":
		return mcp.UnknownTool(name)
	case "prompt":
		return mcp.UnknownPrompt(name)
	}
	return mcp.UnknownResource(name)
}

// authorize asks whether this caller may do it, unless that was decided before there were inputs.
func (r *operation) authorize(c *call) error {
	if r.rules == nil || c.preauthorized {
		return nil
	}
	c.decision = r.rules.decide(&evaluation{frame: c.frame, callResults: &c.ruleResults})
	return c.denialError()
}

// deniedWithoutInputs is why this caller may not do it whatever the inputs are, if so.
func (r *operation) deniedWithoutInputs(c *call) error {
	if r.rules == nil {
		return nil
	}
	d := r.rules.decide(&evaluation{frame: c.frame, beforeInputs: true})
	if d.verdict != denied {
		return nil
	}
	d.beforeInputs = true
	c.decision = d
	return c.denialError()
}

// ruleError is a call that the rules deny because one of them could not be computed.
type ruleError struct{ cause error }

func (d *ruleError) Error() string {
	return "Whether this call is allowed could not be decided, so it was not made. This is a problem on the server, not of the arguments."
}

func (d *ruleError) Failure() *failure.Failure {
	return &failure.Failure{Message: d.Error(), Refused: true, Cause: d.cause, ID: failure.NewID()}
}

// denialError is the refusal of a call that was decided against, in the words of the policies that did; nil for any other.
func (c *call) denialError() error {
	switch d := c.decision; {
	case d.verdict != denied:
		return nil
	case d.cause != nil && c.frame.Context.Err() != nil:
		return c.evalError(d.cause)
	case d.cause != nil:
		return &ruleError{d.cause}
	}
	var said []string
	for _, r := range c.decision.rules {
		if r.message == nil {
			continue
		}
		if text := c.message(r.message); !slices.Contains(said, text) {
			said = append(said, text)
		}
	}
	if len(said) == 0 {
		return failure.Refusal("This call is not allowed for you.")
	}
	return failure.Refusal(strings.Join(said, "\n"))
}
