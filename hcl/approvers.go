package hcl

// Approvals is the approvals block: who may decide about the calls that an operator must approve.
type Approvals struct {
	Allow *Condition // over caller, who decides, and tool, which was called
	Range Range
}

func (a *Approvals) spec() Spec {
	return Spec{Attr(&a.Allow, "allow", "Who may decide: a program over caller (who decides) and tool (which was called). Nobody decides about a call of their own.").Require()}
}

// approvers decodes the approvals block.
func (l *loader) approvers() {
	a := &Approvals{}
	d, b, ok := l.singleIn("approvals", l.call.with("tool", calledRoot()), a.spec())
	if !ok {
		return
	}
	a.Range = at(b.DefRange())
	if len(l.blocks["auth"]) == 0 && !l.partial {
		d.errorf(b.DefRange(), "Approvals without auth", "Nobody is asked who they are, so it cannot be told who decides. Declare whom the server knows, as in auth { jwt { … } }, or leave this block out: hatchel approvals decides on this machine.")
	}
	l.diags = append(l.diags, d.diags...)
	l.config.Approvals = a
}
