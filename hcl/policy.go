package hcl

import (
	"slices"
	"strings"

	"hatchel/hcl/decode"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
)

// Policy is one policy block: access rules for the tools, prompts, resources and skills that it names.
type Policy struct {
	Name string
	Targets
	AppliesToAll bool       // it names nothing, so it applies to everything
	Allow        *Condition // nil for a policy without this rule, as Deny and Approve
	Deny         *Condition
	Approve      *Condition    // tool calls that need approval
	Approval     *Approval     // how, with Approve
	Message      *TextTemplate // the message for denied callers; nil for a default text
	Digest       string        // of the block and everything it refers to
	Range        Range
}

// AppliesToTool reports whether the policy applies to the tool.
func (p *Policy) AppliesToTool(name string) bool { return p.appliesTo("tools", name) }

// AppliesToPrompt reports whether the policy applies to the prompt.
func (p *Policy) AppliesToPrompt(name string) bool { return p.appliesTo("prompts", name) }

// AppliesToResource reports whether the policy applies to the resource.
func (p *Policy) AppliesToResource(name string) bool { return p.appliesTo("resources", name) }

// AppliesToAny reports whether the policy applies to a tool, prompt, resource or skill of the configuration, or to all.
func (p *Policy) AppliesToAny(c *Config) bool {
	return p.AppliesToAll || len(p.operations(c.operations())) > 0
}

func (p *Policy) appliesTo(list, name string) bool { return p.AppliesToAll || p.names(list, name) }

// spec returns the spec of a policy block, in the order of the reference.
func (p *Policy) spec() decode.Spec { return append(p.targetSpec(exposedNames{}), p.ruleSpec()...) }

func (p *Policy) targetSpec(known exposedNames) decode.Spec {
	return p.Targets.spec(known, " to which it applies: names, or patterns with * for any characters.")
}

func (p *Policy) ruleSpec() decode.Spec {
	return decode.Spec{
		decode.Attr(&p.Allow, "allow", "Who may call: an expression over caller, input and tool."),
		decode.Attr(&p.Deny, "deny",
			"Calls to deny even if they are allowed: an expression over caller, input and tool."),
		decode.Attr(&p.Approve, "approve",
			"Calls that need approval: an expression over caller, input and tool. It does not allow a call by itself."),
		decode.Attr(&p.Message, "message", "The message for a caller that this policy denies."),
		p.approvalField(),
	}
}

// decodePolicies decodes the policy blocks, after the tools, prompts, resources and skills that they can
// name.
func (l *loader) decodePolicies() {
	known := l.collectExposedNames()
	l.eachBlock("policy", func(d *decode.Decoder, b sourceBlock) {
		p := &Policy{Name: b.Labels[0], Range: headerRange(b.Block)}
		checkExposedName(d, b.Block, "policy", "appears in its decisions")
		p.decode(d, b, l, known)
		p.Digest = l.blockDigest(b, &dependencies{Dependencies: *d.Deps})
		if l.declare("policy", p.Name, b) {
			l.config.Policies = append(l.config.Policies, p)
		}
	})
	slices.SortFunc(l.config.Policies, func(a, b *Policy) int { return strings.Compare(a.Name, b.Name) })
}

func (p *Policy) decode(d *decode.Decoder, b sourceBlock, l *loader, known exposedNames) {
	targets, rules := p.targetSpec(known), p.ruleSpec()
	before := len(d.Diags)
	d.CheckNames(b.Block, targets, rules)
	mistyped := d.Diags[before:].HasErrors()
	d.Fields(b.Block, targets)
	unclear := d.Diags[before:].HasErrors() || d.MissingValue
	named := func(name string) bool { return b.Body.Attributes[name] != nil }
	p.AppliesToAll = !slices.ContainsFunc([]string{"tools", "prompts", "resources", "skills"}, named)
	switch {
	case mistyped:
	case !named("allow") && !named("deny") && !named("approve"):
		d.Errorf(b.DefRange(), "Policy without rule",
			"This policy has no rule. Add allow, deny or approve, as in: allow = \"'finance' in caller.groups\".")
	case !p.AppliesToAll && p.isEmpty() && !unclear:
		d.Errorf(b.DefRange(), "Empty policy", "This policy applies to nothing. Name tools, as in tools = "+
			"[\"invoice_*\"], or remove the list to apply it to everything.")
	}
	input := inputsRoot(p.operations(append(l.config.operations(), l.disabled...)))
	input.Partial = l.partial || unclear // unknown names may have inputs too
	d.Scope = l.call.With("tool", toolRoot()).With("input", input)
	d.Fields(b.Block, rules)
	p.checkApproveRule(d, b, l.config)
	p.checkPublicCaches(d, b, l.config)
}

// operations returns those of all operations to which the policy applies.
func (p *Policy) operations(all []listedOperation) (works []*Operation) {
	for _, w := range all {
		if p.appliesTo(w.list, w.Name) {
			works = append(works, w.Operation)
		}
	}
	return works
}

// checkPublicCaches reports resources with a public cache whose access depends on the caller.
func (p *Policy) checkPublicCaches(d *decode.Decoder, b sourceBlock, c *Config) {
	if !readsCaller(p.Allow) && !readsCaller(p.Deny) {
		return
	}
	for _, r := range c.Resources {
		if r.CacheHint != nil && r.CacheHint.Public && p.AppliesToResource(r.Name) {
			d.Errorf(b.DefRange(), "Contradictory cache scope",
				"Access to the resource %q depends on the caller, but its cache has scope = \"public\", "+
					"which shares content between callers. Write scope = \"private\" there.", r.Name)
		}
	}
}

// readsCaller reports whether the condition depends on the caller. Nil does not.
func readsCaller(c *Condition) bool { return c != nil && c.Reads("caller") }

var toolRootType = schema.ObjectOf(
	&schema.Member{Name: "kind", Type: enumOf("tool", "prompt", "resource", "skill")},
	&schema.Member{Name: "name", Type: eval.StringType},
	&schema.Member{Name: "title", Type: eval.StringType},
	&schema.Member{Name: "read_only", Type: eval.BoolType},
	&schema.Member{Name: "destructive", Type: eval.BoolType},
	&schema.Member{Name: "idempotent", Type: eval.BoolType},
	&schema.Member{Name: "open_world", Type: eval.BoolType},
	&schema.Member{Name: "upstreams", Type: schema.ListOf(eval.StringType)},
)

// toolRoot returns the root tool for the rules of policies.
func toolRoot() *eval.Root {
	return callRoot("tool", toolRootType, func(f *eval.Frame) any { return f.Tool })
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
				one.Type, one.Facts = schema.Unify(all.Type, one.Type), eval.Either(all.Typed(), one.Typed())
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
