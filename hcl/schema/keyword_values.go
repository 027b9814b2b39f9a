package schema

import (
	"fmt"
	"slices"
	"strings"

	"hatchel/hcl/diag"
	"hatchel/hcl/spelling"
	"hatchel/hcl/value"

	hclv2 "github.com/hashicorp/hcl/v2"
)

func number(field func(*Type) *any) func(*parser, *Type, hclv2.Expression) {
	return func(p *parser, t *Type, expr hclv2.Expression) {
		if v, ok := p.numberValue(expr); ok {
			*field(t) = v
		}
	}
}

func (p *parser) numberValue(expr hclv2.Expression) (any, bool) {
	v, ok := p.constant(expr)
	if ok && (!value.IsNumber(v) || !value.IsFinite(v)) {
		p.fail(expr.Range(), "Invalid keyword value", "A number is needed here, not %s.", describeValue(v))
		return nil, false
	}
	return v, ok
}

func (p *parser) multipleOf(t *Type, expr hclv2.Expression) {
	v, ok := p.numberValue(expr)
	if ok && value.Compare(v, 0) <= 0 {
		p.fail(expr.Range(), "Invalid keyword value", "multiple_of must be above 0, got %s.", showJSON(v))
		return
	}
	if ok {
		t.MultipleOf = v
	}
}

func count(field func(*Type) **int) func(*parser, *Type, hclv2.Expression) {
	return func(p *parser, t *Type, expr hclv2.Expression) {
		v, ok := p.constant(expr)
		if !ok {
			return
		}
		n, whole := value.Int(v)
		if !whole || n < 0 {
			p.fail(expr.Range(), "Invalid keyword value", "A whole number from 0 is needed here, not %s.",
				describeValue(v))
			return
		}
		*field(t) = &n
	}
}

func (p *parser) pattern(t *Type, expr hclv2.Expression) {
	source := p.text(expr, "pattern")
	if source == "" {
		return
	}
	pattern, err := p.Patterns.Compile(source)
	if err != nil {
		p.fail(expr.Range(), "Invalid pattern", "The pattern cannot be used: %s.", err)
		return
	}
	t.Pattern = pattern
}

// formatAliases are other names for formats.
var formatAliases = map[string]string{"datetime": "date-time", "date_time": "date-time", "timestamp": "date-time",
	"url": "uri", "ip": "ipv4", "guid": "uuid", "host": "hostname", "domain": "hostname", "regexp": "regex",
	"mail": "email"}

func (p *parser) format(t *Type, expr hclv2.Expression) {
	name := p.text(expr, "format")
	if name == "" {
		return
	}
	if _, ok := formats[name]; ok {
		t.Format = name
		return
	}
	near := formatAliases[strings.ToLower(name)]
	if near == "" {
		near = spelling.Nearest(name, formatNames())
	}
	if near != "" {
		p.fail(expr.Range(), "Unknown format", "There is no format %q. Did you mean %q?", name,
			diag.Correct(name, near, near))
		return
	}
	p.fail(expr.Range(), "Unknown format", "There is no format %q. The formats are %s; for anything else write a "+
		"pattern.", name, diag.OneOf(formatNames(), strings.Join(formatNames(), ", ")))
}

func (p *parser) example(t *Type, expr hclv2.Expression) {
	if v, ok := p.constant(expr); ok {
		t.Examples = []any{v}
	}
}

func (p *parser) sensitive(t *Type, expr hclv2.Expression) {
	v, ok := p.constant(expr)
	b, isBool := v.(bool)
	if ok && !isBool {
		p.fail(expr.Range(), "Invalid keyword value", "sensitive is true or false, not %s.", describeValue(v))
	}
	t.Sensitive = b
}

// headerBytes are the bytes allowed in a header name: those of a token of RFC 9110.
const headerBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.!#$%&'*+^`|~"

func (p *parser) header(t *Type, expr hclv2.Expression) {
	name := p.text(expr, "header")
	if strings.Trim(name, headerBytes) != "" || name == "" {
		p.fail(expr.Range(), "Invalid keyword value",
			"header is the name of an HTTP header: letters, digits and -, like \"Region\".")
		return
	}
	t.Header = name
}

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
		t.Enum = slices.DeleteFunc(slices.Clone(t.Enum), func(e EnumValue) bool {
			_, violations, _ := check.Check(e.Value, Unlimited)
			if len(violations) > 0 {
				p.fail(at, "Invalid enum value", "The value %s %s.", showJSON(e.Value), violations[0].Message)
			}
			return len(violations) > 0
		})
	}
	if len(t.Examples) > 0 {
		if _, violations, _ := t.Compile().Check(t.Examples[0], Unlimited); len(violations) > 0 {
			p.fail(at, "Invalid example", "The example does not fit the type %s: %s.", t, violations[0])
			t.Examples = nil
		}
	}
}

// defaultValue reads a default and converts it to the type.
func (p *parser) defaultValue(t *Type, expr hclv2.Expression) (any, bool) {
	v, ok := p.constant(expr)
	if !ok {
		return nil, false
	}
	if v == nil && !t.AllowsNull() {
		p.fail(expr.Range(), "Invalid default", "null is not a value of %s. An optional value needs no default: "+
			"optional(%s); a value that may be null is optional(nullable(%s), null).", t, t, t)
		return nil, false
	}
	if holdsFile(t, v) {
		p.fail(expr.Range(), "Invalid default", "A file is uploaded by the caller, so it cannot have a default. For "+
			"a file that may be left out, write optional(file).")
		return nil, false
	}
	hint := descriptionHint(t, v)
	out, violations, _ := t.Compile().Check(v, Unlimited)
	for _, violation := range violations {
		p.fail(expr.Range(), "Invalid default", "The default does not fit the type %s: %s.%s", t, violation, hint)
	}
	return out, len(violations) == 0
}

// warnDefault warns about a sentence in optional(string, "...") whose type is one word: it may be a description.
func (p *parser) warnDefault(t *Type, given, fallback hclv2.Expression, v any) {
	if hint := descriptionHint(t, v); hint != "" && hclv2.ExprAsKeyword(given) != "" {
		p.Diags.Warnf(diag.RangeOf(fallback.Range()), "Possible description", "The default is the string %s.%s",
			showJSON(v), hint)
	}
}

// descriptionHint returns where a default that is a sentence should be if it is a description, or "".
func descriptionHint(t *Type, v any) string {
	s, ok := v.(string)
	if !ok || !isSentence(s) {
		return ""
	}
	return fmt.Sprintf(" Is this a description? Put it into the type: optional(%s(%s)).", t.Kind, quoteShort(s))
}

// isSentence guesses whether a string is a description rather than a value.
func isSentence(s string) bool {
	words := len(strings.Fields(s))
	first := s != "" && s[0] >= 'A' && s[0] <= 'Z'
	return words >= 4 || words >= 3 && first || words >= 2 && strings.HasSuffix(s, ".")
}
