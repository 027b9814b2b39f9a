package schema

import (
	"fmt"
	"strings"

	"hatchel/hcl/diag"
	"hatchel/hcl/value"

	hclv2 "github.com/hashicorp/hcl/v2"
)

// contradiction names two bounds that no value can satisfy together.
func contradiction(t *Type) string {
	for _, c := range []struct {
		low, high         any
		lowName, highName string
		open              bool
	}{
		{t.Min, t.Max, "min", "max", false},
		{t.Above, t.Below, "above", "below", true},
		{t.Min, t.Below, "min", "below", true},
		{t.Above, t.Max, "above", "max", true},
		{intOrNil(t.MinLength), intOrNil(t.MaxLength), "min_length", "max_length", false},
		{intOrNil(t.MinItems), intOrNil(t.MaxItems), "min_items", "max_items", false},
	} {
		if c.low == nil || c.high == nil {
			continue
		}
		if d := value.Compare(c.low, c.high); d > 0 || d == 0 && c.open {
			return fmt.Sprintf("No value can satisfy %s = %s and %s = %s.", c.lowName, showJSON(c.low), c.highName,
				showJSON(c.high))
		}
	}
	return ""
}

func intOrNil(n *int) any {
	if n == nil {
		return nil
	}
	return *n
}

// finish runs the checks that involve several keywords: the values of an enumeration and the
// example must satisfy all other keywords.
func (p *parser) finish(t *Type, at hclv2.Range) {
	if len(t.Enum) > 0 {
		plain := *t
		plain.Enum, plain.Nullable, plain.Extra, plain.library = nil, false, nil, nil
		check := plain.Compile()
		kept := []EnumValue{}
		for _, e := range t.Enum {
			if _, violations := check.Check(e.Value); len(violations) > 0 {
				p.fail(at, "Invalid enum value", "The value %s %s.", showJSON(e.Value), violations[0].Message)
				continue
			}
			kept = append(kept, e)
		}
		t.Enum = kept
	}
	kept := []any{}
	for _, e := range t.Examples {
		if _, violations := t.Compile().Check(e); len(violations) > 0 {
			p.fail(at, "Invalid example", "The example does not fit the type %s: %s.", t, violations[0])
			continue
		}
		kept = append(kept, e)
	}
	t.Examples = kept
}

// defaultValue reads a default and converts it to the type.
func (p *parser) defaultValue(t *Type, expr hclv2.Expression) (any, bool) {
	v, ok := p.constant(expr)
	if !ok {
		return nil, false
	}
	if v == nil && !t.AllowsNull() {
		p.fail(expr.Range(), "Invalid default",
			"null is not a value of %s. An optional value needs no default: optional(%s); a value that may "+
				"be null is optional(nullable(%s), null).", t, t, t)
		return nil, false
	}
	if holdsFile(t, v) {
		p.fail(expr.Range(), "Invalid default",
			"A file is uploaded by the caller, so it cannot have a default. For a file that may be left "+
				"out, write optional(file).")
		return nil, false
	}
	out, violations := t.Compile().Check(v)
	if len(violations) == 0 {
		if s, ok := v.(string); ok && len(t.Enum) == 0 && isSentence(s) {
			p.Diags.Warnf(diag.RangeOf(expr.Range()), "Possible description", "The default is the string %s. Is this a "+
				"description? Put it into the type: optional(%s(%s)).", quoteShort(s), t.Kind, quoteShort(s))
		}
		return out, true
	}
	hint := ""
	if s, ok := v.(string); ok && t.Kind != String && isSentence(s) {
		hint = fmt.Sprintf(" Is this a description? Put it into the type: optional(%s(%s)).", t.Kind, quoteShort(s))
	}
	for _, violation := range violations {
		p.fail(expr.Range(), "Invalid default", "The default does not fit the type %s: %s.%s", t, violation, hint)
	}
	return nil, false
}

// isSentence guesses whether a string is a description rather than a value.
func isSentence(s string) bool {
	words := len(strings.Fields(s))
	first := s != "" && s[0] >= 'A' && s[0] <= 'Z'
	return words >= 4 || words >= 3 && first || words >= 2 && strings.HasSuffix(s, ".")
}
