package call

import (
	"cmp"
	"context"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/failure"
	"hatchel/runtime/stage/policy"
)

// checkVisible rejects a caller who may not call the operation whatever the inputs are, as if it did not exist. It runs
// before everything else that shows that it does: scopes, headers, capabilities and arguments. Decided reports whether
// the decision holds for all inputs. Known gets the results of rules that read no inputs.
func (o *Operation) checkVisible(
	f *hcl.Frame, known *policy.RuleResults, name string,
) (d policy.Decision, decided bool, err error) {
	if !o.Rules.DecidesBeforeInputs() {
		return d, false, nil
	}
	d = o.Rules.Decide(&policy.Evaluation{Frame: f, BeforeInputs: true, CallResults: known})
	if d.Verdict == policy.Denied {
		d.BeforeInputs = true
		return d, true, &policy.NotVisibleError{As: mcp.Unknown(o.Kind, name), Cause: d.Cause}
	}
	return d, !o.Rules.ReadsInputs(), nil
}

// checkVisibleRequest is checkVisible for a request that is no call. Its error, which it logs, is
// one of the protocol.
func (o *Operation) checkVisibleRequest(ctx context.Context, caller *mcp.Caller, name string) error {
	if !o.Rules.DecidesBeforeInputs() {
		return nil
	}
	c := o.newCallOf(ctx, caller, adapters.NopClient{})
	defer c.result.Release()
	failed := failure.Of(failure.Try(func() error { return c.checkVisible(name) }))
	if failed == nil {
		return nil
	}
	end := c.ending(ctx, failed, "")
	end.log(ctx)
	return c.failureWriter().protocolError(failed)
}

// hides returns the decision about a call that was not admitted, if its caller may not make it whatever the inputs are:
// that caller does not learn what is wrong with them.
func (o *Operation) hides(f *hcl.Frame) (d policy.Decision, hides bool) {
	if o.Rules == nil {
		return d, false
	}
	d = o.Rules.Decide(&policy.Evaluation{Frame: f, BeforeInputs: true})
	d.BeforeInputs = true
	return d, d.Verdict == policy.Denied
}

// denial returns why a call is denied; nil when it is not.
func (k *clock) denial(d policy.Decision) error {
	if d.Cause != nil && k.frame.Context.Err() != nil {
		return k.evalError(d.Cause)
	}
	return d.Err(k.frame)
}

// Explanation says how the rules decide about one call of one caller. The call is not made.
type Explanation struct {
	// Verdict is "allowed", "denied", "approve", or "" when it depends on inputs that are not valid.
	Verdict string `json:"verdict"`
	// Rule decides: policy.finance.deny, tool.pay.allow, tool.pay.scopes, default; several separated by
	// commas.
	Rule string `json:"rule"`

	Message string             `json:"told,omitempty"`    // to the caller of a call that is denied
	Invalid string             `json:"invalid,omitempty"` // what is wrong with the inputs
	Listed  bool               `json:"listed"`            // for this caller
	Rules   []policy.RuleState `json:"rules"`             // all that apply, in the order in which they are evaluated

	hidden bool // from this caller, whatever the inputs are
}

// Explain says how the rules decide about a call of a tool.
func (p *Program) Explain(ctx context.Context, req *mcp.CallRequest) Explanation {
	return p.explain(ctx, req, inputs{raw: req.Arguments}, p.tool.Listed, p)
}

// Explain says how the rules decide about getting a prompt. The error is one of the protocol.
func (p *Prompt) Explain(ctx context.Context, req *mcp.CallRequest) (Explanation, error) {
	in := p.textArguments(req.Arguments)
	if in.err != nil {
		return Explanation{}, in.err
	}
	return p.explain(ctx, req, in, true, nil), nil
}

// Explain says how the rules decide about reading a URI with these variables.
func (r *Resource) Explain(ctx context.Context, req *mcp.CallRequest, variables map[string]string) Explanation {
	return r.explain(ctx, req, inputs{texts: variables}, r.Resource.Listed, nil)
}

// explain says what the rules decide, unless the caller lacks a scope, which is required before.
func (o *Operation) explain(
	ctx context.Context, req *mcp.CallRequest, in inputs, listed bool, p *Program,
) Explanation {
	e := o.explainRules(ctx, req.Caller, in, listed, p)
	if e.hidden {
		e.Message = mcp.Unknown(o.Kind, req.Name).Message
		return e
	}
	if failed := failure.Of(o.CheckScopes(req.Caller)); failed != nil {
		e.Verdict, e.Rule = string(policy.Denied), o.Kind+"."+o.Decl.Name+".scopes"
		e.Message = failed.Message
	}
	return e
}

// explainRules admits a call like any other, and goes no further.
func (o *Operation) explainRules(
	ctx context.Context, caller *mcp.Caller, in inputs, listed bool, p *Program,
) Explanation {
	c := o.newCallOf(ctx, caller, adapters.NopClient{})
	defer c.result.Release()
	failed := failure.Of(failure.Try(func() error { return c.admit(in) }))
	rules := cmp.Or(o.Rules, new(policy.Rules))
	before := rules.Decide(&policy.Evaluation{Frame: c.frame, BeforeInputs: true})
	hidden := before.Verdict == policy.Denied
	e := Explanation{Listed: listed && !hidden, Rules: []policy.RuleState{}, hidden: hidden}
	d := c.access.decision
	evaluation := &policy.Evaluation{Frame: c.frame}
	if failed != nil && (d.Verdict == policy.Undecided || d.BeforeInputs) { // what the matrix of callers says
		evaluation = policy.NewListEvaluation(hcl.NewFrame(ctx, o.Env.Dir, o.Env.Now))
		evaluation.Weigh, evaluation.Frame.Caller = true, c.frame.Caller
	}
	switch d.Verdict {
	case policy.Undecided:
		d, e.Invalid = rules.Decide(evaluation), c.failureWriter().public(failed)
	case policy.Denied:
		e.Message = c.failureWriter().public(failed)
	}
	e.Verdict, e.Rule = string(d.Verdict), d.Rule
	for _, rule := range rules.All() {
		e.Rules = append(e.Rules, rule.State(evaluation))
	}
	p.explainApprovals(&e, evaluation)
	return e
}

// explainApprovals says which approvals a call needs that is allowed. A nil Program needs none.
func (p *Program) explainApprovals(e *Explanation, evaluation *policy.Evaluation) {
	if p == nil {
		return
	}
	evaluation.Frame.Tool = p.toolRoot
	required, open, failed := []string(nil), false, ""
	for _, r := range p.Approvals {
		s := policy.RuleState{Rule: r.Name, Program: r.Program(), Says: "true", Range: r.Range()}
		if r.when != nil {
			s = policy.NewRule(r.Name, r.when).State(evaluation)
		}
		e.Rules = append(e.Rules, s)
		switch s.Says {
		case "true":
			required = append(required, r.Name)
		case "error":
			failed = r.Name
		case "":
			open = true
		}
	}
	switch {
	case e.Verdict != string(policy.Allowed):
	case failed != "":
		e.Verdict, e.Rule, e.Message = string(policy.Denied), failed, (&policy.RuleError{}).Error()
	case required != nil:
		e.Verdict, e.Rule = string(policy.NeedsApproval), strings.Join(required, ", ")
	case open:
		e.Verdict, e.Rule = string(policy.Undecided), ""
	}
}

// OperationRules are the rules about something that is served, in the order in which they are
// evaluated.
type OperationRules struct {
	Kind    string     `json:"kind"`
	Name    string     `json:"name"`
	Rules   []RuleText `json:"rules"`
	Default string     `json:"default,omitempty"` // "allowed" or "denied", where no rule allows
}

// RuleText is one rule as it is written.
type RuleText struct {
	Rule    string    `json:"rule"`
	Program string    `json:"program"`
	Range   hcl.Range `json:"range"`
}

// ListRules returns the rules about the operation. DenyByDefault is that of the server.
func (o *Operation) ListRules(denyByDefault bool) OperationRules {
	out := OperationRules{Kind: o.Kind, Name: o.Decl.Name, Rules: []RuleText{}}
	for _, r := range cmp.Or(o.Rules, new(policy.Rules)).All() {
		out.Rules = append(out.Rules, RuleText{r.Name, r.Condition.Source(), r.Condition.Range})
	}
	if !o.Rules.HasAllow() {
		out.Default = string(policy.Allowed)
		if denyByDefault {
			out.Default = string(policy.Denied)
		}
	}
	return out
}

// ListRules returns the rules about the tool, with those about approvals.
func (p *Program) ListRules(denyByDefault bool) OperationRules {
	out := p.Operation.ListRules(denyByDefault)
	for _, r := range p.Approvals {
		out.Rules = append(out.Rules, RuleText{r.Name, r.Program(), r.Range()})
	}
	return out
}
