package call

import (
	"hatchel/hcl"
	"hatchel/internal/digest"
	"hatchel/runtime/stage/policy"
)

// ApprovalRule is one approval block of a tool, or the approve rule of a policy.
type ApprovalRule struct {
	Name string         // as decisions name it: tool.refund.approval, policy.large.approve
	when *hcl.Condition // nil for every call
	decl *hcl.Approval
}

// Program returns the condition as it is written.
func (r *ApprovalRule) Program() string {
	if r.when == nil {
		return "true"
	}
	return r.when.Source()
}

// Range returns where the rule is written.
func (r *ApprovalRule) Range() hcl.Range {
	if r.when == nil {
		return r.decl.Range
	}
	return r.when.Range
}

// DeclRange returns where the approval is declared.
func (r *ApprovalRule) DeclRange() hcl.Range { return r.decl.Range }

// AddApprovals adds the approvals that calls of the tool may need: its own, then those of policies.
// The rules of the program must be set.
func (p *Program) AddApprovals(policies []*hcl.Policy) {
	for i, decl := range p.tool.Approvals {
		p.Approvals = append(p.Approvals, &ApprovalRule{policy.ApprovalName(p.Decl.Name, i), decl.When, decl})
	}
	parts := []string{p.Decl.Digest, p.Rules.Digest()}
	var digests []string
	for _, pol := range policies {
		if pol.Approve == nil {
			continue
		}
		digests = append(digests, pol.Digest)
		if pol.AppliesToTool(p.Decl.Name) {
			rule := &ApprovalRule{"policy." + pol.Name + ".approve", pol.Approve, pol.Approval}
			p.Approvals = append(p.Approvals, rule)
		}
	}
	if len(p.Approvals) == 0 {
		return
	}
	p.toolRoot = policy.ToolRoot(p.tool)
	for _, r := range p.Approvals {
		p.AsksClient = p.AsksClient || r.decl.ByCaller
		if r.when != nil {
			parts = append(parts, r.Name, r.when.Digest())
		}
	}
	p.approvalDigest = digest.Of(append(parts, digests...)...).String()
}

func ruleNames(rules []*ApprovalRule) []string {
	names := make([]string, len(rules))
	for i, r := range rules {
		names[i] = r.Name
	}
	return names
}
