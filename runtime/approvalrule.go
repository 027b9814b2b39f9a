package runtime

import (
	"strconv"

	"hatchel/hcl"
	"hatchel/runtime/digest"
	"hatchel/runtime/policy"
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
	for _, policy := range c.g.Config.Policies {
		if policy.Approve != nil && policy.AppliesToTool(p.decl.Name) {
			p.approvalRules = append(p.approvalRules, &approvalRule{"policy." + policy.Name + ".approve", policy.Approve, policy.Approval})
		}
	}
	if len(p.approvalRules) == 0 {
		return
	}
	p.toolRoot = policy.ToolRoot(p.tool)
	parts := []string{p.decl.Digest, p.rules.Digest()}
	for _, r := range p.approvalRules {
		p.asksClient = p.asksClient || r.decl.ByCaller
		if r.when != nil {
			parts = append(parts, r.name, r.when.Digest())
		}
	}
	for _, policy := range c.g.Config.Policies {
		if policy.Approve != nil {
			parts = append(parts, policy.Digest)
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
