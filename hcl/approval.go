package hcl

import (
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Approval says that somebody must agree to a call before anything of it is done.
type Approval struct {
	When    *Condition // nil for every call; of a policy it is the rule approve
	Caller  bool       // the user of the client is asked; otherwise an operator is, out of band
	Timeout time.Duration
	Message *Message // what is to be agreed to; nil for a sentence made of the tool's name
	Notify  []string // the webhooks that are told when an operator is asked
	Range   Range
}

const (
	defaultApproval = 5 * time.Minute
	longestApproval = 7 * 24 * time.Hour
)

// newApproval is an approval as it is when nothing is said of it: by an operator, within five minutes.
func newApproval(r Range) *Approval { return &Approval{Timeout: defaultApproval, Range: r} }

func (a *Approval) whenSpec() Spec {
	return Spec{Attr(&a.When, "when", "Which calls need approval: a program over caller, input and tool. Without it every call does.")}
}

func (a *Approval) askSpec() Spec {
	a.Timeout = defaultApproval
	return Spec{
		either(&a.Caller, "by", `"operator": somebody who decides with hatchel approvals, or over HTTP, where the model cannot reach. It proves that somebody with the credential of an approver agreed to what was shown, not that it was a person. "caller": the user of the client, whom the client asks. It proves only what the client says.`, "operator", "caller").Or(`"operator"`),
		lasting(&a.Timeout, "timeout", "How long there is to decide, at most 168h; then the call is rejected. The timeout of the tool does not run meanwhile.", "Nobody decides in no time. Write how long there is, as in \"5m\".").Or("5m"),
		said(&a.Message, "message", "What is shown to who decides, above what the call would do. Without it a sentence with the name of the tool."),
		webhooksField(&a.Notify, "notify", "The webhooks that are told that an operator is asked, and later what was decided. Only with by = \"operator\"."),
	}
}

func approvalSpec(a *Approval) Spec { return Join(a.whenSpec(), a.askSpec()) }

// approvalField declares what calls of a tool need.
func (t *toolDecl) approvalField() Field {
	return labelled("approval", "", "Somebody must agree before anything is done, and is shown what would be. Each that holds must be given; what was agreed to is one call, and this one only.", func() Spec { return approvalSpec(&Approval{}) }, func(d *decoder, b *hclsyntax.Block) {
		a := newApproval(at(b.DefRange()))
		t.tool.Approvals = append(t.tool.Approvals, a)
		d.approval(a, b, a.whenSpec(), a.askSpec())
	})
}

// approvals decodes what calls of the tool need, when everything is known that a call has by then.
func (t *toolDecl) approvals() {
	d := t.dec
	around := d.scope
	d.scope = around.with("tool", calledRoot())
	d.fields(t.block.Body, Spec{t.approvalField()}, t.block.DefRange())
	d.scope = around
}

// approvalField declares how what the rule approve is about is approved.
func (p *policyDecl) approvalField() Field {
	p.policy.Approval = newApproval(p.policy.Range)
	return Field{Name: "approval", Doc: "Who approves what the rule approve asks for, and how. Without it an operator, within 5 minutes.", nested: func() Spec { return (&Approval{}).askSpec() }, block: func(d *decoder, b *hclsyntax.Block) {
		a := p.policy.Approval
		a.Range = at(b.DefRange())
		known := d.facts
		d.facts = known.and(p.policy.Approve)
		d.approval(a, b, nil, a.askSpec())
		d.facts = known
	}}
}

// approval decodes one approval block: first when it is needed, and then the rest, which may rest on that.
func (d *decoder) approval(a *Approval, b *hclsyntax.Block, when, ask Spec) {
	d.unknown(b.Body, when, ask)
	known := d.facts
	d.fields(b.Body, when, b.DefRange())
	if a.When != nil {
		d.facts = known.and(a.When)
	}
	d.fields(b.Body, ask, b.DefRange())
	d.facts = known
	if a.Timeout > longestApproval {
		d.errorf(b.Body.Attributes["timeout"].Expr.Range(), "Approval waits too long", "What somebody is to decide about is kept for 7 days at most: write timeout = \"168h\" or less.")
	}
	if notify, ok := b.Body.Attributes["notify"]; ok && a.Caller {
		d.errorf(notify.NameRange, "Nobody to notify", "by = \"caller\" asks the user of the client, who is there. Leave notify out, or write by = \"operator\".")
	}
}

// asksCaller reports whether the user of the client may have to agree to a call of the tool, as the tool itself says.
func (t *Tool) asksCaller() bool {
	for _, a := range t.Approvals {
		if a.Caller {
			return true
		}
	}
	return false
}

// approving reports what is wrong with the rule approve of a policy.
func (p *policyDecl) approving(d *decoder, b block, c *Config) {
	_, rule := b.Body.Attributes["approve"]
	how, block := p.policy.Approval, false
	for _, nested := range b.Body.Blocks {
		block = block || nested.Type == "approval"
	}
	switch {
	case !rule && block:
		d.diags.errorf(how.Range, "Approval without rule", "This says how calls are approved, and no rule says which. Write it, as in: approve = \"input.amount > 1000\".")
	case rule && !p.policy.Whole && b.Body.Attributes["tools"] == nil:
		d.errorf(b.Body.Attributes["approve"].NameRange, "Only tools are approved", "The policy is about prompts and resources, which change nothing, and approve is about calls of tools. Name those in tools = [\"invoice_*\"].")
	case rule && how.Caller:
		for _, called := range p.policy.calledSteps(c) {
			d.diags.errorf(how.Range, "Called tool asks", "The tool %q is called by a step of %q, and a tool can have the client asked for itself only. Write by = \"operator\", or leave the tool out of this policy.", called[0], called[1])
		}
	}
	if !rule {
		p.policy.Approval = nil
	}
}

// calledSteps are the tools that the policy is about and that are steps of something, each with what calls it.
func (p *Policy) calledSteps(c *Config) (called [][2]string) {
	look := func(w *Work) {
		for _, s := range w.Steps {
			if call, ok := s.Backend.Config.(*ToolCall); ok && call.Tool != nil && p.AboutTool(call.Name) {
				called = append(called, [2]string{call.Name, w.Name})
			}
		}
	}
	for _, t := range c.Tools {
		look(&t.Work)
	}
	for _, x := range c.Prompts {
		look(&x.Work)
	}
	for _, r := range c.Resources {
		look(&r.Work)
	}
	return called
}
