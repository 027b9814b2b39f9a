package exprlang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"hatchel/hcl/eval"
	"hatchel/hcl/functions"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

func (c *compiler) compileBinary(n *ast.BinaryNode) typedExpr {
	switch n.Operator {
	case "&&", "and":
		return c.compileAnd(n)
	case "||", "or":
		return c.compileOr(n)
	case "??":
		return c.compileCoalesce(n)
	}
	l, r := c.compile(n.Left), c.compile(n.Right)
	switch n.Operator {
	case "==", "!=":
		return c.compileEquality(n, l, r)
	case "<", "<=", ">", ">=":
		return c.compileOrdering(n, l, r)
	case "in":
		return c.compileIn(n, l, r)
	case "contains", "startsWith", "endsWith":
		return c.compileTextSearch(n, l, r)
	case "matches":
		return c.compileMatches(n, l, r)
	case "..":
		return c.compileRange(n, l, r)
	case "+":
		return c.compileAdd(n, l, r)
	}
	return c.compileArithmetic(n, l, r)
}

func (c *compiler) compileEquality(n *ast.BinaryNode, l, r typedExpr) typedExpr {
	c.checkComparable(n, l, r)
	t := typedExpr{typ: eval.BoolType, at: c.spanOf(n)}
	isNull := func(t typedExpr) bool { return t.known && t.value == nil }
	var same, differs [][]string
	switch {
	case isNull(r):
		differs = prefixes(l.path)
	case isNull(l):
		differs = prefixes(r.path)
	case r.known:
		same = prefixes(l.path)
	case l.known:
		same = prefixes(r.path)
	}
	negate := n.Operator == "!="
	t.whenTrue, t.whenFalse = same, differs
	if negate {
		t.whenTrue, t.whenFalse = differs, same
	}
	t.eval = func(f *frame) (any, error) {
		a, err := l.eval(f)
		if err != nil {
			return nil, err
		}
		b, err := r.eval(f)
		if err != nil {
			return nil, err
		}
		ok, err := equal(f, a, b)
		return ok != negate, err
	}
	return t
}

func equal(f *frame, a, b any) (bool, error) {
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			return x == y, nil
		}
	case int:
		if y, ok := b.(int); ok {
			return x == y, nil
		}
	case bool:
		if y, ok := b.(bool); ok {
			return x == y, nil
		}
	case nil:
		if b == nil {
			return true, nil
		}
	case []any, map[string]any:
		if b == nil {
			return false, nil
		}
	}
	if err := f.spendValue(a); err != nil {
		return false, err
	}
	if err := f.spendValue(b); err != nil {
		return false, err
	}
	return value.Equal(a, b), nil
}

// spendValue accounts for looking at every part of a value.
func (f *frame) spendValue(v any) error {
	n, err := functions.Size(v, functions.MaxWalk)
	if err != nil {
		return err
	}
	return f.spendSteps(n / 16)
}

// checkComparable reports comparisons that are never true.
func (c *compiler) checkComparable(n *ast.BinaryNode, l, r typedExpr) {
	if !mayEqual(l.typ, r.typ) {
		hint := ""
		if l.typ.Kind == schema.String && eval.IsNumeric(r.typ) || r.typ.Kind == schema.String && eval.IsNumeric(l.typ) {
			hint = " tonumber(...) and tostring(...) convert."
		}
		c.report(c.fullSpan(n), "Never equal", "%s is compared with %s.%s", capitalize(eval.TypePhrase(l.typ)), eval.TypePhrase(r.typ), hint)
		return
	}
	for _, pair := range [][2]typedExpr{{l, r}, {r, l}} {
		s, isText := pair[1].value.(string)
		if values := enumTexts(pair[0].typ); isText && values != nil && !slices.Contains(values, s) {
			c.report(pair[1].at, "Never equal", "The value is never %q.%s It is one of: %s.", s, didYouMean(s, values), strings.Join(values, ", "))
		}
	}
}

func (c *compiler) compileOrdering(n *ast.BinaryNode, l, r typedExpr) typedExpr {
	numbers, texts := c.checkOperands(n, l, r, "compared")
	if !numbers && !texts {
		return typedExpr{typ: eval.BoolType, at: c.spanOf(n), eval: broken(c.spanOf(n)).eval}
	}
	holds := map[string]func(int) bool{
		"<":  func(d int) bool { return d < 0 },
		"<=": func(d int) bool { return d <= 0 },
		">":  func(d int) bool { return d > 0 },
		">=": func(d int) bool { return d >= 0 },
	}[n.Operator]
	known := unionPaths(prefixes(l.path), prefixes(r.path))
	return typedExpr{typ: eval.BoolType, at: c.spanOf(n), whenTrue: known, whenFalse: known, eval: func(f *frame) (any, error) {
		a, err := l.eval(f)
		if err != nil {
			return nil, err
		}
		b, err := r.eval(f)
		if err != nil {
			return nil, err
		}
		d, err := compare(a, b)
		if err != nil {
			return nil, err
		}
		return holds(d), nil
	}}
}

func compare(a, b any) (int, error) {
	switch x := a.(type) {
	case int:
		if y, ok := b.(int); ok {
			return value.Compare(x, y), nil
		}
	case float64:
		if y, ok := b.(float64); ok {
			return value.Compare(x, y), nil
		}
	case string:
		if y, ok := b.(string); ok {
			return strings.Compare(x, y), nil
		}
	}
	a, b, err := resolvePair(a, b)
	if err != nil {
		return 0, err
	}
	if value.IsNumber(a) && value.IsNumber(b) {
		return value.Compare(a, b), nil
	}
	x, ok := a.(string)
	y, too := b.(string)
	if !ok || !too {
		return 0, fmt.Errorf("a %s cannot be compared with a %s", value.Kind(a), value.Kind(b))
	}
	return strings.Compare(x, y), nil
}

func resolvePair(a, b any) (any, any, error) {
	a, err := value.Resolve(a)
	if err != nil {
		return nil, nil, errUnreadable
	}
	if b, err = value.Resolve(b); err != nil {
		return nil, nil, errUnreadable
	}
	return a, b, nil
}

// checkOperands checks that both sides can be numbers, or both strings, and are not null.
func (c *compiler) checkOperands(n *ast.BinaryNode, l, r typedExpr, verb string) (numbers, texts bool) {
	numbers = eval.CanBe(l.typ, schema.Number) && eval.CanBe(r.typ, schema.Number)
	texts = eval.CanBe(l.typ, schema.String) && eval.CanBe(r.typ, schema.String)
	if !numbers && !texts {
		hint := ""
		switch {
		case verb == "added" && (l.typ.Kind == schema.String || r.typ.Kind == schema.String) && (eval.IsNumeric(l.typ) || eval.IsNumeric(r.typ)):
			hint = " Write tostring(...) around the number, or use format."
		case verb == "added" && l.typ.Kind == schema.List:
			hint = " concat(a, b) puts lists together."
		case l.typ.Kind == schema.String && eval.IsNumeric(r.typ), r.typ.Kind == schema.String && eval.IsNumeric(l.typ):
			hint = " tonumber(...) reads a number from a string."
		}
		c.report(c.fullSpan(n), "Wrong types", "%s and %s cannot be %s.%s", capitalize(eval.TypePhrase(l.typ)), eval.TypePhrase(r.typ), verb, hint)
		return false, false
	}
	if l.typ.Nullable {
		c.reportNullable(n.Left)
	}
	if r.typ.Nullable {
		c.reportNullable(n.Right)
	}
	return numbers, texts
}
