package hcl

// unused warns about what is declared and read nowhere, once nothing is wrong any more: what is wrong may be what reads it.
func (l *loader) unused() {
	if l.partial || l.diags.HasErrors() {
		return
	}
	for _, b := range l.blocks["variable"] {
		if m := l.variables[b.label(0)]; m != nil && !m.used {
			l.diags.warnf(at(b.LabelRanges[0]), "Unused variable", "The variable %q is read nowhere.", b.label(0))
		}
	}
	for _, b := range l.blocks["secret"] {
		if m := l.secrets[b.label(0)]; m != nil && !m.used {
			l.diags.warnf(at(b.LabelRanges[0]), "Unused secret", "The secret %q is read nowhere.", b.label(0))
		}
	}
	for _, b := range l.blocks["connection"] {
		if c := l.linked[b.label(0)][b.label(1)]; c != nil && !l.used[c] && c.Range == at(b.DefRange()) {
			l.diags.warnf(c.Range, "Unused connection", "Nothing uses the connection %q.", c.Name)
		}
	}
	for _, w := range l.config.Webhooks {
		if !l.told[w.Name] {
			l.diags.warnf(w.Range, "Unused webhook", "Nothing is told to the webhook %q. Name it in callback of a task, or in notify of an approval.", w.Name)
		}
	}
}

// unusedInputs warns about what a caller must fill in for nothing.
func (w *workDecl) unusedInputs() {
	if w.dec.diags.HasErrors() {
		return // what is wrong may be what reads them
	}
	for _, m := range w.work.Input.Members {
		r, declared := w.inputs.labelsAt[m.Name]
		if declared && !w.input.members[m.Name].used {
			w.dec.diags.warnf(r, "Unused "+w.inputs.noun, "The %s %q is read nowhere in this %s.", w.inputs.noun, m.Name, w.noun)
		}
	}
}
