package runtime

import (
	"strconv"

	"hatchel/hcl"
	"hatchel/runtime/digest"
)

// approvalRule is one approval block of a tool, or the rule approve of a policy.
type approvalRule struct {
	name string         // by which decisions are told: tool.refund.approval, policy.large.approve
	when *hcl.Condition // nil for every call
	decl *hcl.Approval
}

// program is the rule as it is written.
func (r *approvalRule) program() string {
	if r.when == nil {
		return "true"
	}
	return r.when.Source()
}

// source is where the rule is written.
func (r *approvalRule) source() hcl.Range {
	if r.when == nil {
		return r.decl.Range
	}
	return r.when.Range
}

// approvals gathers what calls of a tool may need: its own first.
func (c *compiler) approvals(p *Program) {
	for i, decl := range p.tool.Approvals {
		name := "tool." + p.decl.Name + ".approval"
		if i > 0 {
			name += "." + strconv.Itoa(i+1)
		}
		p.approvalRules = append(p.approvalRules, &approvalRule{name, decl.When, decl})
	}
	for _, policy := range c.policies {
		if policy.approve != nil && policy.policy.AppliesToTool(p.decl.Name) {
			p.approvalRules = append(p.approvalRules, policy.approve)
		}
	}
	if len(p.approvalRules) == 0 {
		return
	}
	p.toolRoot = toolRoot(p.tool)
	parts := []string{p.decl.Digest, p.rules.identity()}
	for _, r := range p.approvalRules {
		p.asksClient = p.asksClient || r.decl.ByCaller
		if r.when != nil {
			parts = append(parts, r.name, r.when.Digest())
		}
	}
	for _, policy := range c.policies {
		if policy.approve != nil {
			parts = append(parts, policy.policy.Digest)
		}
	}
	p.approvalDigest = digest.Of(parts...).String()
}

func namesOf(rules []*approvalRule) []string {
	names := make([]string, len(rules))
	for i, r := range rules {
		names[i] = r.name
	}
	return names
}
