package hcl

import (
	"cmp"
	"slices"
	"sort"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/eval/hclexpr"
	"hatchel/hcl/schema"
)

// Policy is one policy block: access rules for the tools, prompts and resources that it names.
type Policy struct {
	Name         string
	Tools        []string // names, or patterns with *; like Prompts and Resources
	Prompts      []string
	Resources    []string
	AppliesToAll bool               // it names nothing, so it applies to everything
	Allow        *hclexpr.Condition // nil for a policy without this rule, as Deny and Approve
	Deny         *hclexpr.Condition
	Approve      *hclexpr.Condition    // tool calls that need approval
	Approval     *Approval             // how, with Approve
	Message      *hclexpr.TextTemplate // the message for denied callers; nil for a default text
	Digest       string                // of the block and everything it refers to
	Range        diag.Range
}

// AppliesToTool reports whether the policy applies to the tool.
func (p *Policy) AppliesToTool(name string) bool { return p.AppliesToAll || matchesAny(p.Tools, name) }

// AppliesToPrompt reports whether the policy applies to the prompt.
func (p *Policy) AppliesToPrompt(name string) bool {
	return p.AppliesToAll || matchesAny(p.Prompts, name)
}

// AppliesToResource reports whether the policy applies to the resource.
func (p *Policy) AppliesToResource(name string) bool {
	return p.AppliesToAll || matchesAny(p.Resources, name)
}

// policyDecoder decodes a policy block.
type policyDecoder struct {
	exposedNames
	policy *Policy
}

// spec returns the spec of a policy block, in the order of the reference.
func (p *policyDecoder) spec() decode.Spec {
	return decode.Join(p.targetSpec(), p.ruleSpec(), decode.Spec{p.approvalField()})
}

func (p *policyDecoder) targetSpec() decode.Spec {
	const doc = " to which it applies: names, or patterns with * for any characters."
	return decode.Spec{
		p.namesField(&p.policy.Tools, "tools", "The tools"+doc),
		p.namesField(&p.policy.Prompts, "prompts", "The prompts"+doc),
		p.namesField(&p.policy.Resources, "resources", "The resources"+doc),
	}
}

func (p *policyDecoder) ruleSpec() decode.Spec {
	return decode.Spec{
		decode.Attr(&p.policy.Allow, "allow", "Who may call: an expression over caller, input and tool."),
		decode.Attr(&p.policy.Deny, "deny",
			"Calls to deny even if they are allowed: an expression over caller, input and tool."),
		decode.Attr(&p.policy.Approve, "approve",
			"Calls that need approval: an expression over caller, input and tool. It does not allow a call by itself."),
		decode.Attr(&p.policy.Message, "message", "The message for a caller that this policy denies."),
	}
}

// decodePolicies decodes the policy blocks, after the tools, prompts and resources that they can
// name.
func (l *loader) decodePolicies() {
	about := l.collectExposedNames()
	l.eachBlock("policy", func(d *decode.Decoder, b sourceBlock) {
		p := &policyDecoder{about, &Policy{Name: b.label(0), Range: diag.RangeOf(b.DefRange())}}
		deps := &dependencies{}
		d.Deps = &deps.Dependencies
		if !exposedNamePattern.MatchString(p.policy.Name) {
			d.Errorf(b.LabelRanges[0], "Invalid policy name",
				"The name of a policy appears in its decisions: 1 to 64 letters, digits, _, - and ., not %q.",
				p.policy.Name)
		}
		p.decode(d, b, l)
		p.policy.Digest = l.blockDigest(b, deps)
		l.markUsed(deps)
		l.report(d)
		if l.declare("policy", p.policy.Name, b) {
			l.config.Policies = append(l.config.Policies, p.policy)
		}
	})
	sort.Slice(l.config.Policies, func(i, j int) bool { return l.config.Policies[i].Name < l.config.Policies[j].Name })
}

func (p *policyDecoder) decode(d *decode.Decoder, b sourceBlock, l *loader) {
	about, rules := p.targetSpec(), append(p.ruleSpec(), p.approvalField())
	before := len(d.Diags)
	d.CheckNames(b.Body, about, rules)
	mistyped := d.Diags[before:].HasErrors()
	d.Fields(b.Body, about, b.DefRange())
	unclear := d.Diags[before:].HasErrors() || d.MissingValue
	named := func(name string) bool { return b.Body.Attributes[name] != nil }
	p.policy.AppliesToAll = !slices.ContainsFunc([]string{"tools", "prompts", "resources"}, named)
	switch {
	case mistyped:
	case !named("allow") && !named("deny") && !named("approve"):
		d.Errorf(b.DefRange(), "Policy without rule",
			"This policy has no rule. Add allow, deny or approve, as in: allow = \"'finance' in caller.groups\".")
	case !p.policy.AppliesToAll && len(p.policy.Tools)+len(p.policy.Prompts)+len(p.policy.Resources) == 0 && !unclear:
		d.Errorf(b.DefRange(), "Empty policy",
			"This policy applies to nothing. Name tools, as in tools = [\"invoice_*\"], or remove the list "+
				"to apply it to everything.")
	}
	input := inputsRoot(p.policy.operations(l.config))
	input.Partial = l.partial || unclear // unknown names may have inputs too
	d.Scope = l.call.With("tool", toolRoot()).With("input", input)
	d.Fields(b.Body, rules, b.DefRange())
	p.checkApproveRule(d, b, l.config)
	p.checkPublicCaches(d, b, l.config)
}

// operations returns the operations to which the policy applies.
func (p *Policy) operations(c *Config) (works []*Operation) {
	for _, t := range c.Tools {
		if p.AppliesToTool(t.Name) {
			works = append(works, &t.Operation)
		}
	}
	for _, x := range c.Prompts {
		if p.AppliesToPrompt(x.Name) {
			works = append(works, &x.Operation)
		}
	}
	for _, r := range c.Resources {
		if p.AppliesToResource(r.Name) {
			works = append(works, &r.Operation)
		}
	}
	return works
}

// checkPublicCaches reports resources with a public cache whose access depends on the caller.
func (p *policyDecoder) checkPublicCaches(d *decode.Decoder, b sourceBlock, c *Config) {
	if !readsCaller(p.policy.Allow) && !readsCaller(p.policy.Deny) {
		return
	}
	for _, r := range c.Resources {
		if r.CacheHint != nil && !r.CacheHint.Private && p.policy.AppliesToResource(r.Name) {
			d.Errorf(b.DefRange(), "Contradictory cache scope",
				"Access to the resource %q depends on the caller, but its cache has scope = \"public\", "+
					"which shares content between callers. Write scope = \"private\" there.", r.Name)
		}
	}
}

// readsCaller reports whether the condition depends on the caller. Nil does not.
func readsCaller(c *hclexpr.Condition) bool { return c != nil && c.Reads("caller") }

var toolRootType = schema.ObjectOf(
	&schema.Member{Name: "kind", Type: &schema.Type{Kind: schema.String,
		Enum: []schema.EnumValue{{Value: "tool"}, {Value: "prompt"}, {Value: "resource"}}}},
	&schema.Member{Name: "name", Type: eval.StringType},
	&schema.Member{Name: "title", Type: eval.StringType},
	&schema.Member{Name: "read_only", Type: eval.BoolType},
	&schema.Member{Name: "destructive", Type: eval.BoolType},
	&schema.Member{Name: "idempotent", Type: eval.BoolType},
	&schema.Member{Name: "open_world", Type: eval.BoolType},
)

// toolRoot returns the root tool for the rules of policies.
func toolRoot() *eval.Root {
	return &eval.Root{Noun: "member of tool", Type: toolRootType,
		Value: func(f *eval.Frame) (any, error) { return f.Tool, nil }}
}

// inputsRoot returns the root input for several operations, each of which has some of the inputs.
func inputsRoot(works []*Operation) *eval.Root {
	r := inputRoot(&schema.Type{Kind: schema.Object})
	having := map[string]int{}
	for _, w := range works {
		for _, m := range w.Input.Members {
			having[m.Name]++
			one := inputMember(m)
			if all := r.Members[m.Name]; all != nil {
				one.Type = schema.Unify(all.Type, one.Type)
				one.NullReason = cmp.Or(all.NullReason, one.NullReason)
			}
			r.Members[m.Name] = one
		}
	}
	for name, n := range having {
		if m := r.Members[name]; n < len(works) && m.NullReason == "" {
			m.NullReason = "not all tools of this policy have an input " + name + ", so it may be null here"
		}
	}
	return r
}
