package schema

import (
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"

	"hatchel/hcl/spelling"
	"hatchel/hcl/value"
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
	pattern, err := NewPattern(source)
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
		p.fail(expr.Range(), "Unknown format", "There is no format %q. Did you mean %q?", name, near)
		return
	}
	p.fail(expr.Range(), "Unknown format",
		"There is no format %q. The formats are %s; for anything else write a pattern.", name,
		strings.Join(formatNames(), ", "))
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
