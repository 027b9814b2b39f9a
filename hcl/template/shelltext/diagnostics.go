package shelltext

import (
	"fmt"

	hclv2 "github.com/hashicorp/hcl/v2"

	"hatchel/hcl/template"
)

// diagnostics collects the mistakes of one template, each once.
type diagnostics struct {
	list hclv2.Diagnostics
	seen map[string]bool
}

func (d *diagnostics) errorf(r hclv2.Range, summary, format string, args ...any) {
	d.add(hclv2.DiagError, r, summary, fmt.Sprintf(format, args...))
}

func (d *diagnostics) warnf(r hclv2.Range, summary, format string, args ...any) {
	d.add(hclv2.DiagWarning, r, summary, fmt.Sprintf(format, args...))
}

func (d *diagnostics) add(severity hclv2.DiagnosticSeverity, r hclv2.Range, summary, detail string) {
	key := fmt.Sprint(r.Filename, r.Start.Byte, r.End.Byte, r.Start.Line, r.Start.Column, summary)
	if d.seen[key] {
		return
	}
	if d.seen == nil {
		d.seen = map[string]bool{}
	}
	d.seen[key] = true
	diag := &hclv2.Diagnostic{Severity: severity, Summary: summary, Detail: detail}
	if r != (hclv2.Range{}) {
		diag.Subject = &r
	}
	d.list = append(d.list, diag)
}

// final returns the diagnostics without warnings at positions that have an error.
func (d *diagnostics) final() hclv2.Diagnostics {
	var out hclv2.Diagnostics
	for _, w := range d.list {
		if w.Severity == hclv2.DiagError || !d.inError(w.Subject) {
			out = append(out, w)
		}
	}
	return out
}

func (d *diagnostics) inError(r *hclv2.Range) bool {
	for _, e := range d.list {
		if e.Severity == hclv2.DiagError && r != nil && e.Subject != nil && e.Subject.Overlaps(*r) {
			return true
		}
	}
	return false
}

// callerControlled reports whether the caller chooses the text of a value, within its type.
func callerControlled(t template.Type) bool {
	if t.Known {
		return false
	}
	switch t.Kind {
	case template.Number, template.Integer, template.Bool, template.Enum:
		return false
	}
	return true
}
