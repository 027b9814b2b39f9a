package runtime

import (
	"context"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime/failure"
	"hatchel/runtime/mcp"
	"hatchel/runtime/policy"
)

// Explanation says how the rules decide about one call of one caller, which is not made.
type Explanation struct {
	Verdict string             `json:"verdict"`           // "allowed", "approve" when somebody must agree, "denied", or "" when that depends on inputs, which are not valid
	Rule    string             `json:"rule"`              // that decides: policy.finance.deny, tool.pay.allow, tool.pay.scopes, default; of several that might have allowed, or that want an approval, all
	Message string             `json:"told,omitempty"`    // what the caller reads of a call that is denied
	Invalid string             `json:"invalid,omitempty"` // what is wrong with the inputs
	Listed  bool               `json:"listed"`            // for this caller
	Rules   []policy.RuleState `json:"rules"`             // all that are about it, in the order in which they are asked

	hidden bool // from this caller, whatever the inputs are
}

// Explain says who decides about a call of a tool, of a prompt, or of the resource at a URI. Its error is one of the protocol.
func (g *Generation) Explain(ctx context.Context, kind string, req *mcp.CallRequest) (Explanation, error) {
	switch kind {
	case "tool":
		if p, ok := g.programs[req.Name]; ok {
			return p.explain(ctx, req, inputs{raw: req.Arguments}, p.tool.Listed, p), nil
		}
		return Explanation{}, mcp.UnknownTool(req.Name)
	case "prompt":
		p := g.fullView.prompt(req.Name)
		if p == nil {
			return Explanation{}, mcp.UnknownPrompt(req.Name)
		}
		given, err := textArguments(req.Arguments)
		if err != nil {
			return Explanation{}, err
		}
		return p.explain(ctx, req, inputs{texts: given}, true, nil), nil
	}
	r, variables := g.fullView.resource(req.Name)
	if r == nil {
		return Explanation{}, mcp.UnknownResource(req.Name)
	}
	return r.explain(ctx, req, inputs{texts: variables}, r.resource.Listed, nil), nil
}

// explain is what the rules decide, unless the caller was not granted what has to be granted before they are asked.
func (r *operation) explain(ctx context.Context, req *mcp.CallRequest, in inputs, listed bool, p *Program) Explanation {
	caller, name := req.Caller, req.Name
	e := r.explainRules(ctx, caller, in, listed, p)
	if e.hidden {
		e.Message = r.notFound(name).Message
		return e
	}
	if failed := failure.Of(r.checkScopes(caller)); failed != nil {
		e.Verdict, e.Rule, e.Message = string(policy.Denied), r.kind+"."+r.decl.Name+".scopes", failed.Message
	}
	return e
}

// explainRules admits a call as any other, and goes no further.
func (r *operation) explainRules(ctx context.Context, caller *mcp.Caller, in inputs, listed bool, p *Program) Explanation {
	c := r.newCall(ctx, callerRoot(caller), adapters.Nobody{})
	defer c.result.Release()
	failed := failure.Of(c.admitRecovered(in))
	if r.rules == nil {
		e := Explanation{Verdict: string(policy.Allowed), Rule: "default", Invalid: c.failureMessage(failed), Listed: listed, Rules: []policy.RuleState{}}
		p.explainApprovals(c, &e, failed != nil)
		return e
	}
	before := r.rules.Decide(&policy.Evaluation{Frame: c.frame, BeforeInputs: true})
	hidden := before.Verdict == policy.Denied
	e := Explanation{Listed: listed && !hidden, Rules: []policy.RuleState{}, hidden: hidden}
	d, early := c.decision, c.decision.Verdict == policy.Undecided || c.decision.BeforeInputs
	switch {
	case d.Verdict == policy.Undecided:
		d, e.Invalid = before, c.failureMessage(failed)
	case d.Verdict == policy.Denied:
		e.Message = c.failureMessage(failed)
	}
	e.Verdict, e.Rule = string(d.Verdict), d.Rule
	for _, rule := range r.rules.All() {
		e.Rules = append(e.Rules, rule.State(&policy.Evaluation{Frame: c.frame, BeforeInputs: early}))
	}
	p.explainApprovals(c, &e, early)
	return e
}

// explainApprovals says what somebody must agree to of a call that is allowed; early is set where its inputs are not valid. A nil Program needs no approvals.
func (p *Program) explainApprovals(c *call, e *Explanation, early bool) {
	if p == nil {
		return
	}
	c.frame.Tool = p.toolRoot
	wanted, open, broken := []string(nil), false, ""
	for _, r := range p.approvalRules {
		s := policy.RuleState{Rule: r.name, Program: r.program(), Says: "true", Range: r.source()}
		if r.when != nil {
			s = policy.NewRule(r.name, r.when).State(&policy.Evaluation{Frame: c.frame, BeforeInputs: early})
		}
		e.Rules = append(e.Rules, s)
		switch s.Says {
		case "true":
			wanted = append(wanted, r.name)
		case "error":
			broken = r.name
		case "":
			open = true
		}
	}
	switch {
	case e.Verdict != string(policy.Allowed):
	case broken != "":
		e.Verdict, e.Rule, e.Message = string(policy.Denied), broken, (&policy.RuleError{}).Error()
	case wanted != nil:
		e.Verdict, e.Rule = string(policy.NeedsApproval), strings.Join(wanted, ", ")
	case open:
		e.Verdict, e.Rule = string(policy.Undecided), ""
	}
}

// failureMessage is what leaves the process about a failure, if there is one.
func (c *call) failureMessage(failed *failure.Failure) string {
	if failed == nil {
		return ""
	}
	return c.publicMessage(failed)
}

// OperationRules is something that is offered, and the rules about it in the order in which they are asked.
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

// ListRules is everything that can be called: tools, then prompts and resources, each by name.
func (g *Generation) ListRules() []OperationRules {
	all := make([]OperationRules, 0, len(g.sortedPrograms)+len(g.prompts)+len(g.resources))
	for _, p := range g.sortedPrograms {
		ruled := p.listRules(g.Config.Server.DenyByDefault)
		for _, r := range p.approvalRules {
			ruled.Rules = append(ruled.Rules, RuleText{r.name, r.program(), r.source()})
		}
		all = append(all, ruled)
	}
	for _, p := range g.prompts {
		all = append(all, p.listRules(g.Config.Server.DenyByDefault))
	}
	for _, r := range g.resources {
		all = append(all, r.listRules(g.Config.Server.DenyByDefault))
	}
	return all
}

func (r *operation) listRules(closed bool) OperationRules {
	out := OperationRules{Kind: r.kind, Name: r.decl.Name, Rules: []RuleText{}}
	if r.rules != nil {
		for _, rule := range r.rules.All() {
			out.Rules = append(out.Rules, RuleText{rule.Name, rule.Condition.Source(), rule.Condition.Range})
		}
	}
	if !r.rules.HasAllow() {
		out.Default = string(policy.Allowed)
		if closed {
			out.Default = string(policy.Denied)
		}
	}
	return out
}
