package hcl

import "hatchel/hcl/diag"

// warnUnused warns about what is declared and read nowhere, once nothing is wrong any more: what is wrong may be what reads it.
func (l *loader) warnUnused() {
	if l.partial || l.diags.HasErrors() {
		return
	}
	for _, b := range l.blocks["variable"] {
		if m := l.variables[b.label(0)]; m != nil && !m.Used {
			l.diags.Warnf(diag.RangeOf(b.LabelRanges[0]), "Unused variable", "The variable %q is read nowhere.", b.label(0))
		}
	}
	for _, b := range l.blocks["secret"] {
		if m := l.secrets[b.label(0)]; m != nil && !m.Used {
			l.diags.Warnf(diag.RangeOf(b.LabelRanges[0]), "Unused secret", "The secret %q is read nowhere.", b.label(0))
		}
	}
	for _, b := range l.blocks["connection"] {
		if c := l.connectionsByKind[b.label(0)][b.label(1)]; c != nil && !l.used[c] && c.Range == diag.RangeOf(b.DefRange()) {
			l.diags.Warnf(c.Range, "Unused connection", "Nothing uses the connection %q.", c.Name)
		}
	}
	for _, w := range l.config.Webhooks {
		if !l.notified[w.Name] {
			l.diags.Warnf(w.Range, "Unused webhook", "Nothing is told to the webhook %q. Name it in notify of a task or of an approval.", w.Name)
		}
	}
}

// warnUnusedInputs warns about what a caller must fill in for nothing.
func (w *operationDecoder) warnUnusedInputs() {
	if w.dec.Diags.HasErrors() {
		return // what is wrong may be what reads them
	}
	for _, m := range w.op.Input.Members {
		r, declared := w.inputs.labelRanges[m.Name]
		if declared && !w.input.Members[m.Name].Used {
			w.dec.Diags.Warnf(r, "Unused "+w.inputs.noun, "The %s %q is read nowhere in this %s.", w.inputs.noun, m.Name, w.noun)
		}
	}
}
