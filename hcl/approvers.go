package hcl

import (
	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval/hclexpr"
)

// Approvals is the approvals block: who may decide about the calls that an operator must approve.
type Approvals struct {
	Allow *hclexpr.Condition // over caller, who decides, and tool, which was called
	Range diag.Range
}

func (a *Approvals) spec() decode.Spec {
	return decode.Spec{decode.Attr(&a.Allow, "allow", "Who may decide: a program over caller (who decides) and tool (which was called). Nobody decides about a call of their own.").Require()}
}

// decodeApprovals decodes the approvals block.
func (l *loader) decodeApprovals() {
	a := &Approvals{}
	d, b, ok := l.decodeSingletonIn("approvals", l.call.With("tool", toolRoot()), a.spec())
	if !ok {
		return
	}
	a.Range = diag.RangeOf(b.DefRange())
	if len(l.blocks["auth"]) == 0 && !l.partial {
		d.Errorf(b.DefRange(), "Approvals without auth", "Nobody is asked who they are, so it cannot be told who decides. Declare whom the server knows, as in auth { jwt { … } }, or leave this block out: hatchel approvals decides on this machine.")
	}
	l.diags = append(l.diags, d.Diags...)
	l.config.Approvals = a
}
