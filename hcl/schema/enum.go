package schema

import (
	"slices"
	"strconv"
	"strings"

	"hatchel/hcl/diag"
	"hatchel/hcl/value"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// enum reads enum("a", "b") or enum({ a = "Title of a" }).
func (p *parser) enum(args []hclv2.Expression) *Type {
	t := &Type{Kind: String}
	if list, ok := unwrap(args[0]).(*hclsyntax.TupleConsExpr); ok && len(args) == 1 {
		p.fail(list.Range(), "Invalid enum value", "The values are written without brackets: enum(%s).",
			strings.Trim(p.sourceOf(list), "[]"))
		args = list.ExprList()
	}
	if isObject(args[0]) {
		if len(args) > 1 {
			p.fail(between(args[1:]), "Too many arguments",
				"enum({ value = \"Title\" }) takes no further arguments. %s", describedEnum)
		}
		p.titles(t, unwrap(args[0]).(*hclsyntax.ObjectConsExpr))
		return t
	}
	if last := args[len(args)-1]; isObject(last) {
		p.fail(last.Range(), "Too many arguments", "enum(...) takes values only. %s", describedEnum)
		args = args[:len(args)-1]
	}
	p.values(t, args)
	if len(args) > 1 && len(t.Enum) == len(args) {
		p.warnDescription(t.Enum, args[0].Range())
	}
	t.Kind = enumKind(t.Enum)
	return t
}

const describedEnum = `With a description and keywords it is written string("...", { enum = ["a", "b"] }).`

func enumKind(values []EnumValue) Kind {
	kind := String
	for i, v := range values {
		if !value.IsNumber(v.Value) {
			return String
		}
		if i == 0 {
			kind = Integer
		}
		if _, whole := integerOf(v.Value); !whole {
			kind = Number
		}
	}
	return kind
}

// values adds the values of enum("a", "b"): all strings, or all numbers.
func (p *parser) values(t *Type, args []hclv2.Expression) {
	for _, arg := range args {
		if word, ok := unwrap(arg).(*hclsyntax.ScopeTraversalExpr); ok && len(word.Traversal) == 1 {
			name := word.Traversal.RootName()
			p.fail(arg.Range(), "Unquoted enum value", "A value is written in quotes: %s.",
				diag.Correct(name, strconv.Quote(name), strconv.Quote(name)))
			t.Enum = append(t.Enum, EnumValue{Value: name})
			continue
		}
		if v, ok := p.constant(arg); ok {
			p.enumValue(t, EnumValue{Value: v}, arg.Range())
		}
	}
}

// warnDescription warns about a sentence before values that are none: it is where other types have their description.
func (p *parser) warnDescription(values []EnumValue, at hclv2.Range) {
	isText := func(e EnumValue) bool { s, ok := e.Value.(string); return ok && isSentence(s) }
	if !isText(values[0]) || slices.ContainsFunc(values[1:], isText) {
		return
	}
	s := quoteShort(values[0].Value.(string))
	p.Diags.Warnf(diag.RangeOf(at), "Possible description", "The string %s is one of the values. Is this a "+
		"description? Put it into string(%s, { enum = [...] }).", s, s)
}

func (p *parser) enumValue(t *Type, e EnumValue, at hclv2.Range) {
	_, isText := e.Value.(string)
	switch {
	case !isText && !value.IsNumber(e.Value):
		p.fail(at, "Invalid enum value", "A value is a string or a number, not %s.", describeValue(e.Value))
		return
	case len(t.Enum) > 0 && value.IsNumber(t.Enum[0].Value) == isText:
		p.fail(at, "Invalid enum value", "The values must be all strings or all numbers; %s differs from %s.",
			showJSON(e.Value), showJSON(t.Enum[0].Value))
		return
	case hasEnum(t.Enum, e.Value):
		p.fail(at, "Duplicate enum value", "The value %s is written twice.", showJSON(e.Value))
		return
	}
	t.Enum = append(t.Enum, e)
}

// titles adds the values of enum({ open = "Open orders" }) in written order.
func (p *parser) titles(t *Type, braces *hclsyntax.ObjectConsExpr) {
	if len(braces.Items) == 0 {
		p.incomplete(braces.Range(), "enum")
	}
	for _, item := range braces.Items {
		name, ok := p.key(item.KeyExpr)
		title := p.text(item.ValueExpr, "The title of a value")
		if ok {
			p.enumValue(t, EnumValue{Value: name, Title: title}, item.KeyExpr.Range())
		}
	}
}

// enumKeyword reads enum = [...] or enum = { value = "Title" }.
func (p *parser) enumKeyword(t *Type, expr hclv2.Expression) {
	t.Enum = nil
	switch e := unwrap(expr).(type) {
	case *hclsyntax.TupleConsExpr:
		p.values(t, e.ExprList())
	case *hclsyntax.ObjectConsExpr:
		p.titles(t, e)
	default:
		v, ok := p.constant(expr)
		list, isList := v.([]any)
		if ok && !isList {
			p.fail(expr.Range(), "Invalid keyword value", "enum is a list of values, like [\"a\", \"b\"], not %s.",
				describeValue(v))
		}
		for _, v := range list {
			p.enumValue(t, EnumValue{Value: v}, expr.Range())
		}
	}
	if list, ok := unwrap(expr).(*hclsyntax.TupleConsExpr); ok && len(list.Exprs) == 0 {
		p.fail(expr.Range(), "Invalid keyword value", "enum needs at least one value.")
	}
	if len(t.Enum) > 0 && !t.broken && value.IsNumber(t.Enum[0].Value) == (t.Kind == String) {
		p.fail(expr.Range(), "Invalid keyword value", "The type is %s, and %s is not a value of it.", t.Kind,
			showJSON(t.Enum[0].Value))
		t.Enum = nil
	}
}
