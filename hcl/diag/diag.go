package diag

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
)

// Severity distinguishes errors, which prevent the use of a configuration, from warnings.
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

// MarshalText encodes the severity by its name.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Pos is a position in a file. Line and Column count from 1, Column in user-perceived characters;
// Byte counts from 0.
type Pos struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Byte   int `json:"byte"`
}

// Range is a half-open span of one file. The zero Range means that there is no position.
type Range struct {
	File  string `json:"file"`
	Start Pos    `json:"start"`
	End   Pos    `json:"end"`
}

// Code is the kind of a diagnostic for programs, which do not read its words.
type Code int

const (
	MissingArgument Code = iota + 1 // the block that begins at the subject needs the argument in Names
	MissingVariable                 // a variable has no value
	MissingSecret                   // a secret has no value
	InvalidSecret                   // a value that was computed from a secret is not valid
	Undeclared                      // the subject is a name that its root does not have
	Unavailable                     // the subject exists, and is not available where it is read
	Unused                          // nothing reads the declaration at the subject
)

// Diagnostic reports one problem to the author. Summary is a constant of two to five words; Detail
// says what was found, what is accepted, and what to write.
type Diagnostic struct {
	Code     Code     `json:"-"` // zero for what programs treat like any other diagnostic
	Severity Severity `json:"severity"`
	Summary  string   `json:"summary"`
	Detail   string   `json:"detail"`
	Subject  Range    `json:"range,omitzero"`
	Related  Range    `json:"-"` // another place that belongs to it, such as that of the first of two; zero for none
	// what to write instead, and among which names; nil if the diagnostic proposes nothing
	Suggestion *Suggestion `json:"-"`
	Credential *Credential `json:"-"` // the literal credential that it reports, which nothing prints; nil for none
	more       int         // how many further ones of its severity it stands for
}

// Diagnostics are the problems found by a load, a compile or a check. They are never returned as an
// error.
type Diagnostics []*Diagnostic

// Errorf adds an error.
func (ds *Diagnostics) Errorf(r Range, summary, format string, args ...any) {
	*ds = append(*ds, newDiagnostic(Error, r, summary, format, args))
}

// Warnf adds a warning.
func (ds *Diagnostics) Warnf(r Range, summary, format string, args ...any) {
	*ds = append(*ds, newDiagnostic(Warning, r, summary, format, args))
}

func newDiagnostic(s Severity, r Range, summary, format string, args []any) *Diagnostic {
	return &Diagnostic{Severity: s, Summary: summary, Detail: fmt.Sprintf(format, args...), Subject: r,
		Suggestion: FindSuggestion(args)}
}

// Mark gives the last diagnostic a code.
func (ds Diagnostics) Mark(c Code) { ds[len(ds)-1].Code = c }

// Rule returns the identifier of the diagnostic in reports: its summary in lower case, with hyphens.
func (d *Diagnostic) Rule() string { return strings.ReplaceAll(strings.ToLower(d.Summary), " ", "-") }

// Relate names another place that belongs to the last diagnostic.
func (ds Diagnostics) Relate(r Range) { ds[len(ds)-1].Related = r }

// Credential is a literal credential that a diagnostic reports.
type Credential struct {
	Text  string
	Whole bool // the subject is nothing but the credential, maybe with escapes
}

// Conceal notes the credential that the last diagnostic reports.
func (ds Diagnostics) Conceal(c Credential) { ds[len(ds)-1].Credential = &c }

// Credentials returns the literal credentials that are reported.
func (ds Diagnostics) Credentials() (all []string) {
	for _, d := range ds {
		if d.Credential != nil {
			all = append(all, d.Credential.Text)
		}
	}
	return all
}

// HasErrors reports whether there is an error.
func (ds Diagnostics) HasErrors() bool {
	return slices.ContainsFunc(ds, func(d *Diagnostic) bool { return d.Severity == Error })
}

// Counts returns the numbers of errors and warnings.
func (ds Diagnostics) Counts() (errors, warnings int) {
	for _, d := range ds {
		n := max(d.more, 1)
		if d.Severity == Error {
			errors += n
		} else {
			warnings += n
		}
	}
	return errors, warnings
}

// Sort sorts by position, errors before warnings at the same position, and removes duplicates.
func (ds Diagnostics) Sort() Diagnostics {
	slices.SortStableFunc(ds, func(a, b *Diagnostic) int {
		return cmp.Or(strings.Compare(a.Subject.File, b.Subject.File),
			cmp.Compare(a.Subject.Start.Byte, b.Subject.Start.Byte), cmp.Compare(a.Severity, b.Severity))
	})
	return slices.CompactFunc(slices.Clone(ds), func(a, b *Diagnostic) bool {
		x, y := *a, *b
		x.Suggestion, y.Suggestion, x.Credential, y.Credential = nil, nil, nil, nil
		return x == y
	})
}

// maxPerFile is the number of diagnostics of one file that are reported.
const maxPerFile = 200

// Limit keeps the first diagnostics of each file, errors before warnings, and one that counts the others.
func (ds Diagnostics) Limit() Diagnostics {
	if len(ds) <= maxPerFile {
		return ds
	}
	type group struct {
		file     string
		severity Severity
	}
	shown, others := map[string]int{}, map[group]*Diagnostic{}
	var out Diagnostics
	for _, severity := range []Severity{Error, Warning} {
		for _, d := range ds {
			in := group{d.Subject.File, severity}
			switch {
			case d.Severity != severity:
			case shown[in.file] < maxPerFile:
				shown[in.file]++
				out = append(out, d)
			case others[in] == nil:
				others[in] = &Diagnostic{Severity: severity, Summary: "More mistakes", Subject: d.Subject, more: 1}
				out = append(out, others[in])
			default:
				others[in].more++
			}
		}
	}
	for in, d := range others {
		d.Detail = fmt.Sprintf("This file has %d more %ss, from here on, which are not shown.", d.more, in.severity)
		if d.more == 1 {
			d.Detail = fmt.Sprintf("This file has one more %s, which is not shown.", in.severity)
		}
	}
	return out.Sort()
}

// minSecretLength is the minimum length of a secret for scrubbing: a shorter one occurs in texts by
// chance.
const minSecretLength = 4

// MinCredentialLength is the minimum length of a literal credential for removing it wherever it is: a shorter one may
// be a common word.
const MinCredentialLength = 8

// ScrubCredentials removes the literal credentials that are reported from other diagnostics. A short one is removed
// from those of its line.
func (ds Diagnostics) ScrubCredentials() Diagnostics {
	type line struct {
		file string
		line int
	}
	var long []string
	short := map[line][]string{}
	for _, d := range ds {
		switch at := (line{d.Subject.File, d.Subject.Start.Line}); {
		case d.Credential == nil:
		case len(d.Credential.Text) >= MinCredentialLength:
			long = append(long, d.Credential.Text)
		default:
			short[at] = append(short[at], d.Credential.Text)
		}
	}
	var rest Diagnostics
	for _, d := range ds {
		if d.Credential == nil {
			rest = append(rest, d)
		}
	}
	scrubbed := rest.Scrub(long)
	ofLine := map[line]*strings.Replacer{}
	next := 0
	out := slices.Clone(ds)
	for i, d := range ds {
		if d.Credential != nil {
			continue
		}
		out[i] = scrubbed[next]
		next++
		at := line{d.Subject.File, d.Subject.Start.Line}
		if short[at] != nil && ofLine[at] == nil {
			ofLine[at] = newScrubber(short[at])
		}
		out[i] = scrubWith(ofLine[at], out[i])
	}
	return out
}

// Scrub removes secrets, plain and quoted. Diagnostics without secrets are not copied, because
// caches share them.
func (ds Diagnostics) Scrub(secrets []string) Diagnostics {
	replace := newScrubber(secrets)
	for i, d := range ds {
		ds[i] = scrubWith(replace, d)
	}
	return ds
}

// scrubWith returns a diagnostic without what a replacer removes; nil removes nothing. It does not change the
// diagnostic, because caches share it.
func scrubWith(replace *strings.Replacer, d *Diagnostic) *Diagnostic {
	if replace == nil {
		return d
	}
	clean := *d
	clean.Detail = replace.Replace(d.Detail)
	if clean.Detail == d.Detail {
		return d
	}
	return &clean
}

// newScrubber returns what removes secrets, plain and quoted; nil for none.
func newScrubber(secrets []string) *strings.Replacer {
	var pairs []string
	for _, secret := range slices.SortedFunc(slices.Values(secrets), func(a, b string) int { return len(b) - len(a) }) {
		if len(secret) < minSecretLength {
			continue
		}
		quoted := fmt.Sprintf("%q", secret)
		pairs = append(pairs, secret, Hidden, quoted[1:len(quoted)-1], Hidden)
	}
	if pairs == nil {
		return nil
	}
	return strings.NewReplacer(pairs...)
}

// Blamed is an error about one attribute of a configuration, made by Blame.
type Blamed struct {
	field      any
	detail     string
	suggestion *Suggestion
}

func (b *Blamed) Error() string { return b.detail }

// Blame returns an error that is reported at the attribute decoded into field, a pointer to a
// member of an adapter's configuration, or at field itself, the Range of a part of an argument. Join several with
// errors.Join.
func Blame(field any, format string, args ...any) error {
	return &Blamed{field: field, detail: fmt.Sprintf(format, args...), suggestion: FindSuggestion(args)}
}

// ToDiagnostics converts a joined error into diagnostics, placed at the attribute that each error
// blames or at the block.
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
	if b, ok := errors.AsType[*Blamed](err); ok {
		d.Suggestion = b.suggestion
		if r, ok := places[b.field]; ok {
			d.Subject = r
		} else if r, ok := b.field.(Range); ok {
			d.Subject = r
		}
	}
	return Diagnostics{d}
}

func RangeOf(r hclv2.Range) Range {
	return Range{File: r.Filename, Start: Pos(r.Start), End: Pos(r.End)}
}

// FromHCL converts diagnostics of the HCL library and of the template compilers.
func FromHCL(in hclv2.Diagnostics) (out Diagnostics) {
	for _, d := range in {
		n := &Diagnostic{Summary: d.Summary, Detail: d.Detail}
		if d.Severity == hclv2.DiagWarning {
			n.Severity = Warning
		}
		if d.Subject != nil {
			n.Subject = RangeOf(*d.Subject)
		}
		if s, ok := d.Extra.(Suggestion); ok {
			n.Suggestion = &s
		}
		out = append(out, n)
	}
	return out
}

// Hidden replaces a secret.
const Hidden = "(secret)"
