package template

import (
	"fmt"
	"hatchel/hcl/diag"
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
	d.add(hclv2.DiagError, at, summary, format, args)
}

// Warnf reports what is allowed but often wrong.
func (d *Diagnostics) Warnf(at hclv2.Range, summary, format string, args ...any) {
	d.add(hclv2.DiagWarning, at, summary, format, args)
}

func (d *Diagnostics) add(severity hclv2.DiagnosticSeverity, at hclv2.Range, summary, format string, args []any) {
	key := mistake{at, summary}
	if d.seen[key] {
		return
	}
	if d.seen == nil {
		d.seen = map[mistake]bool{}
	}
	d.seen[key] = true
	found := &hclv2.Diagnostic{Severity: severity, Summary: summary, Detail: fmt.Sprintf(format, args...)}
	if at != (hclv2.Range{}) {
		found.Subject = &at
	}
	if s := diag.FindSuggestion(args); s != nil {
		found.Extra = *s
	}
	d.list = append(d.list, found)
}

// HasErrors reports whether a mistake was reported.
func (d *Diagnostics) HasErrors() bool { return d.list.HasErrors() }

// All returns the diagnostics in the order in which they were reported, without warnings at
// positions that have an error.
func (d *Diagnostics) All() hclv2.Diagnostics {
	return slices.DeleteFunc(slices.Clone(d.list), func(w *hclv2.Diagnostic) bool {
		return w.Severity == hclv2.DiagWarning && d.hasError(func(at hclv2.Range) bool {
			return w.Subject != nil && at.Overlaps(*w.Subject)
		})
	})
}

// HasErrorAt reports whether a mistake was reported at exactly this position.
func (d *Diagnostics) HasErrorAt(at hclv2.Range) bool {
	return d.hasError(func(other hclv2.Range) bool { return other == at })
}

func (d *Diagnostics) hasError(at func(hclv2.Range) bool) bool {
	return slices.ContainsFunc(d.list, func(e *hclv2.Diagnostic) bool {
		return e.Severity == hclv2.DiagError && e.Subject != nil && at(*e.Subject)
	})
}

// Result returns what was compiled, or nil if there are errors, and the diagnostics.
func Result[T any](compiled *T, d *Diagnostics) (*T, hclv2.Diagnostics) {
	if d.list.HasErrors() {
		compiled = nil
	}
	return compiled, d.All()
}
