package eval

import "strings"

// maxChoices is the largest number of values that are listed of an expression.
const maxChoices = 4096

// AllChoices returns every value that an expression can have if the author wrote all of them: a
// constant, a choice by a condition, an element of a constant list or map, one of an enumeration. It
// is nil for anything else.
func (e TypedExpr) AllChoices() []any {
	switch {
	case e.Known:
		return []any{e.Value}
	case e.Choices != nil:
		return e.Choices()
	case len(e.Type.Enum) == 0:
		return nil
	}
	out := make([]any, 0, len(e.Type.Enum)+1)
	for _, v := range e.Type.Enum {
		out = append(out, v.Value)
	}
	if e.NullReason != "" {
		out = append(out, nil)
	}
	return out
}

// EitherChoice returns the choices of a value that is one of two.
func EitherChoice(a, b TypedExpr) func() []any {
	return func() []any {
		first, second := a.AllChoices(), b.AllChoices()
		if first == nil || second == nil || len(first)+len(second) > maxChoices {
			return nil
		}
		return append(first[:len(first):len(first)], second...)
	}
}

// ElementChoices returns the choices of an element of a collection whose key is not known.
func ElementChoices(collection TypedExpr) func() []any {
	return collection.eachChoice(func(v any) (elements []any, ok bool) {
		switch v := v.(type) {
		case []any:
			return v, true
		case map[string]any:
			for _, m := range v {
				elements = append(elements, m)
			}
			return elements, true
		}
		return nil, false
	})
}

// MemberChoices returns the choices of a member of an object.
func MemberChoices(object TypedExpr, name string) func() []any {
	return object.eachChoice(func(v any) ([]any, bool) {
		members, ok := v.(map[string]any)
		return []any{members[name]}, ok
	})
}

// eachChoice returns what parts returns for each choice.
func (e TypedExpr) eachChoice(parts func(any) ([]any, bool)) func() []any {
	return func() (out []any) {
		for _, v := range e.AllChoices() {
			values, ok := parts(v)
			if !ok || len(out)+len(values) > maxChoices {
				return nil
			}
			out = append(out, values...)
		}
		return out
	}
}

// GluedChoices returns every text that is one of heads followed by one of tails, or nil.
func GluedChoices(heads, tails []string) []string {
	if len(heads)*len(tails) > maxChoices {
		return nil
	}
	out := make([]string, 0, len(heads)*len(tails))
	for _, head := range heads {
		for _, tail := range tails {
			out = append(out, head+tail)
		}
	}
	return out
}

// MayBeginWithDash reports whether the author wrote a dash at the beginning of the value, or of an
// element of it, in some calls.
func (e TypedExpr) MayBeginWithDash() bool {
	if e.Dash {
		return true
	}
	for _, v := range e.AllChoices() {
		if beginsWithDash(v) {
			return true
		}
	}
	return false
}

func beginsWithDash(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.HasPrefix(v, "-")
	case []any:
		for _, elem := range v {
			if beginsWithDash(elem) {
				return true
			}
		}
	}
	return false
}
