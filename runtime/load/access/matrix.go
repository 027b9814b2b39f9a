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

// Tool is the row of one tool.
type Tool struct {
	Name    string            `json:"name"`
	Answers map[string]Answer `json:"answers"` // by Caller.Name
}

// Matrix says for each tool which callers may call it.
type Matrix struct {
	Callers []Caller `json:"callers"`
	Tools   []Tool   `json:"tools"` // by name
	// Unknown are parts of the caller, as in caller.claims.tenant, that rules read and that callers of the matrix
	// do not have. The answers are those for a caller without them.
	Unknown []string `json:"unknown"`
	// Needs are sentences about what tools need of the caller to act in a database.
	Needs []string `json:"needs,omitempty"`
}

// New answers for each tool of a configuration without errors and each caller. It makes no call.
func New(cfg *hcl.Config, callers []Caller) *Matrix {
	all := rows(cfg, cfg.Tools, callers)
	callers = withoutRepetitions(callers, all)
	return &Matrix{Callers: callers, Tools: all, Unknown: unknownParts(cfg, callers),
		Needs: identityNotes(cfg)}
}

// withoutRepetitions returns the callers without the candidates that are none of their own, whose answers it removes.
func withoutRepetitions(callers []Caller, rows []Tool) (kept []Caller) {
	same := func(a, b Caller) bool {
		return !slices.ContainsFunc(rows, func(t Tool) bool { return t.Answers[a.Name] != t.Answers[b.Name] })
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

// rows returns the rows of some tools of a configuration, by name.
func rows(cfg *hcl.Config, tools []*hcl.Tool, callers []Caller) []Tool {
	all := []Tool{}
	evaluations := make([]*policy.Evaluation, len(callers))
	frameOf := func(root eval.Caller) *hcl.Frame {
		frame := eval.NewLoadFrame("", time.Now)
		frame.Caller = root
		return frame
	}
	for i, c := range callers {
		evaluations[i] = policy.NewListEvaluation(frameOf(call.CallerRoot(c.caller)))
		evaluations[i].Weigh = true
	}
	policies := policy.New(cfg)
	for _, tool := range tools {
		r := newToolRules(cfg, policies, tool)
		row := Tool{tool.Name, make(map[string]Answer, len(callers))}
		for i, c := range callers {
			if r.readCall { // with locals of the tool, which a frame keeps
				evaluations[i].Frame = frameOf(evaluations[i].Frame.Caller)
			}
			row.Answers[c.Name] = r.decide(c, evaluations[i])
		}
		all = append(all, row)
	}
	slices.SortFunc(all, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// toolRules are all rules about the calls of one tool.
type toolRules struct {
	rules     *policy.Rules // nil for none
	approvals []*policy.Rule
	approved  bool // every call needs an approval
	root      map[string]any
	scopes    []string
	readCall  bool // a rule reads the data of a call
}

func newToolRules(cfg *hcl.Config, policies *policy.Policies, tool *hcl.Tool) *toolRules {
	r := &toolRules{root: policy.ToolRoot(tool), scopes: requiredScopes(&tool.Operation, map[*hcl.Operation]bool{})}
	applies := func(p *hcl.Policy) bool { return p.AppliesToTool(tool.Name) }
	r.rules = policies.Rules("tool", &tool.Operation, r.root, applies)
	r.readCall = r.rules != nil && r.rules.ReadsInputs()
	for _, a := range tool.Approvals {
		r.readCall = r.readCall || a.When != nil && a.When.DependsOnCall()
		if a.When == nil {
			r.approved = true
			continue
		}
		r.approvals = append(r.approvals, policy.NewRule("tool."+tool.Name+".approval", a.When))
	}
	for _, p := range cfg.Policies {
		if p.Approve != nil && applies(p) {
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
// of it.
func (r *toolRules) decide(c Caller, e *policy.Evaluation) Answer {
	if i := c.caller.Identity; i != nil && len(i.MissingScopes(r.scopes)) > 0 {
		return No
	}
	answer := Yes
	if r.rules != nil {
		switch r.rules.Decide(e).Verdict {
		case policy.Denied:
			return No
		case policy.Undecided:
			answer = Depends
		}
	}
	return r.withApprovals(answer, e)
}

// withApprovals returns what the approvals make of an answer other than No. One that cannot be evaluated denies.
func (r *toolRules) withApprovals(answer Answer, e *policy.Evaluation) Answer {
	e.Frame.Tool = r.root
	required := r.approved
	for _, rule := range r.approvals {
		switch rule.State(e).Says {
		case "error":
			return No
		case "true":
			required = true
		case "":
			answer = Depends
		}
	}
	if required && answer == Yes {
		return NeedsApproval
	}
	return answer
}
