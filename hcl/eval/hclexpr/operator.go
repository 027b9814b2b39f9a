package hclexpr

import (
	"fmt"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

var operatorText = map[*hclsyntax.Operation]string{
	hclsyntax.OpAdd: "+", hclsyntax.OpSubtract: "-", hclsyntax.OpMultiply: "*", hclsyntax.OpDivide: "/",
	hclsyntax.OpModulo: "%", hclsyntax.OpNegate: "-",
	hclsyntax.OpGreaterThan: ">", hclsyntax.OpGreaterThanOrEqual: ">=", hclsyntax.OpLessThan: "<",
	hclsyntax.OpLessThanOrEqual: "<=",
	hclsyntax.OpEqual:           "==", hclsyntax.OpNotEqual: "!=", hclsyntax.OpLogicalAnd: "&&",
	hclsyntax.OpLogicalOr:  "||",
	hclsyntax.OpLogicalNot: "!",
}

func (c *Compiler) compileBinary(e *hclsyntax.BinaryOpExpr, in LexicalEnv) eval.TypedExpr {
	switch e.Op {
	case hclsyntax.OpLogicalAnd, hclsyntax.OpLogicalOr:
		return c.compileLogical(e, in)
	case hclsyntax.OpEqual, hclsyntax.OpNotEqual:
		return c.compileEquality(e, in)
	}
	return c.compileArithmetic(e, in)
}

// compileLogical compiles && and ||. The right side is computed only if the left side leaves the
// answer open.
func (c *Compiler) compileLogical(e *hclsyntax.BinaryOpExpr, in LexicalEnv) eval.TypedExpr {
	a := c.compileBool(e.LHS, in)
	yes, no := in.NonNull.Branches(c.nonNullWhen(e.LHS, in))
	open, stop := yes, false
	if e.Op == hclsyntax.OpLogicalOr {
		open, stop = no, true
	}
	b := c.compileBool(e.RHS, LexicalEnv{open, in.vars})
	n := eval.Combine(eval.BoolType, a, b)
	n.Eval = func(f *eval.Frame) (any, error) {
		v, err := eval.EvalBool(f, a.Eval)
		if err != nil || v == stop {
			return v, err
		}
		return eval.EvalBool(f, b.Eval)
	}
	return c.foldConstant(n, e.Range())
}

func (c *Compiler) compileEquality(e *hclsyntax.BinaryOpExpr, in LexicalEnv) eval.TypedExpr {
	a, b := c.Compile(e.LHS, in), c.Compile(e.RHS, in)
	if a.Type.Kind != schema.Any && b.Type.Kind != schema.Any && !eval.CanBe(a.Type, b.Type.Kind) &&
		!(a.Known && a.Value == nil) && !(b.Known && b.Value == nil) {
		c.warnf(e.Range(), "Comparison never true", "%s is %s and %s is %s. They are never equal.",
			eval.SubjectCapitalized(a), eval.TypePhrase(a.Type), eval.Subject(b), eval.TypePhrase(b.Type))
	}
	negate := e.Op == hclsyntax.OpNotEqual
	n := eval.Combine(eval.BoolType, a, b)
	n.Eval = func(f *eval.Frame) (any, error) {
		x, y, err := eval.EvalPair(f, a.Eval, b.Eval)
		if err != nil {
			return nil, err
		}
		return value.Equal(x, y) != negate, nil
	}
	return c.foldConstant(n, e.Range())
}

// compileArithmetic compiles an operator that takes two numbers: it computes another, or compares
// them.
func (c *Compiler) compileArithmetic(e *hclsyntax.BinaryOpExpr, in LexicalEnv) eval.TypedExpr {
	op := operatorText[e.Op]
	a, b := c.compileNumber(e.LHS, op, in), c.compileNumber(e.RHS, op, in)
	t := eval.BoolType
	if eval.Ordering(op) == nil {
		t = eval.ArithmeticType(op, a.Type, b.Type)
	}
	n := eval.Combine(t, a, b)
	n.Eval = func(f *eval.Frame) (any, error) {
		x, y, err := eval.EvalPair(f, a.Eval, b.Eval)
		if err != nil {
			return nil, err
		}
		return compute(op, x, y)
	}
	return c.foldConstant(n, e.Range())
}

// compileNumber compiles an operand that must be a number.
func (c *Compiler) compileNumber(e hclsyntax.Expression, op string, in LexicalEnv) eval.TypedExpr {
	n := c.Compile(e, in)
	switch n.Type.Kind {
	case schema.Number, schema.Integer, schema.Any:
		if n.NullReason != "" {
			c.Errorf(e.Range(), "Value may be null",
				"%s, but %s takes numbers. Write coalesce(%s, 0), or check it with a condition.",
				eval.NullSentence(n), op, c.sourceText(e.Range()))
		}
		return n
	}
	hint := ""
	if op == "+" && n.Type.Kind == schema.String {
		hint = ` To join texts, write one template: "${a}${b}".`
	}
	c.Errorf(e.Range(), "Number needed", "%s takes numbers, this is %s.%s", op, eval.TypePhrase(n.Type), hint)
	return eval.Broken()
}

// compute applies an operator to two values, which must be numbers.
func compute(op string, a, b any) (any, error) {
	for _, v := range []any{a, b} {
		if !value.IsNumber(v) {
			return nil, fmt.Errorf("%s takes numbers, got %s", op, value.Kind(v))
		}
	}
	if holds := eval.Ordering(op); holds != nil {
		return holds(value.Compare(a, b)), nil
	}
	return eval.Arithmetic(op)(a, b)
}

func (c *Compiler) compileUnary(e *hclsyntax.UnaryOpExpr, in LexicalEnv) eval.TypedExpr {
	if e.Op == hclsyntax.OpLogicalNot {
		a := c.compileBool(e.Val, in)
		a.Type, a.Path = eval.BoolType, ""
		inner := a
		a.Eval = func(f *eval.Frame) (any, error) {
			v, err := eval.EvalBool(f, inner.Eval)
			return !v, err
		}
		return c.foldConstant(a, e.Range())
	}
	a := c.compileNumber(e.Val, "-", in)
	inner := a.Eval
	a.Path = ""
	a.Eval = func(f *eval.Frame) (any, error) {
		v, err := inner(f)
		if err != nil {
			return nil, err
		}
		return compute("-", 0, v)
	}
	return c.foldConstant(a, e.Range())
}
