package schema

import (
	"slices"
	"strings"

	"hatchel/hcl/value"
)

// A check converts a value to its type and says how it does not fit. owned allows it to change lists and objects in place; otherwise
// what must change is copied. changed reports whether the result is not the value that was given.
type check func(v any, owned bool) (out any, changed bool, violations []Violation)

// A compiler makes checks of types.
type compiler struct {
	sensitive bool // no value is shown
}

func one(message string) []Violation { return []Violation{{Message: message}} }

// refuse words a violation: what is needed, and what came instead unless that is sensitive.
func (c compiler) refuse(need string, v any) []Violation {
	if c.sensitive {
		return one(need)
	}
	return one(need + ", got " + got(v))
}

func (c compiler) compile(t *Type) check {
	c.sensitive = c.sensitive || t.Sensitive
	return c.finish(t, c.kind(t))
}

// finish adds what stands around every kind: the library and null.
func (c compiler) finish(t *Type, inner check) check {
	if t.library != nil {
		inner = c.withLibrary(t, inner)
	}
	if !t.AllowsNull() || t.Kind == Any {
		return inner
	}
	return func(v any, owned bool) (any, bool, []Violation) {
		if v == nil && t.library == nil {
			return nil, false, nil
		} else if v == nil {
			return nil, false, validateRaw(t.library, nil, c.sensitive)
		}
		return inner(v, owned)
	}
}

// withLibrary adds what only the library can check. It sees the value as it came, less the nulls that count as absent.
func (c compiler) withLibrary(t *Type, inner check) check {
	return func(v any, owned bool) (any, bool, []Violation) {
		raw := validateRaw(t.library, withoutNulls(t, v), c.sensitive)
		out, changed, violations := inner(v, owned)
		for _, r := range raw {
			said := func(v Violation) bool { return strings.HasPrefix(v.Path, r.Path) }
			if t.verbatim == nil || !slices.ContainsFunc(violations, said) {
				violations = append(violations, r)
			}
		}
		return out, changed, violations
	}
}

// withoutNulls returns the value less the nulls of optional members.
func withoutNulls(t *Type, v any) any {
	if d, ok := v.(value.Deferred); ok {
		v, _ = d.Value()
	}
	switch v := v.(type) {
	case []any:
		if t.Elem == nil {
			return v
		}
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = withoutNulls(t.Elem, e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			m, ok := t.Lookup(k)
			switch {
			case ok && e == nil && m.dropsNull():
			case ok:
				out[k] = withoutNulls(m.Type, e)
			case t.Kind == Map:
				out[k] = withoutNulls(t.Elem, e)
			default:
				out[k] = e
			}
		}
		return out
	}
	return v
}

// dropsNull reports whether null counts as absent.
func (m *Member) dropsNull() bool { return m.Optional && !m.Type.Nullable && m.Type.Kind != Null }

func (c compiler) kind(t *Type) check {
	switch t.Kind {
	case String:
		return c.text(t)
	case Number, Integer:
		return c.number(t)
	case Bool:
		return c.plain("must be true or false", func(v any) bool { _, ok := v.(bool); return ok })
	case File:
		return c.file()
	case Bytes:
		return c.plain("must be bytes", func(v any) bool { _, ok := v.(value.Bytes); return ok })
	case Null:
		return c.plain("must be null", func(v any) bool { return v == nil })
	case List, Set:
		return c.list(t)
	case Map:
		return c.mapping(t)
	case Object:
		return c.object(t).check
	}
	return func(v any, _ bool) (any, bool, []Violation) { return v, false, nil }
}

// other answers a value of the wrong kind, after decoding what was deferred.
func (c compiler) other(need string, v any, again check) (any, bool, []Violation) {
	d, ok := v.(value.Deferred)
	if !ok {
		return v, false, c.refuse(need, v)
	}
	decoded, err := d.Value()
	if err != nil {
		return v, false, one("could not be read")
	}
	out, _, violations := again(decoded, false)
	return out, true, violations
}

func (c compiler) plain(need string, is func(any) bool) check {
	var self check
	self = func(v any, _ bool) (any, bool, []Violation) {
		if is(v) {
			return v, false, nil
		}
		return c.other(need, v, self)
	}
	return self
}
