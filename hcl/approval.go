package hcl

import (
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
)

// Approval is one approval block: it requires consent before a call has any effect.
type Approval struct {
	When     *Condition // nil for every call; in a policy, the rule approve
	ByCaller bool       // the user of the client decides; otherwise an operator, out of band
	Timeout  time.Duration
	Message  *TextTemplate // nil for a default text
	Notify   []string      // the webhooks to notify when approval is requested
	Before   []*Before     // what the approver is shown of the state before the call; of tools only
	Range    Range
}

// Before is a before block: a backend that reads what the approver is shown beside the effect of a call. Its only
// step reads the inputs of the tool.
type Before struct {
	Operation
	Label string
}

// beforeTimeout is how long a before block may take.
const beforeTimeout = 5 * time.Second

const (
	defaultApprovalTimeout = 5 * time.Minute
	maxApprovalTimeout     = 7 * 24 * time.Hour
)

func (a *Approval) whenField() decode.Field {
	return decode.Guard(&a.When, "when",
		"Which calls need approval: an expression over caller, input and tool. By default every call does.")
}

func (a *Approval) askSpec() decode.Spec {
	a.Timeout = defaultApprovalTimeout
	return decode.Spec{
		decode.BoolChoice(&a.ByCaller, "by", `"operator": an approver decides with hatchel approvals or over HTTP, `+
			`out of reach of the model. This proves that the holder of an approver's credential agreed to what was `+
			`shown, not that it was a person. "caller": the client asks its user. This proves only what the client `+
			`reports.`, "operator", "caller").DefaultDoc(`"operator"`),
		decode.PositiveDuration(&a.Timeout, "timeout", "The time to decide, at most 168h; then the call is rejected. "+
			"The timeout of the tool is paused meanwhile.").DefaultDoc("5m").Check(a.checkTimeout),
		decode.MessageAttr(&a.Message, "message", "The text shown to the approver, above what the call would do. By "+
			"default a sentence with the name of the tool."),
		webhooksField(&a.Notify, "notify", "The webhooks that are notified when approval is requested and when it is "+
			"decided. Only with by = \"operator\"."),
	}
}

// approvalSpec is the spec of an approval block of a tool. Before decodes its before blocks.
func approvalSpec(a *Approval, before func(*decode.Decoder, *hclsyntax.Block)) decode.Spec {
	return append(append(decode.Spec{a.whenField()}, a.askSpec()...),
		decode.Blocks("before", "name", "Reads the state that the call would change, with one backend block that "+
			"changes nothing, and shows it to the approver with the time. It runs when approval is requested, and "+
			"again when the approver asks for it. All before blocks of a call have 5 seconds and show at most 32 KiB "+
			"together. Only with by = \"operator\".", func() decode.Spec { return nil }, before))
}

func (a *Approval) checkTimeout(d *decode.Decoder, r Range) {
	if a.Timeout > maxApprovalTimeout {
		d.Diags.Errorf(r, "Approval timeout too long",
			"Pending approvals are kept for at most 7 days: write timeout = \"168h\" or less.")
	}
}

// approvalField declares the approval blocks of a tool.
func (t *toolDecoder) approvalField() decode.Field {
	return decode.Blocks("approval", "", "Requires approval before the call does anything; the approver is shown "+
		"what it would do. If several blocks apply, all of them are required. An approval is for one call "+
		"only.", func() decode.Spec { return approvalSpec(&Approval{}, nil) },
		func(d *decode.Decoder, b *hclsyntax.Block) {
			a := &Approval{Range: headerRange(b)}
			t.tool.Approvals = append(t.tool.Approvals, a)
			a.decode(d, b, approvalSpec(a, func(d *decode.Decoder, b *hclsyntax.Block) { t.decodeBefore(d, a, b) }))
			if a.ByCaller && len(a.Before) > 0 {
				d.Errorf(decode.FindBlock(b.Body, "before").DefRange(), "State not shown",
					"by = \"caller\" asks the user of the client, who is shown only what the call does. Remove "+
						"before, or write by = \"operator\".")
			}
		})
}

// decodeBefore decodes one before block of an approval, in the scope of the approval.
func (t *toolDecoder) decodeBefore(d *decode.Decoder, a *Approval, b *hclsyntax.Block) {
	if len(b.Labels) != 1 {
		d.Errorf(b.TypeRange, "Wrong number of labels", "A before block is written `before \"name\" {`.")
		return
	}
	out := &Before{Label: b.Labels[0]}
	w := newOperationDecoder(t.loader, sourceBlock{Block: b, file: t.block.file}, "before block", &out.Operation)
	out.Name, out.Input, out.Timeout = t.op.Name+".approval."+out.Label, t.op.Input, beforeTimeout
	w.inputs, w.singleBackend = t.inputs, true
	inner := w.dec
	w.deps, inner.Deps, inner.Observer, inner.Scope, inner.NonNull = t.deps, d.Deps, d.Observer, d.Scope, d.NonNull
	checkExposedName(d, b, "before", "is shown to the approver")
	if slices.ContainsFunc(a.Before, func(other *Before) bool { return other.Label == out.Label }) {
		const text = "There is already a before block %q in this approval."
		d.Errorf(b.LabelRanges[0], "Duplicate before", text, out.Label)
	}
	inner.CheckNames(b, t.loader.blockSpecs.backends)
	w.decodeSteps()
	switch {
	case len(out.Steps) == 0 && !inner.Diags.HasErrors():
		d.Errorf(b.DefRange(), "Missing backend", "A before block has one backend block that reads what the approver "+
			"is shown, as in sql \"shop\" { query = \"SELECT …\" }.")
	case len(out.Steps) == 1:
		checkReads(inner, out.Steps[0].Backend)
	}
	a.Before, t.op.Before = append(a.Before, out), append(t.op.Before, out)
	d.Diags = append(d.Diags, inner.Diags...)
}

// checkReads reports a backend of a before block that may change something, or shows nothing.
func checkReads(d *decode.Decoder, b *Backend) {
	_, callsTool := b.Config.(*ToolCall)
	switch {
	case callsTool:
		d.Diags.Errorf(b.Range, "Tool in before", "A before block has a backend block of its own, so that what it "+
			"reads needs no approval and no policy. Write the backend of the tool here.")
	case b.Effects.unknown:
	case !b.Effects.ReadOnly:
		d.Diags.Errorf(b.Range, "Effect not allowed", "A before block runs before the call is approved, so it must "+
			"not change anything. This %s block may; use one that only reads.", b.Kind)
	case !b.Effects.Default.isSet():
		d.Diags.Errorf(b.Range, "No result", "This %s block reads bytes, which an approver is not shown. Read text or "+
			"JSON.", b.Kind)
	}
}

// decodeApprovals decodes the approval blocks of the tool, after its inputs and checks.
func (t *toolDecoder) decodeApprovals() {
	d := t.dec
	d.In(d.Scope.With("tool", toolRoot()), func() {
		d.Fields(t.block.Block, decode.Spec{t.guard(t.approvalField())})
	})
}

// approvalField declares the approval block of a policy.
func (p *Policy) approvalField() decode.Field {
	p.Approval = &Approval{Timeout: defaultApprovalTimeout, Range: p.Range}
	return decode.Field{Name: "approval",
		Doc: "Who approves the calls that the rule approve selects, and how. By default an operator, within " +
			"5 minutes.", NestedSpec: func() decode.Spec { return (&Approval{}).askSpec() },
		DecodeBlock: func(d *decode.Decoder, b *hclsyntax.Block) {
			a := p.Approval
			a.Range = headerRange(b)
			d.In(d.Scope, func() {
				d.NonNull = d.NonNull.Add(p.Approve.NonNullWhenTrue())
				a.decode(d, b, a.askSpec())
			})
		}}
}

func (a *Approval) decode(d *decode.Decoder, b *hclsyntax.Block, spec decode.Spec) {
	d.Body(b, spec)
	if notify, ok := b.Body.Attributes["notify"]; ok && a.ByCaller {
		d.Errorf(notify.NameRange, "Notification not possible",
			"by = \"caller\" asks the user of the client directly. Remove notify, or write by = \"operator\".")
	}
}

// asksUser reports whether the tool itself may require the consent of the client's user.
func (t *Tool) asksUser() bool {
	return slices.ContainsFunc(t.Approvals, func(a *Approval) bool { return a.ByCaller })
}

// checkApproveRule reports mistakes in the rule approve of a policy.
func (p *Policy) checkApproveRule(d *decode.Decoder, b sourceBlock, c *Config) {
	_, rule := b.Body.Attributes["approve"]
	how, block := p.Approval, decode.FindBlock(b.Body, "approval") != nil
	switch {
	case !rule && block:
		d.Diags.Errorf(how.Range, "Approval without rule", "The block says how calls are approved, but no rule says "+
			"which calls. Add one, as in: approve = \"input.amount > 1000\".")
	case rule && !p.AppliesToAll && b.Body.Attributes["tools"] == nil:
		d.Errorf(b.Body.Attributes["approve"].NameRange, "Only tools are approved", "The policy applies to prompts "+
			"and resources, and approve applies only to tool calls. Name tools in tools = [\"invoice_*\"].")
	case rule && how.ByCaller:
		for _, called := range p.toolsCalledBySteps(c) {
			d.Diags.Errorf(how.Range, "Nested tool asks the client",
				"The tool %q is called by a step of %q, and only a tool that the client called can ask the "+
					"client. Write by = \"operator\", or exclude the tool from this policy.", called[0], called[1])
		}
	}
	if !rule {
		p.Approval = nil
	}
}

// toolsCalledBySteps returns the tools of the policy that steps call, each with its caller.
func (p *Policy) toolsCalledBySteps(c *Config) (called [][2]string) {
	for _, w := range c.operations() {
		for _, s := range w.Steps {
			if call, ok := s.Backend.Config.(*ToolCall); ok && call.Tool != nil && p.AppliesToTool(call.Name) {
				called = append(called, [2]string{call.Name, w.Name})
			}
		}
	}
	return called
}

// Approvals is the approvals block: who may decide pending approvals over HTTP.
type Approvals struct {
	Allow *Condition // over caller (the approver) and tool (the called tool)
	Tool  bool       // there is the tool pending_approvals
	Range Range
}

func (a *Approvals) spec() decode.Spec {
	return decode.Spec{decode.Attr(&a.Allow, "allow", "Who may decide: an expression over caller (the approver) and "+
		"tool (the called tool). A caller cannot decide about their own call.").Require(), a.toolField()}
}

// decodeApprovers decodes the approvals block.
func (l *loader) decodeApprovers() {
	l.onlyBlock("approvals", func(d *decode.Decoder, b sourceBlock) {
		a := &Approvals{Range: headerRange(b.Block)}
		d.Scope = l.call.With("tool", toolRoot())
		d.Body(b.Block, a.spec())
		if len(l.blocks["auth"]) == 0 && !l.partial {
			d.Errorf(b.DefRange(), "Approvals without auth",
				"Approvers cannot be identified without authentication. Declare it, as in auth { jwt { … } }, "+
					"or remove this block and decide with hatchel approvals on this machine.")
		}
		l.config.Approvals = a
	})
}
