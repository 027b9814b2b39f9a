package exprlang

import (
	"cmp"
	"errors"
	"fmt"
	"math"
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
	}
	left, right := c.compileOperand(n.Left, c.compile), c.compileOperand(n.Right, c.compile)
	l, r := left.typedExpr, right.typedExpr
	switch n.Operator {
	case "??":
		return c.compileCoalesce(l, r)
	case "+":
		return c.compileAdd(n, l, r)
	}
	l, r = c.requireWhole(n.Left, l), c.requireWhole(n.Right, r)
	if !slices.Contains([]string{"matches", "startsWith", "endsWith", "contains"}, n.Operator) { // a part is no name
		c.recordCompared(left, right)
	}
	switch n.Operator {
	case "==", "!=":
		c.checkComparable(n, l, r)
		return eval.Equality(l, r, n.Operator == "!=", equal)
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
	}
	return c.compileArithmetic(n, l, r)
}

// compileCondition compiles a part that must give a bool.
func (c *compiler) compileCondition(n ast.Node) typedExpr {
	t := c.requireWhole(n, c.compile(n))
	c.checkKind(n, t, schema.Bool)
	return t
}

func (c *compiler) compileLogical(n *ast.BinaryNode, open bool) typedExpr {
	l := c.compileCondition(n.Left)
	known := l.WhenFalse
	if open {
		known = l.NonNullWhenTrue()
	}
	return eval.Logical(l, c.withNonNull(known, n.Right, c.compileCondition), open)
}

func (c *compiler) compileUnary(n *ast.UnaryNode) typedExpr {
	if n.Operator != "!" && n.Operator != "not" {
		return c.compileSign(n)
	}
	return eval.Not(c.compileCondition(n.Node))
}

func (c *compiler) compileConditional(n *ast.ConditionalNode) typedExpr {
	cond := c.compileCondition(n.Cond)
	yes := c.withNonNull(cond.NonNullWhenTrue(), n.Exp1, c.compile)
	no := c.withNonNull(cond.WhenFalse, n.Exp2, c.compile)
	return eval.Conditional(unifyTypes(yes.Type, no.Type), cond, yes, no)
}

// compileCoalesce compiles ??, which gives its right side if the left side is null.
func (c *compiler) compileCoalesce(l, r typedExpr) typedExpr {
	t := l.Type
	switch {
	case t.Kind == schema.Null:
		t = r.Type
	case t.Nullable:
		t = unifyTypes(t.NotNull(), r.Type)
	}
	left, right := l.Eval, r.Eval
	facts := eval.Either(l, r)
	facts.NullReason = r.NullReason
	return typedExpr{Type: t, Facts: facts, Eval: func(f *eval.Frame) (any, error) {
		v, err := left(f)
		if decoded, derr := eval.Resolved(v, err); derr != nil || decoded != nil {
			return v, derr
		}
		return right(f)
	}}
}

// equal compares two values. Large values are charged for.
func equal(f *eval.Frame, a, b any) (bool, error) {
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
		size, err := f.Budget().Size(v, functions.MaxComparedSize)
		if err == nil {
			err = f.SpendSteps(size / 16)
		}
		if err != nil {
			return false, err
		}
	}
	return value.EqualSteps(a, b, f.Budget().Step)
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
	c.checkEnum(n.Right, r, l.Type, "The value is never %q.%s It is one of: %s.")
	c.checkEnum(n.Left, l, r.Type, "The value is never %q.%s It is one of: %s.")
}

// checkEnum reports a constant text that no value of the type can be. Format takes the text, a
// suggestion and the texts that are possible.
func (c *compiler) checkEnum(n ast.Node, constant typedExpr, t *schema.Type, format string) {
	text, isText := constant.Value.(string)
	if texts := enumTexts(t); isText && texts != nil && !slices.Contains(texts, text) {
		c.report(c.spanOf(n), "Never equal", format, text, diag.DidYouMean(text, texts), strings.Join(texts, ", "))
	}
}

func isTextAndNumber(a, b *schema.Type) bool {
	return a.Kind == schema.String && eval.IsNumeric(b) || b.Kind == schema.String && eval.IsNumeric(a)
}

func (c *compiler) compileOrdering(n *ast.BinaryNode, l, r typedExpr) typedExpr {
	c.checkOperands(n, l, r, "compared")
	holds := eval.Ordering(n.Operator)
	t := eval.Binary(eval.BoolType, l, r, func(f *eval.Frame, a, b any) (any, error) {
		if err := f.SpendDigits(a, b); err != nil {
			return nil, err
		}
		order, err := compare(a, b)
		if err != nil {
			return nil, err
		}
		return holds(order), nil
	})
	t.WhenTrue = slices.Concat(eval.Prefixes(l.Path), eval.Prefixes(r.Path))
	t.WhenFalse = t.WhenTrue
	return t
}

// compare orders two numbers or two strings.
func compare(a, b any) (int, error) {
	switch x := a.(type) {
	case int:
		if y, ok := b.(int); ok {
			return cmp.Compare(x, y), nil
		}
	case string:
		if y, ok := b.(string); ok {
			return strings.Compare(x, y), nil
		}
	}
	if value.IsNumber(a) && value.IsNumber(b) {
		return value.Compare(a, b), nil
	}
	return 0, fmt.Errorf("a %s cannot be compared with a %s", value.Kind(a), value.Kind(b))
}

// checkOperands reports two operands that can neither be numbers nor strings, and operands that may
// be null. Verb says what the operator does with them.
func (c *compiler) checkOperands(n *ast.BinaryNode, l, r typedExpr, verb string) (numbers, texts bool) {
	numbers = eval.CanBe(l.Type, schema.Number) && eval.CanBe(r.Type, schema.Number)
	texts = eval.CanBe(l.Type, schema.String) && eval.CanBe(r.Type, schema.String)
	if numbers || texts {
		c.checkNotNull(n.Left, l)
		c.checkNotNull(n.Right, r)
		return numbers, texts
	}
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

// compileAdd compiles +, which adds two numbers or joins two strings.
func (c *compiler) compileAdd(n *ast.BinaryNode, l, r typedExpr) typedExpr {
	numbers, texts := c.checkOperands(n, l, r, "added")
	t := eval.AnyType
	switch {
	case numbers && (eval.IsNumeric(l.Type) || eval.IsNumeric(r.Type)):
		t = eval.ArithmeticType("+", l.Type, r.Type)
	case texts && (l.Type.Kind == schema.String || r.Type.Kind == schema.String):
		t = eval.StringType
	}
	return eval.Binary(t, l, r, func(f *eval.Frame, a, b any) (any, error) {
		x, ok := a.(string)
		if y, too := b.(string); ok && too {
			return x + y, f.Functions.Spend(len(x) + len(y))
		}
		if value.IsNumber(a) && value.IsNumber(b) {
			if err := f.SpendDigits(a, b); err != nil {
				return nil, err
			}
			return functions.Add(a, b)
		}
		return nil, fmt.Errorf("a %s and a %s cannot be added", value.Kind(a), value.Kind(b))
	})
}

func (c *compiler) compileArithmetic(n *ast.BinaryNode, l, r typedExpr) typedExpr {
	ok := c.checkKind(n.Left, l, schema.Number)
	ok = c.checkKind(n.Right, r, schema.Number) && ok
	t := eval.NumberType
	if ok {
		t = eval.ArithmeticType(n.Operator, l.Type, r.Type)
	}
	return eval.Binary(t, l, r, eval.OnNumbers(n.Operator)) // the parser knows only its operators
}

// compileSign compiles the operators - and + in front of a number.
func (c *compiler) compileSign(n *ast.UnaryNode) typedExpr {
	inner := c.compile(n.Node)
	c.checkKind(n.Node, inner, schema.Number)
	t := inner.Type
	if !eval.IsNumeric(t) {
		t = eval.NumberType
	}
	negative := n.Operator == "-"
	if v, ok := inner.Value.(int); ok && negative {
		return eval.Constant(-v)
	}
	operand := inner.Eval
	return eval.Computed(t, func(f *eval.Frame) (any, error) {
		v, err := eval.Resolved(operand(f))
		switch {
		case err != nil:
			return nil, err
		case !value.IsNumber(v):
			return nil, fmt.Errorf("a number is expected after %q, got %s", n.Operator, value.Kind(v))
		case negative:
			return functions.Negate(v)
		}
		return v, nil
	}, inner)
}

// compileRange compiles a..b, the list of the integers from a to b.
func (c *compiler) compileRange(n *ast.BinaryNode, l, r typedExpr) typedExpr {
	c.checkKind(n.Left, l, schema.Integer)
	c.checkKind(n.Right, r, schema.Integer)
	return eval.Binary(schema.ListOf(eval.IntegerType), l, r, func(f *eval.Frame, a, b any) (any, error) {
		from, ok := value.Int(a)
		to, too := value.Int(b)
		switch {
		case !ok || !too:
			return nil, errors.New("the bounds of .. must be integers")
		case to < from:
			return []any{}, nil
		}
		count := uint64(to) - uint64(from)
		if count >= math.MaxInt32 {
			return nil, functions.ErrMemory
		}
		if err := f.Functions.Spend(int(count+1) * 24); err != nil {
			return nil, err
		}
		list := make([]any, int(count)+1)
		for i := range list {
			if err := f.SpendSteps(1); err != nil {
				return nil, err
			}
			list[i] = from + i
		}
		return list, nil
	})
}
