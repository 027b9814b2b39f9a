package eval

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// The operators of a Formula.
const (
	OpAnd = "and"
	OpOr  = "or"
	OpNot = "not"
)

// Formula is the logical form of a condition, as its parsed program has it: parts that are joined by an operator, or an
// atom, whose text is a normal form: two atoms with one text are true for the same calls. Nil is no condition.
type Formula struct {
	Op    string     // OpAnd, OpOr or OpNot; empty for an atom
	Parts []*Formula // of an operator: one of OpNot, two or more of the others, none with the same operator
	Text  string     // of an atom
}

// Join returns the formula of parts that OpAnd or OpOr joins. Parts with the same operator are merged into it.
func Join(op string, parts ...*Formula) *Formula {
	out := &Formula{Op: op}
	for _, p := range parts {
		if p.Op == op {
			out.Parts = append(out.Parts, p.Parts...)
		} else {
			out.Parts = append(out.Parts, p)
		}
	}
	if len(out.Parts) == 1 {
		return out.Parts[0]
	}
	return out
}

// Negate returns the negation of a formula.
func Negate(f *Formula) *Formula {
	if f.Op == OpNot {
		return f.Parts[0]
	}
	return &Formula{Op: OpNot, Parts: []*Formula{f}}
}

// String returns the condition as people read it. It is empty for none.
func (f *Formula) String() string {
	switch {
	case f == nil:
		return ""
	case f.Op == "":
		return f.Text
	case f.Op == OpNot:
		return "not (" + f.Parts[0].String() + ")"
	}
	parts := make([]string, len(f.Parts))
	for i, p := range f.Parts {
		if parts[i] = p.String(); p.Op == OpOr && f.Op == OpAnd {
			parts[i] = "(" + parts[i] + ")"
		}
	}
	return strings.Join(parts, " "+f.Op+" ")
}

// Conjuncts returns the parts that must all be true; the formula itself if OpAnd does not join them.
func (f *Formula) Conjuncts() []*Formula {
	switch {
	case f == nil:
		return nil
	case f.Op == OpAnd:
		return f.Parts
	}
	return []*Formula{f}
}

// Equal reports whether two formulas are the same.
func (f *Formula) Equal(g *Formula) bool {
	if f == nil || g == nil {
		return f == g
	}
	return f.Op == g.Op && f.Text == g.Text && slices.EqualFunc(f.Parts, g.Parts, (*Formula).Equal)
}

// MarshalJSON writes an atom as its text, and an operator as a list: its name and its parts.
func (f *Formula) MarshalJSON() ([]byte, error) {
	if f.Op == "" {
		return json.Marshal(f.Text)
	}
	list := []any{f.Op}
	for _, p := range f.Parts {
		list = append(list, p)
	}
	return json.Marshal(list)
}

var errFormula = errors.New("a condition is a text, or a list of an operator and conditions")

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Formula) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &f.Text) == nil {
		return nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil || len(list) < 2 {
		return errFormula
	}
	if err := json.Unmarshal(list[0], &f.Op); err != nil || !slices.Contains([]string{OpAnd, OpOr, OpNot}, f.Op) {
		return errFormula
	}
	for _, part := range list[1:] {
		p := new(Formula)
		if err := p.UnmarshalJSON(part); err != nil {
			return err
		}
		f.Parts = append(f.Parts, p)
	}
	if f.Op == OpNot && len(f.Parts) != 1 {
		return errFormula
	}
	return nil
}
