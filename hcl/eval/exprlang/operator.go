package exprlang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/functions"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

func (c *compiler) compileBinary(n *ast.BinaryNode) typedExpr {
	switch n.Operator {
	case "&&", "and":
		return c.compileLogical(n, true)
	case "||", "or":
		return c.compileLogical(n, false)
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
	isNull := func(t typedExpr) bool { return t.Known && t.Value == nil }
	var same, differs [][]string // what is not null if both are equal, or not
	switch {
	case isNull(r):
		differs = prefixes(l.path)
	case isNull(l):
		differs = prefixes(r.path)
	case r.Known:
		same = prefixes(l.path)
	case l.Known:
		same = prefixes(r.path)
	}
	negate := n.Operator == "!="
	t := computed(eval.BoolType, c.spanOf(n), func(f *frame) (any, error) {
		a, err := l.Eval(f)
		if err != nil {
			return nil, err
		}
		b, err := r.Eval(f)
		if err != nil {
			return nil, err
		}
		ok, err := equal(f, a, b)
		return ok != negate, err
	})
	t.whenTrue, t.whenFalse = same, differs
	if negate {
		t.whenTrue, t.whenFalse = differs, same
	}
	return t
}

// equal compares two values. Large values are charged for.
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
	for _, v := range []any{a, b} {
		size, err := functions.Size(v, functions.MaxComparedSize)
		if err == nil {
			err = f.spendSteps(size / 16)
		}
		if err != nil {
			return false, err
		}
	}
	return value.Equal(a, b), nil
}

// checkComparable reports comparisons that are never true.
func (c *compiler) checkComparable(n *ast.BinaryNode, l, r typedExpr) {
	if !mayEqual(l.Type, r.Type) {
		hint := ""
		if isTextAndNumber(l.Type, r.Type) {
			hint = " tonumber(...) and tostring(...) convert."
		}
		c.report(c.fullSpan(n), "Never equal", "%s is compared with %s.%s",
			capitalize(eval.TypePhrase(l.Type)), eval.TypePhrase(r.Type), hint)
		return
	}
	for _, pair := range [][2]typedExpr{{l, r}, {r, l}} {
		if s, isText := pair[1].Value.(string); isText {
			c.checkEnum(pair[1].at, s, pair[0].Type, "The value is never %q.%s It is one of: %s.")
		}
	}
}

// checkEnum reports a text that no value of the type can be. Format takes the text, a suggestion
// and the texts that are possible.
func (c *compiler) checkEnum(at span, text string, t *schema.Type, format string) {
	if texts := enumTexts(t); texts != nil && !slices.Contains(texts, text) {
		c.report(at, "Never equal", format, text, diag.DidYouMean(text, texts), strings.Join(texts, ", "))
	}
}

func isTextAndNumber(a, b *schema.Type) bool {
	return a.Kind == schema.String && eval.IsNumeric(b) || b.Kind == schema.String && eval.IsNumeric(a)
}

func (c *compiler) compileOrdering(n *ast.BinaryNode, l, r typedExpr) typedExpr {
	numbers, texts := c.checkOperands(n, l, r, "compared")
	if !numbers && !texts {
		t := broken(c.spanOf(n))
		t.Type = eval.BoolType
		return t
	}
	holds := eval.Ordering(n.Operator)
	t := computed(eval.BoolType, c.spanOf(n), func(f *frame) (any, error) {
		a, err := l.Eval(f)
		if err != nil {
			return nil, err
		}
		b, err := r.Eval(f)
		if err != nil {
			return nil, err
		}
		order, err := compare(a, b)
		if err != nil {
			return nil, err
		}
		return holds(order), nil
	})
	t.whenTrue = unionPaths(prefixes(l.path), prefixes(r.path))
	t.whenFalse = t.whenTrue
	return t
}

// compare orders two numbers or two strings.
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
	a, err := eval.Resolve(a)
	if err != nil {
		return 0, err
	}
	if b, err = eval.Resolve(b); err != nil {
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

// checkOperands reports two operands that can neither be numbers nor strings, and operands that may
// be null. Verb says what the operator does with them.
func (c *compiler) checkOperands(n *ast.BinaryNode, l, r typedExpr, verb string) (numbers, texts bool) {
	numbers = eval.CanBe(l.Type, schema.Number) && eval.CanBe(r.Type, schema.Number)
	texts = eval.CanBe(l.Type, schema.String) && eval.CanBe(r.Type, schema.String)
	if !numbers && !texts {
		hint := ""
		switch {
		case verb == "added" && isTextAndNumber(l.Type, r.Type):
			hint = " Write tostring(...) around the number, or use format."
		case verb == "added" && l.Type.Kind == schema.List:
			hint = " concat(a, b) joins lists."
		case isTextAndNumber(l.Type, r.Type):
			hint = " tonumber(...) reads a number from a string."
		}
		c.report(c.fullSpan(n), "Wrong types", "%s and %s cannot be %s.%s",
			capitalize(eval.TypePhrase(l.Type)), eval.TypePhrase(r.Type), verb, hint)
		return false, false
	}
	if l.Type.Nullable {
		c.reportNullable(n.Left)
	}
	if r.Type.Nullable {
		c.reportNullable(n.Right)
	}
	return numbers, texts
}
