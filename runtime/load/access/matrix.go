// Package access says who may call which tool, from the rules of a configuration and before there is a call:
// [Callers] returns the callers that the configuration tells apart, and [New] answers for each of them and each tool.
// It decides no call: that is done with package policy, by package call.
package access

import (
	"slices"
	"strings"
	"time"

	"hatchel/hcl"
	"hatchel/hcl/eval"
	"hatchel/runtime/call"
	"hatchel/runtime/stage/policy"
)

// Answer says whether a caller may call a tool.
type Answer string

const (
	Yes           Answer = "yes"
	No            Answer = "no"
	Depends       Answer = "depends"  // on the input
	NeedsApproval Answer = "approval" // yes, once the call is approved
)

// Row is the row of one tool, or of one mask.
type Row struct {
	Name    string            `json:"name"`
	Answers map[string]Answer `json:"answers"` // by Caller.Name
}

// Matrix says for each tool which callers may call it.
type Matrix struct {
	Callers []Caller `json:"callers"`
	Tools   []Row    `json:"tools"` // by name
	// Masks say what callers see of what masks mask, by name.
	Masks []Row `json:"masks,omitempty"`
	// Unknown are parts of the caller, as in caller.claims.tenant, that rules read and that callers of the matrix
	// do not have. The answers are those for a caller without them.
	Unknown []string `json:"unknown"`
	// Needs are sentences about what tools need of the caller to act in a database.
	Needs []string `json:"needs,omitempty"`
	// SignIn are sentences about whom sign_in admits.
	SignIn []string `json:"sign_in,omitempty"`
}

// New answers for each tool of a configuration without errors and each caller. It makes no call.
func New(cfg *hcl.Config, callers []Caller) *Matrix {
	m := newMatrix(cfg, toolTargets(cfg.Tools), callers)
	m.Needs = identityNotes(cfg)
	return m
}

// Of answers for one target and the callers that its rules tell apart, as New does for tools. Selected chooses some
// of the callers.
func Of(cfg *hcl.Config, t Target, selected func(Caller) bool) *Matrix {
	targets := []Target{t}
	callers := newCallerBuilder(cfg, nil, nil, targets).all(nil)
	return newMatrix(cfg, targets, slices.DeleteFunc(callers, func(c Caller) bool { return !selected(c) }))
}

func newMatrix(cfg *hcl.Config, targets []Target, callers []Caller) *Matrix {
	all := rows(cfg, targets, callers)
	masks := MaskRows(cfg, callers)
	callers = withoutRepetitions(callers, slices.Concat(all, masks))
	return &Matrix{Callers: callers, Tools: all, Masks: masks, Unknown: unknownParts(cfg, targets, callers),
		SignIn: signInNotes(cfg, callers)}
}

// withoutRepetitions returns the callers without the candidates that are none of their own, whose answers it removes.
func withoutRepetitions(callers []Caller, rows []Row) (kept []Caller) {
	same := func(a, b Caller) bool {
		return !slices.ContainsFunc(rows, func(t Row) bool { return t.Answers[a.Name] != t.Answers[b.Name] })
	}
	for _, c := range callers {
		repeats := func(other Caller) bool {
			isUnnamed := other.Name == callers[0].Name || other.Name == Identified || other.isUnnamed()
			return (isUnnamed || c.isJoined && other.isCandidate) && same(c, other)
		}
		if !c.isCandidate || c.isUnnamed() || !slices.ContainsFunc(kept, repeats) {
			kept = append(kept, c)
		}
	}
	kept = slices.DeleteFunc(kept, Caller.isUnnamed)
	for _, c := range callers {
		if !slices.ContainsFunc(kept, func(k Caller) bool { return k.Name == c.Name }) {
			for _, t := range rows {
				delete(t.Answers, c.Name)
			}
		}
	}
	return kept
}

// isUnnamed reports whether a caller is one of those that the candidates are compared with.
func (c Caller) isUnnamed() bool { return c.isCandidate && strings.HasSuffix(c.Name, unnamed) }

// rows returns the rows of some targets of a configuration, by name.
func rows(cfg *hcl.Config, targets []Target, callers []Caller) []Row {
	all := []Row{}
	evaluations := make([]*policy.Evaluation, len(callers))
	for i, c := range callers {
		evaluations[i] = c.newEvaluation()
	}
	policies := policy.New(cfg)
	for _, t := range targets {
		r := newTargetRules(cfg, policies, t)
		row := Row{t.op.Name, make(map[string]Answer, len(callers))}
		for i, c := range callers {
			if r.readCall { // with locals of the target, which a frame keeps
				evaluations[i].Frame = frameOf(evaluations[i].Frame.Caller)
			}
			row.Answers[c.Name], _ = r.decide(c, evaluations[i])
		}
		all = append(all, row)
	}
	slices.SortFunc(all, func(a, b Row) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// newEvaluation returns an evaluation before there is a call of the caller.
func (c Caller) newEvaluation() *policy.Evaluation {
	e := policy.NewListEvaluation(frameOf(call.CallerRoot(c.caller)))
	e.Weigh = true
	return e
}

func frameOf(caller eval.Caller) *hcl.Frame {
	frame := eval.NewLoadFrame("", time.Now)
	frame.Caller = caller
	return frame
}

// targetRules are all rules about the calls of one target.
type targetRules struct {
	name      string        // as rules of it begin: tool.pay
	rules     *policy.Rules // nil for none
	approvals []*policy.Rule
	approved  []string // the approvals that every call needs
	root      map[string]any
	scopes    []string
	readCall  bool // a rule reads the data of a call
	signIn    *hcl.Condition
}

func newTargetRules(cfg *hcl.Config, policies *policy.Policies, t Target) *targetRules {
	r := &targetRules{name: t.kind + "." + t.op.Name, root: t.root, signIn: signInRule(cfg),
		scopes: requiredScopes(t.op, map[*hcl.Operation]bool{})}
	r.rules = policies.Rules(t.kind, t.op, r.root, t.applies)
	r.readCall = r.rules != nil && r.rules.ReadsInputs()
	if t.tool == nil {
		return r
	}
	for i, a := range t.tool.Approvals {
		name := policy.ApprovalName(t.op.Name, i)
		r.readCall = r.readCall || a.When != nil && a.When.DependsOnCall()
		if a.When == nil {
			r.approved = append(r.approved, name)
			continue
		}
		r.approvals = append(r.approvals, policy.NewRule(name, a.When))
	}
	for _, p := range cfg.Policies {
		if p.Approve != nil && t.applies(p) {
			r.readCall = r.readCall || p.Approve.DependsOnCall()
			r.approvals = append(r.approvals, policy.NewRule("policy."+p.Name+".approve", p.Approve))
		}
	}
	return r
}

// requiredScopes returns the scopes that an operation needs, and those of the tools that its steps call.
func requiredScopes(op *hcl.Operation, seen map[*hcl.Operation]bool) (scopes []string) {
	if seen[op] {
		return nil
	}
	seen[op] = true
	scopes = slices.Clone(op.Scopes)
	for _, s := range op.Steps {
		if nested, ok := s.Backend.Config.(*hcl.ToolCall); ok && nested.Tool != nil {
			scopes = append(scopes, requiredScopes(&nested.Tool.Operation, seen)...)
		}
	}
	return scopes
}

// decide answers for one caller whatever the inputs are: a part of a rule that does not read them may decide about all
// of it. By names the rule that decides, or several with commas; it is empty where that depends on the inputs.
func (r *targetRules) decide(c Caller, e *policy.Evaluation) (answer Answer, by string) {
	if c.isRefused {
		return No, signInRuleName
	}
	if len(r.missingScopes(c)) > 0 {
		return No, r.name + ".scopes"
	}
	answer, by = Yes, "default"
	if r.rules != nil {
		d := r.rules.Decide(e)
		switch d.Verdict {
		case policy.Denied:
			return No, d.Rule
		case policy.Undecided:
			answer = Depends
		}
		by = d.Rule
	}
	return r.withApprovals(answer, by, e)
}

// missingScopes returns the scopes that the caller lacks.
func (r *targetRules) missingScopes(c Caller) []string {
	if c.caller.Identity == nil {
		return nil
	}
	return c.caller.Identity.MissingScopes(r.scopes)
}

// withApprovals returns what the approvals make of an answer other than No. One that cannot be evaluated denies.
func (r *targetRules) withApprovals(answer Answer, by string, e *policy.Evaluation) (Answer, string) {
	e.Frame.Tool = r.root
	required := r.approved
	for _, rule := range r.approvals {
		switch rule.State(e).Says {
		case "error":
			return No, rule.Name
		case "true":
			required = append(required[:len(required):len(required)], rule.Name)
		case "":
			answer, by = Depends, ""
		}
	}
	if required != nil && answer == Yes {
		return NeedsApproval, strings.Join(required, ", ")
	}
	return answer, by
}
