package schema

import (
	"fmt"
	"unicode/utf8"

	"hatchel/hcl/spelling"
	"hatchel/hcl/value"
)

func enumValues(t *Type) []any {
	out := make([]any, len(t.Enum))
	for i, e := range t.Enum {
		out[i] = e.Value
	}
	return out
}

func (c compiler) text(t *Type) check {
	if len(t.Enum) > 0 {
		return c.choice(t)
	}
	valid := func(string) bool { return true }
	if t.Format != "" {
		valid = formats[t.Format].valid
	}
	free := t.Format == "" && t.Pattern == nil && t.MinLength == nil && t.MaxLength == nil
	var self check
	self = func(v any, _ bool) (any, bool, []Violation) {
		s, ok := v.(string)
		if !ok {
			return c.other("must be a string", v, self)
		}
		if free || (t.MinLength == nil && (t.MaxLength == nil || len(s) <= *t.MaxLength)) && valid(s) && (t.Pattern == nil || t.Pattern.Match(s)) {
			return v, false, nil
		}
		var out []Violation
		n := utf8.RuneCountInString(s)
		if t.MinLength != nil && n < *t.MinLength {
			out = append(out, Violation{Message: fmt.Sprintf("must have at least %s, got %d", counting(*t.MinLength, "character"), n)})
		}
		if t.MaxLength != nil && n > *t.MaxLength {
			out = append(out, Violation{Message: fmt.Sprintf("must have at most %s, got %d", counting(*t.MaxLength, "character"), n)})
		}
		if t.Pattern != nil && !t.Pattern.Match(s) {
			out = append(out, c.refuse("must match the pattern "+t.Pattern.Source, v)...)
		}
		if !valid(s) {
			out = append(out, c.refuse("must be "+formats[t.Format].what, v)...)
		}
		return v, false, out
	}
	return self
}

// choice checks a string against an enumeration.
func (c compiler) choice(t *Type) check {
	known := make(map[string]bool, len(t.Enum))
	texts := make([]string, len(t.Enum))
	for i, e := range t.Enum {
		texts[i] = e.Value.(string)
		known[texts[i]] = true
	}
	need := "must be one of " + listed(enumValues(t))
	if t.Nullable {
		need += ", or null"
	}
	few := len(texts) <= 8
	var self check
	self = func(v any, _ bool) (any, bool, []Violation) {
		s, ok := v.(string)
		if ok && few {
			for _, e := range texts {
				if e == s {
					return v, false, nil
				}
			}
		} else if ok && known[s] {
			return v, false, nil
		}
		out, changed, violations := c.other(need, v, self)
		if near := spelling.Nearest(s, texts); ok && near != "" && !c.sensitive {
			violations[0].Message += "; did you mean " + shortened(near) + "?"
		}
		return out, changed, violations
	}
	return self
}

func (c compiler) number(t *Type) check {
	need := "must be a number"
	if t.Kind == Integer {
		need = "must be an integer"
	}
	type bound struct {
		limit any
		ok    func(sign int) bool
		need  string
	}
	var bounds []bound
	add := func(limit any, words string, ok func(int) bool) {
		if limit != nil {
			bounds = append(bounds, bound{limit, ok, "must be " + words + " " + show(limit)})
		}
	}
	add(t.Min, "at least", func(sign int) bool { return sign >= 0 })
	add(t.Max, "at most", func(sign int) bool { return sign <= 0 })
	add(t.Above, "above", func(sign int) bool { return sign > 0 })
	add(t.Below, "below", func(sign int) bool { return sign < 0 })
	values := "must be one of " + listed(enumValues(t))
	var self check
	self = func(v any, _ bool) (any, bool, []Violation) {
		if !value.IsNumber(v) || !value.IsFinite(v) {
			return c.other(need, v, self)
		}
		out, changed := v, false
		if _, isInt := v.(int); !isInt && t.Kind == Integer {
			whole, ok := integerOf(v)
			if !ok {
				return v, false, c.refuse(need, v)
			}
			out, changed = whole, true
		}
		var violations []Violation
		for i := range bounds {
			if b := &bounds[i]; !b.ok(value.Compare(out, b.limit)) {
				violations = append(violations, c.refuseNumber(b.need, out)...)
			}
		}
		if t.MultipleOf != nil && !multiple(out, t.MultipleOf) {
			violations = append(violations, c.refuseNumber("must be a multiple of "+show(t.MultipleOf), out)...)
		}
		if len(t.Enum) > 0 && !hasEnum(t.Enum, out) {
			violations = append(violations, c.refuseNumber(values, out)...)
		}
		return out, changed, violations
	}
	return self
}

func (c compiler) refuseNumber(need string, v any) []Violation {
	if c.sensitive {
		return one(need)
	}
	return one(need + ", got " + show(v))
}
