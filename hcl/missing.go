package hcl

import (
	"slices"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// missingValue is a secret or a variable that is declared and has no value, with the error about it.
type missingValue struct {
	*eval.Missing
	report *Diagnostic
}

// declareMissing makes m the member of a missing value, which is reported at r when everything is decoded.
func (l *loader) declareMissing(m *eval.Member, c diag.Code, name string, r Range, summary, detail string) {
	m.MarkFailed()
	m.Missing = []*eval.Missing{{Name: "the " + name}}
	report := &Diagnostic{Code: c, Summary: summary, Detail: detail, Subject: r}
	l.missing = append(l.missing, missingValue{m.Missing[0], report})
}

// refusesTools reports whether this load refuses what needs a missing value, instead of failing.
func (l *loader) refusesTools() bool { return l.opts.Start && l.globals.server.RefuseTools }

// requireValues records that a block cannot do without the values that it reads, so that one that is missing
// stops the start.
func (l *loader) requireValues(block string, read []*eval.Member) {
	for _, m := range read {
		for _, missing := range m.Missing {
			missing.RequiredBy = block
		}
	}
}

// refuse marks an operation as refused if it, or a connection that it uses, reads a missing value. Mistakes
// in a refused operation may follow from that, and are dropped.
func (l *loader) refuse(w *operationDecoder) {
	l.requireValues(w.noun+" "+w.op.Name, w.guards)
	if !l.refusesTools() {
		return
	}
	missing := missingIn(w.deps.Members)
	for _, c := range w.deps.connections {
		missing = append(missing, c.missing...)
	}
	for _, m := range missing {
		if m.Name != "" {
			w.op.Missing = m.Name
			m.Refused = append(m.Refused, w.op.Name)
		}
	}
	if w.op.Missing != "" {
		w.diags = slices.DeleteFunc(slices.Clone(w.diags), isError)
	}
}

func missingIn(members []*eval.Member) (all []*eval.Missing) {
	for _, m := range members {
		for _, missing := range m.Missing {
			if !slices.Contains(all, missing) {
				all = append(all, missing)
			}
		}
	}
	return all
}

// reportMissing reports every missing value: as a warning if only refused operations need it.
func (l *loader) reportMissing() {
	for _, m := range l.missing {
		switch {
		case l.globals.server.RefuseTools && !l.opts.Start:
			m.report.Detail += " on_missing applies when the server starts. The reload waits for the value."
		case !l.refusesTools():
		case m.RequiredBy != "":
			m.report.Detail += " The block " + m.RequiredBy + " needs it, so on_missing does not apply."
		default:
			rest := " Nothing needs it."
			if names := slices.Compact(slices.Sorted(slices.Values(m.Refused))); len(names) > 0 {
				rest = " What needs it is refused: " + diag.JoinAnd(names) + "."
			}
			m.report.Severity, m.report.Detail = diag.Warning, m.report.Detail+rest
		}
		l.diags = append(l.diags, m.report)
	}
}

// guard makes a field one that decides who may call, and how often. It cannot be refused with the operation: a
// missing value in it stops the start.
func (w *operationDecoder) guard(f decode.Field) decode.Field {
	record := func(d *decode.Decoder, read func()) {
		before := len(d.Deps.Members)
		read()
		w.guards = append(w.guards, d.Deps.Members[before:]...)
	}
	if readBlock := f.DecodeBlock; readBlock != nil {
		f.DecodeBlock = func(d *decode.Decoder, b *hclsyntax.Block) { record(d, func() { readBlock(d, b) }) }
		return f
	}
	return f.Wrap(func(d *decode.Decoder, _ hclsyntax.Expression, read func()) { record(d, read) })
}
