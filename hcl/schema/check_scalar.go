package schema

import (
	"encoding/json"
	"math/big"
	"slices"
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
	self = func(v any, p pass) (any, bool, []Violation) {
		s, ok := v.(string)
		if !ok {
			return c.retryDecoded("must be a string", t, v, p, self)
		}
		var out []Violation
		if t.MinLength != nil || t.MaxLength != nil && len(s) > *t.MaxLength {
			out = checkSize(t.MinLength, t.MaxLength, utf8.RuneCountInString(s), "character")
		}
		if t.Pattern != nil && !p.time.matches(t.Pattern, s) {
			out = append(out, c.violation("must match the pattern "+t.Pattern.Source, describeValue(v))...)
		}
		if err := checkFormat(v); err != nil {
			out = append(out, c.violation(formatPhrase(t.Format, err == errLongFormat), describeValue(v))...)
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
	self = func(v any, p pass) (any, bool, []Violation) {
		s, ok := v.(string)
		if ok && (few && slices.Contains(texts, s) || !few && known[s]) {
			return v, false, nil
		}
		out, changed, violations := c.retryDecoded(need, t, v, p, self)
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
	type rule struct {
		need string
		ok   func(n any) bool
	}
	var rules []rule
	add := func(limit any, words string, ok func(n any) bool) {
		if limit != nil {
			rules = append(rules, rule{"must be " + words + " " + showJSON(limit), ok})
		}
	}
	add(t.Min, "at least", func(n any) bool { return value.Compare(n, t.Min) >= 0 })
	add(t.Max, "at most", func(n any) bool { return value.Compare(n, t.Max) <= 0 })
	add(t.Above, "above", func(n any) bool { return value.Compare(n, t.Above) > 0 })
	add(t.Below, "below", func(n any) bool { return value.Compare(n, t.Below) < 0 })
	add(t.MultipleOf, "a multiple of", func(n any) bool { return isMultiple(n, t.MultipleOf) })
	if len(t.Enum) > 0 {
		listed := func(n any) bool { return hasEnum(t.Enum, n) }
		rules = append(rules, rule{"must be one of " + listValues(enumValues(t)), listed})
	}
	var self check
	self = func(v any, p pass) (any, bool, []Violation) {
		if !value.IsNumber(v) || !value.IsFinite(v) {
			return c.retryDecoded(need, t, v, p, self)
		}
		out, changed := v, false
		if _, isInt := v.(int); !isInt && t.Kind == Integer {
			whole, ok := integerOf(v)
			if !ok {
				return v, false, c.violation(need, describeValue(v))
			}
			out, changed = whole, true
		}
		var violations []Violation
		for _, r := range rules {
			if !r.ok(out) {
				violations = append(violations, c.violation(r.need, showJSON(out))...)
			}
		}
		return out, changed, violations
	}
	return self
}

// maxIntegerDigits is how many digits an integer may have to be written without an exponent.
const maxIntegerDigits = 400

// integerOf returns a whole number as an int, or as its digits where an int cannot hold it.
func integerOf(v any) (any, bool) {
	if i, ok := v.(int); ok {
		return i, true
	}
	d := value.DecimalOf(v)
	if !d.IsInteger() {
		return v, false
	}
	if i, ok := d.Int(); ok {
		return i, true
	}
	if d.Exp > maxIntegerDigits {
		return v, true
	}
	return json.Number(d.IntegerText()), true
}

// isMultiple reports whether n is an exact integer multiple of step.
func isMultiple(n, step any) bool {
	if a, ok := n.(int); ok {
		if b, ok := step.(int); ok {
			return a%b == 0
		}
	}
	a, b := value.DecimalOf(n), value.DecimalOf(step)
	if a.Digits == "" {
		return true
	}
	shift := (a.Exp - len(a.Digits)) - (b.Exp - len(b.Digits))
	if shift < 0 {
		return false // a's last digit is not 0, and a multiple would have to end in zeros
	}
	x, _ := new(big.Int).SetString(a.Digits, 10)
	m, _ := new(big.Int).SetString(b.Digits, 10)
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(shift)), m)
	return x.Mul(x, power).Mod(x, m).Sign() == 0
}
