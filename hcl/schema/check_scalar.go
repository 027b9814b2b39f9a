package schema

import (
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

func (c checkCompiler) textCheck(t *Type) check {
	if len(t.Enum) > 0 {
		return c.enumCheck(t)
	}
	checkFormat := func(any) error { return nil }
	if t.Format != "" {
		checkFormat = formatTests()[t.Format].Validate
	}
	var self check
	self = func(v any, _ bool) (any, bool, []Violation) {
		s, ok := v.(string)
		if !ok {
			return c.retryDecoded("must be a string", v, self)
		}
		var out []Violation
		if t.MinLength != nil || t.MaxLength != nil && len(s) > *t.MaxLength {
			out = checkSize(t.MinLength, t.MaxLength, utf8.RuneCountInString(s), "character")
		}
		if t.Pattern != nil && !t.Pattern.MatchString(s) {
			out = append(out, c.violation("must match the pattern "+t.Pattern.Source, v)...)
		}
		if checkFormat(v) != nil {
			out = append(out, c.violation("must be "+formats[t.Format], v)...)
		}
		return v, false, out
	}
	return self
}

// enumCheck checks a string against an enumeration.
func (c checkCompiler) enumCheck(t *Type) check {
	known := make(map[string]bool, len(t.Enum))
	texts := make([]string, len(t.Enum))
	for i, e := range t.Enum {
		texts[i] = e.Value.(string)
		known[texts[i]] = true
	}
	need := "must be one of " + listValues(enumValues(t))
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
		out, changed, violations := c.retryDecoded(need, v, self)
		if near := spelling.Nearest(s, texts); ok && near != "" && !c.sensitive {
			violations[0].Message += "; did you mean " + quoteShort(near) + "?"
		}
		return out, changed, violations
	}
	return self
}

func (c checkCompiler) numberCheck(t *Type) check {
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
			bounds = append(bounds, bound{limit, ok, "must be " + words + " " + showJSON(limit)})
		}
	}
	add(t.Min, "at least", func(sign int) bool { return sign >= 0 })
	add(t.Max, "at most", func(sign int) bool { return sign <= 0 })
	add(t.Above, "above", func(sign int) bool { return sign > 0 })
	add(t.Below, "below", func(sign int) bool { return sign < 0 })
	values := "must be one of " + listValues(enumValues(t))
	var self check
	self = func(v any, _ bool) (any, bool, []Violation) {
		if !value.IsNumber(v) || !value.IsFinite(v) {
			return c.retryDecoded(need, v, self)
		}
		out, changed := v, false
		if _, isInt := v.(int); !isInt && t.Kind == Integer {
			whole, ok := integerOf(v)
			if !ok {
				return v, false, c.violation(need, v)
			}
			out, changed = whole, true
		}
		var violations []Violation
		for i := range bounds {
			if b := &bounds[i]; !b.ok(value.Compare(out, b.limit)) {
				violations = append(violations, c.numberViolation(b.need, out)...)
			}
		}
		if t.MultipleOf != nil && !isMultiple(out, t.MultipleOf) {
			violations = append(violations, c.numberViolation("must be a multiple of "+showJSON(t.MultipleOf), out)...)
		}
		if len(t.Enum) > 0 && !hasEnum(t.Enum, out) {
			violations = append(violations, c.numberViolation(values, out)...)
		}
		return out, changed, violations
	}
	return self
}

func (c checkCompiler) numberViolation(need string, v any) []Violation {
	if c.sensitive {
		return singleViolation(need)
	}
	return singleViolation(need + ", got " + showJSON(v))
}
