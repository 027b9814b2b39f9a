package hcl

import (
	"cmp"
	"slices"
	"sort"

	"hatchel/hcl/schema"
)

// Policy is one policy block: rules about who may call what it names.
type Policy struct {
	Name      string
	Tools     []string // names, or patterns with *; like Prompts and Resources
	Prompts   []string
	Resources []string
	Whole     bool       // it names nothing, so it is about everything
	Allow     *Condition // nil for a policy without this rule, as Deny and Approve
	Deny      *Condition
	Approve   *Condition // calls of tools that somebody must agree to
	Approval  *Approval  // how, with Approve
	Message   *Message   // what who is denied is told; nil for words that fit every rule
	Digest    string     // of the block and of everything it refers to
	Range     Range
}

// AboutTool reports whether the rules are about the tool of that name.
func (p *Policy) AboutTool(name string) bool { return p.Whole || matchesAny(p.Tools, name) }

// AboutPrompt reports whether the rules are about the prompt of that name.
func (p *Policy) AboutPrompt(name string) bool { return p.Whole || matchesAny(p.Prompts, name) }

// AboutResource reports whether the rules are about the resource of that name.
func (p *Policy) AboutResource(name string) bool { return p.Whole || matchesAny(p.Resources, name) }

// A policyDecl is a policy being decoded.
type policyDecl struct {
	offers
	policy *Policy
}

// spec is everything a policy block may hold, in the order of the reference.
func (p *policyDecl) spec() Spec {
	return Join(p.aboutSpec(), p.ruleSpec(), Spec{p.approvalField()})
}

func (p *policyDecl) aboutSpec() Spec {
	const doc = " it is about: names, or patterns in which * stands for any characters."
	return Spec{
		p.named(&p.policy.Tools, "tools", "The tools"+doc),
		p.named(&p.policy.Prompts, "prompts", "The prompts"+doc),
		p.named(&p.policy.Resources, "resources", "The resources"+doc),
	}
}

func (p *policyDecl) ruleSpec() Spec {
	return Spec{
		Attr(&p.policy.Allow, "allow", "Who may call: a program over caller, input and tool."),
		Attr(&p.policy.Deny, "deny", "What nobody may call, whatever is allowed: a program over caller, input and tool."),
		Attr(&p.policy.Approve, "approve", "Which calls somebody must approve before they are made: a program over caller, input and tool. It allows nothing by itself."),
		Attr(&p.policy.Message, "message", "What a caller is told whom this policy denies."),
	}
}

// policies decodes the policy blocks, when everything that they can be about is known.
func (l *loader) policies() {
	about := l.offered()
	for _, b := range l.blocks["policy"] {
		p := &policyDecl{about, &Policy{Name: b.label(0), Range: at(b.DefRange())}}
		d := l.decoder(b.file)
		d.uses = &uses{}
		if !offeredName.MatchString(p.policy.Name) {
			d.errorf(b.LabelRanges[0], "Invalid policy name", "Decisions are told by the name of their policy: 1 to 64 letters, digits, _, - and ., and %q cannot be one.", p.policy.Name)
		}
		p.decode(d, b, l)
		p.policy.Digest = l.digest(b, d.uses)
		l.note(d.uses)
		l.diags = append(l.diags, d.diags...)
		if l.claim("policy", p.policy.Name, b) {
			l.config.Policies = append(l.config.Policies, p.policy)
		}
	}
	sort.Slice(l.config.Policies, func(i, j int) bool { return l.config.Policies[i].Name < l.config.Policies[j].Name })
}

func (p *policyDecl) decode(d *decoder, b block, l *loader) {
	about, rules := p.aboutSpec(), append(p.ruleSpec(), p.approvalField())
	before := len(d.diags)
	d.unknown(b.Body, about, rules)
	mistyped := d.diags[before:].HasErrors()
	d.fields(b.Body, about, b.DefRange())
	unclear := d.diags[before:].HasErrors() || d.blind
	named := func(name string) bool { return b.Body.Attributes[name] != nil }
	p.policy.Whole = !slices.ContainsFunc([]string{"tools", "prompts", "resources"}, named)
	switch {
	case mistyped:
	case !named("allow") && !named("deny") && !named("approve"):
		d.errorf(b.DefRange(), "Policy without rule", "This policy decides nothing. A rule is allow, deny or approve, as in: allow = \"'finance' in caller.groups\".")
	case !p.policy.Whole && len(p.policy.Tools)+len(p.policy.Prompts)+len(p.policy.Resources) == 0 && !unclear:
		d.errorf(b.DefRange(), "Empty policy", "This policy is about nothing. Name what it is about, as in tools = [\"invoice_*\"], or drop the list, and it is about everything.")
	}
	input := inputsRoot(p.policy.about(l.config))
	input.partial = l.partial || unclear // what it names wrongly has inputs, too
	d.scope = d.shared.call.with("tool", calledRoot()).with("input", input)
	d.fields(b.Body, rules, b.DefRange())
	p.approving(d, b, l.config)
	p.shared(d, b, l.config)
}

// about are the works that the rules are about.
func (p *Policy) about(c *Config) (works []*Work) {
	for _, t := range c.Tools {
		if p.AboutTool(t.Name) {
			works = append(works, &t.Work)
		}
	}
	for _, x := range c.Prompts {
		if p.AboutPrompt(x.Name) {
			works = append(works, &x.Work)
		}
	}
	for _, r := range c.Resources {
		if p.AboutResource(r.Name) {
			works = append(works, &r.Work)
		}
	}
	return works
}

// shared reports documents that clients may keep for everybody although it depends on the caller whether they may be read.
func (p *policyDecl) shared(d *decoder, b block, c *Config) {
	if !p.policy.Allow.ofCaller() && !p.policy.Deny.ofCaller() {
		return
	}
	for _, r := range c.Resources {
		if r.Caching != nil && !r.Caching.Private && p.policy.AboutResource(r.Name) {
			d.errorf(b.DefRange(), "Untrue cache scope", "It depends on the caller who may read the resource %q, and its cache says scope = \"public\", which lets one caller see what another has read. Write scope = \"private\" there.", r.Name)
		}
	}
}

// ofCaller reports whether the condition depends on who calls. Nil does not.
func (c *Condition) ofCaller() bool { return c != nil && c.Reads("caller") }

var calledType = schema.ObjectOf(
	&schema.Member{Name: "kind", Type: &schema.Type{Kind: schema.String, Enum: []schema.EnumValue{{Value: "tool"}, {Value: "prompt"}, {Value: "resource"}}}},
	&schema.Member{Name: "name", Type: stringType},
	&schema.Member{Name: "title", Type: stringType},
	&schema.Member{Name: "read_only", Type: boolType},
	&schema.Member{Name: "destructive", Type: boolType},
	&schema.Member{Name: "idempotent", Type: boolType},
	&schema.Member{Name: "open_world", Type: boolType},
)

// calledRoot is what is called, for the rules of policies.
func calledRoot() *root {
	return &root{noun: "member of tool", typ: calledType, whole: func(f *Frame) (any, error) { return f.Tool, nil }}
}

// inputsRoot is the inputs of several works, each of which has some of them.
func inputsRoot(works []*Work) *root {
	r := inputRoot(&schema.Type{Kind: schema.Object})
	having := map[string]int{}
	for _, w := range works {
		for _, m := range w.Input.Members {
			having[m.Name]++
			one := inputMember(m)
			if all := r.members[m.Name]; all != nil {
				one.typ = schema.Unify(all.typ, one.typ)
				one.nullable = cmp.Or(all.nullable, one.nullable)
			}
			r.members[m.Name] = one
		}
	}
	for name, n := range having {
		if m := r.members[name]; n < len(works) && m.nullable == "" {
			m.nullable = "not everything that this policy is about has an input " + name + ", so it may be null here"
		}
	}
	return r
}
