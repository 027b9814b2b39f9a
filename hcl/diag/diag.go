package diag

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
)

// Severity says whether a diagnostic stops a configuration from being used.
type Severity int

const (
	Error Severity = iota
	Warning
)

func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// Pos is a place in a file; Line and Column count from 1, Column in characters as a person sees
// them, Byte from 0.
type Pos struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Byte   int `json:"byte"`
}

// Range is a half-open span of one file. The zero Range is "nowhere".
type Range struct {
	File  string `json:"file"`
	Start Pos    `json:"start"`
	End   Pos    `json:"end"`
}

// Diagnostic tells an author one thing. Summary is a constant of two to five words; Detail says
// what was found, what is accepted, and what to write.
type Diagnostic struct {
	Severity Severity
	Summary  string
	Detail   string
	Subject  Range
}

// Diagnostics are what a load, a compile or a check found. They never travel as an error.
type Diagnostics []*Diagnostic

// Errorf adds an error.
func (ds *Diagnostics) Errorf(r Range, summary, format string, args ...any) {
	*ds = append(*ds, &Diagnostic{Summary: summary, Detail: fmt.Sprintf(format, args...), Subject: r})
}

// Warnf adds a warning.
func (ds *Diagnostics) Warnf(r Range, summary, format string, args ...any) {
	*ds = append(*ds, &Diagnostic{Severity: Warning, Summary: summary, Detail: fmt.Sprintf(format, args...),
		Subject: r})
}

// HasErrors reports whether any of them is an error.
func (ds Diagnostics) HasErrors() bool {
	for _, d := range ds {
		if d.Severity == Error {
			return true
		}
	}
	return false
}

// Counts returns how many errors and warnings there are.
func (ds Diagnostics) Counts() (errors, warnings int) {
	for _, d := range ds {
		if d.Severity == Error {
			errors++
		} else {
			warnings++
		}
	}
	return errors, warnings
}

// Sort orders them by place, and errors before warnings at the same place, and drops exact
// repetitions.
func (ds Diagnostics) Sort() Diagnostics {
	sort.SliceStable(ds, func(i, j int) bool {
		a, b := ds[i], ds[j]
		switch {
		case a.Subject.File != b.Subject.File:
			return a.Subject.File < b.Subject.File
		case a.Subject.Start.Byte != b.Subject.Start.Byte:
			return a.Subject.Start.Byte < b.Subject.Start.Byte
		}
		return a.Severity < b.Severity
	})
	var kept Diagnostics
	for i, d := range ds {
		if i > 0 && *d == *ds[i-1] {
			continue
		}
		kept = append(kept, d)
	}
	return kept
}

// ReplaceDetails says something else where the words that fit elsewhere do not help, by the
// summary.
func (ds Diagnostics) ReplaceDetails(details map[string]string) {
	for _, d := range ds {
		if detail, ok := details[d.Summary]; ok {
			d.Detail = detail
		}
	}
}

// minSecretLength is how long a secret must be to be looked for in what is said: a shorter one
// stands in many places by chance.
const minSecretLength = 4

// Scrub takes secrets out of what is said, as they are and as they are quoted. A diagnostic that
// holds none stays the same one: what is kept of a file may hold it, too.
func (ds Diagnostics) Scrub(secrets []string) Diagnostics {
	var pairs []string
	for _, secret := range slices.SortedFunc(slices.Values(secrets), func(a, b string) int { return len(b) - len(a) }) {
		if len(secret) < minSecretLength {
			continue
		}
		quoted := strconv.Quote(secret)
		pairs = append(pairs, secret, Hidden, quoted[1:len(quoted)-1], Hidden)
	}
	if pairs == nil {
		return ds
	}
	replace := strings.NewReplacer(pairs...)
	for i, d := range ds {
		if detail := replace.Replace(d.Detail); detail != d.Detail {
			clean := *d
			clean.Detail = detail
			ds[i] = &clean
		}
	}
	return ds
}

// Blamed is an error about one attribute of a configuration. Blame makes it.
type Blamed struct {
	field  any
	detail string
}

func (b *Blamed) Error() string { return b.detail }

// Blame makes an error that is reported at the attribute which was decoded into field, a pointer to
// a member of an adapter's configuration. Several are joined with errors.Join.
func Blame(field any, format string, args ...any) error {
	return &Blamed{field: field, detail: fmt.Sprintf(format, args...)}
}

// ToDiagnostics flattens a joined error into diagnostics: at the attribute that each one blames, or
// at the block.
func ToDiagnostics(err error, summary string, block Range, places map[any]Range) (ds Diagnostics) {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			ds = append(ds, ToDiagnostics(e, summary, block, places)...)
		}
		return ds
	}
	d := &Diagnostic{Summary: summary, Detail: err.Error(), Subject: block}
	var b *Blamed
	if errors.As(err, &b) {
		if r, ok := places[b.field]; ok {
			d.Subject = r
		}
	}
	return Diagnostics{d}
}

func RangeOf(r hclv2.Range) Range {
	return Range{File: r.Filename, Start: Pos(r.Start), End: Pos(r.End)}
}

// FromHCL takes diagnostics of the HCL libraries and of the contextual compilers.
func FromHCL(in hclv2.Diagnostics) (out Diagnostics) {
	for _, d := range in {
		n := &Diagnostic{Summary: d.Summary, Detail: d.Detail}
		if d.Severity == hclv2.DiagWarning {
			n.Severity = Warning
		}
		if d.Subject != nil {
			n.Subject = RangeOf(*d.Subject)
		}
		out = append(out, n)
	}
	return out
}

// Hidden stands where a secret was.
const Hidden = "(secret)"
