package diag

import (
	"bytes"

	"hatchel/hcl/spelling"
)

// Suggestion is the end of a detail about a name that does not exist: it proposes the nearest name that does, or says
// something else. As an argument of Errorf it gives the diagnostic its names and its fix.
type Suggestion struct {
	text     string
	old, new string // the correction; both empty for none
	names    []string
}

// String returns the text for the author.
func (s Suggestion) String() string { return s.text }

// IsFix reports whether there is a correction.
func (s Suggestion) IsFix() bool { return s.new != "" }

// Says returns the suggestion with another text and without a correction.
func (s Suggestion) Says(text string) Suggestion { return Suggestion{text: text, names: s.names} }

// DidYouMean returns a suggestion for a misspelled name. Its text is empty if no name is near.
func DidYouMean(name string, among []string) Suggestion { return SuggestOr(name, among, "") }

// SuggestOr returns a suggestion for a misspelled name, which says otherwise if no name is near.
func SuggestOr(name string, among []string, otherwise string) Suggestion {
	s := NearestOf(name, among)
	if s.text = otherwise; s.IsFix() {
		s.text = ` Did you mean "` + s.new + `"?`
	}
	return s
}

// NearestOf returns a suggestion whose text is the nearest name alone. It is empty if no name is near.
func NearestOf(name string, among []string) Suggestion {
	s := Suggestion{names: among}
	if near := spelling.Nearest(name, among); near != "" {
		s.text, s.old, s.new = near, name, near
	}
	return s
}

// OneOf returns the text of names, without a correction.
func OneOf(names []string, text string) Suggestion { return Suggestion{text: text, names: names} }

// Correct returns a suggestion to write new in place of old, with its text.
func Correct(old, new, text string) Suggestion { return Suggestion{text: text, old: old, new: new} }

// FindSuggestion returns the first suggestion among the arguments of a detail, or nil.
func FindSuggestion(args []any) *Suggestion {
	for _, a := range args {
		if s, ok := a.(Suggestion); ok {
			return &s
		}
	}
	return nil
}

// Names returns the names that exist where the diagnostic reports one that does not; nil if it reports something else.
func (d *Diagnostic) Names() []string {
	if d.Suggestion == nil {
		return nil
	}
	return d.Suggestion.names
}

// Fix returns the span that is wrong, in bytes of the file, and what to write there. The span is a part of the subject,
// or the subject with the quotes around it. Fix reports false if the diagnostic proposes nothing, or if src is not the
// text that it is about.
func (d *Diagnostic) Fix(src []byte) (from, to int, text string, ok bool) {
	s := d.Suggestion
	from, to = d.Subject.Start.Byte, d.Subject.End.Byte
	if s == nil || !s.IsFix() || from > to || to > len(src) {
		return 0, 0, "", false
	}
	if at := bytes.Index(src[from:to], []byte(s.old)); at >= 0 {
		return from + at, from + at + len(s.old), s.new, true
	}
	from, to = max(from-1, 0), min(to+1, len(src)) // the quotes around the subject
	if string(src[from:to]) == s.old {
		return from, to, s.new, true
	}
	return 0, 0, "", false
}
