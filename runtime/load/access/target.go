package access

import (
	"hatchel/hcl"
	"hatchel/runtime/stage/policy"
)

// Target is what callers may use or not: a tool, a prompt, a resource or a skill.
type Target struct {
	kind    string
	op      *hcl.Operation
	tool    *hcl.Tool // nil for another target
	root    map[string]any
	applies func(*hcl.Policy) bool
}

// ToolTarget returns a tool as a Target.
func ToolTarget(t *hcl.Tool) Target {
	applies := func(p *hcl.Policy) bool { return p.AppliesToTool(t.Name) }
	return Target{"tool", &t.Operation, t, policy.ToolRoot(t), applies}
}

func toolTargets(tools []*hcl.Tool) []Target {
	targets := make([]Target, len(tools))
	for i, t := range tools {
		targets[i] = ToolTarget(t)
	}
	return targets
}

// PromptTarget returns a prompt as a Target.
func PromptTarget(p *hcl.Prompt) Target {
	applies := func(pol *hcl.Policy) bool { return pol.AppliesToPrompt(p.Name) }
	return Target{"prompt", &p.Operation, nil, policy.OperationRoot("prompt", &p.Operation, p.Title), applies}
}

// ResourceTarget returns a resource as a Target.
func ResourceTarget(r *hcl.Resource) Target {
	applies := func(pol *hcl.Policy) bool { return pol.AppliesToResource(r.Name) }
	return Target{"resource", &r.Operation, nil, policy.OperationRoot("resource", &r.Operation, r.Title), applies}
}

// SkillTarget returns a skill as a Target.
func SkillTarget(s *hcl.Skill) Target {
	applies := func(pol *hcl.Policy) bool { return pol.AppliesToSkill(s.Name) }
	return Target{"skill", &s.Operation, nil, policy.OperationRoot("skill", &s.Operation, ""), applies}
}

// Answers returns the answers of some targets, by name, in the order of the callers.
func Answers(cfg *hcl.Config, targets []Target, callers []Caller) map[string][]Answer {
	all := make(map[string][]Answer, len(targets))
	for _, row := range rows(cfg, targets, callers) {
		answers := make([]Answer, len(callers))
		for i, c := range callers {
			answers[i] = row.Answers[c.Name]
		}
		all[row.Name] = answers
	}
	return all
}

// Explanation says how an answer comes about.
type Explanation struct {
	Answer Answer
	// By is the rule that decides, as in policy.finance.deny; several with commas, and empty where it depends on the
	// input.
	By     string
	Scopes []string           // that the caller lacks
	Rules  []policy.RuleState // in the order in which they are evaluated
}

// Explain says how the answer for a caller comes about, before there is a call.
func Explain(cfg *hcl.Config, t Target, c Caller) *Explanation {
	r, out := newTargetRules(cfg, policy.New(cfg), t), new(Explanation)
	e := c.newEvaluation()
	out.Answer, out.By = r.decide(c, e)
	out.Scopes = r.missingScopes(c)
	if r.signIn != nil && !c.isKey {
		out.Rules = append(out.Rules, policy.NewRule(signInRuleName, r.signIn).State(c.newEvaluation()))
	}
	e.Frame.Tool = r.root
	if r.rules != nil {
		for _, rule := range r.rules.All() {
			out.Rules = append(out.Rules, rule.State(e))
		}
	}
	for i, name := range r.approved {
		decl := unconditional(t.tool.Approvals)[i]
		out.Rules = append(out.Rules, policy.RuleState{Rule: name, Program: "true", Says: "true", Range: decl.Range})
	}
	for _, rule := range r.approvals {
		out.Rules = append(out.Rules, rule.State(e))
	}
	return out
}

// unconditional returns the approvals that every call needs.
func unconditional(all []*hcl.Approval) (out []*hcl.Approval) {
	for _, a := range all {
		if a.When == nil {
			out = append(out, a)
		}
	}
	return out
}
