package template

import (
	"fmt"
	"slices"

	hclv2 "github.com/hashicorp/hcl/v2"
)

// Diagnostics collects the mistakes of one template. It keeps one diagnostic for each position and
// summary, because the renderings of a template repeat them.
type Diagnostics struct {
	list hclv2.Diagnostics
	seen map[mistake]bool
}

type mistake struct {
	at      hclv2.Range
	summary string
}

// Errorf reports a mistake. The zero range is no position.
func (d *Diagnostics) Errorf(at hclv2.Range, summary, format string, args ...any) {
	d.add(hclv2.DiagError, at, summary, fmt.Sprintf(format, args...))
}

// Warnf reports what is allowed but often wrong.
func (d *Diagnostics) Warnf(at hclv2.Range, summary, format string, args ...any) {
	d.add(hclv2.DiagWarning, at, summary, fmt.Sprintf(format, args...))
}

func (d *Diagnostics) add(severity hclv2.DiagnosticSeverity, at hclv2.Range, summary, detail string) {
	key := mistake{at, summary}
	if d.seen[key] {
		return
	}
	if d.seen == nil {
		d.seen = map[mistake]bool{}
	}
	d.seen[key] = true
	diag := &hclv2.Diagnostic{Severity: severity, Summary: summary, Detail: detail}
	if at != (hclv2.Range{}) {
		diag.Subject = &at
	}
	d.list = append(d.list, diag)
}

// HasErrors reports whether a mistake was reported.
func (d *Diagnostics) HasErrors() bool { return d.list.HasErrors() }

// All returns the diagnostics in the order in which they were reported, without warnings at
// positions that have an error.
func (d *Diagnostics) All() hclv2.Diagnostics {
	return slices.DeleteFunc(slices.Clone(d.list), func(w *hclv2.Diagnostic) bool {
		return w.Severity == hclv2.DiagWarning && slices.ContainsFunc(d.list, func(e *hclv2.Diagnostic) bool {
			return e.Severity == hclv2.DiagError && w.Subject != nil && e.Subject != nil && e.Subject.Overlaps(*w.Subject)
		})
	})
}

// HasErrorAt reports whether a mistake was reported at exactly this position.
func (d *Diagnostics) HasErrorAt(at hclv2.Range) bool {
	return slices.ContainsFunc(d.list, func(e *hclv2.Diagnostic) bool {
		return e.Severity == hclv2.DiagError && e.Subject != nil && *e.Subject == at
	})
}
