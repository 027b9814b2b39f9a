package runtime

import (
	"hatchel/hcl"
	"hatchel/runtime/policy"
)

// authorize compiles the policies, and gives every operation the rules about it.
func (c *compiler) authorize() {
	policies := policy.New(c.g.Config)
	for _, p := range c.g.sortedPrograms {
		applies := func(policy *hcl.Policy) bool { return policy.AppliesToTool(p.decl.Name) }
		p.rules = policies.Rules(p.kind, p.decl, policy.ToolRoot(p.tool), applies)
		c.approvals(p)
	}
	for _, p := range c.g.prompts {
		applies := func(policy *hcl.Policy) bool { return policy.AppliesToPrompt(p.decl.Name) }
		p.rules = policies.Rules(p.kind, p.decl, policy.OperationRoot(p.kind, p.decl, p.prompt.Title), applies)
	}
	for _, r := range c.g.resources {
		applies := func(policy *hcl.Policy) bool { return policy.AppliesToResource(r.decl.Name) }
		r.rules = policies.Rules(r.kind, r.decl, policy.OperationRoot(r.kind, r.decl, r.resource.Title), applies)
	}
}
