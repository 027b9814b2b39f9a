package hclexpr

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

var operatorText = map[*hclsyntax.Operation]string{
	hclsyntax.OpAdd: "+", hclsyntax.OpSubtract: "-", hclsyntax.OpMultiply: "*", hclsyntax.OpDivide: "/",
	hclsyntax.OpModulo: "%", hclsyntax.OpGreaterThan: ">", hclsyntax.OpGreaterThanOrEqual: ">=",
	hclsyntax.OpLessThan: "<", hclsyntax.OpLessThanOrEqual: "<=",
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

func (c *Compiler) compileLogical(e *hclsyntax.BinaryOpExpr, in LexicalEnv) eval.TypedExpr {
	a, open, no := c.compileCondition(e.LHS, in)
	and := e.Op == hclsyntax.OpLogicalAnd
	if !and {
		open = no
	}
	b := c.compileBool(e.RHS, open)
	return c.foldConstant(eval.Logical(a, b, and), e.Range())
}

func (c *Compiler) compileEquality(e *hclsyntax.BinaryOpExpr, in LexicalEnv) eval.TypedExpr {
	a, b := c.requireWhole(c.Compile(e.LHS, in), e.Range()), c.requireWhole(c.Compile(e.RHS, in), e.Range())
	if a.Type.Kind != schema.Any && b.Type.Kind != schema.Any && !eval.CanBe(a.Type, b.Type.Kind) &&
		!a.IsNull() && !b.IsNull() {
		c.warnf(e.Range(), "Comparison never true", "%s is %s and %s is %s. They are never equal.",
			eval.SubjectCapitalized(a), eval.TypePhrase(a.Type), eval.Subject(b), eval.TypePhrase(b.Type))
	}
	return c.foldConstant(eval.Equality(a, b, e.Op == hclsyntax.OpNotEqual, equal), e.Range())
}

func equal(f *eval.Frame, a, b any) (bool, error) { return value.EqualSteps(a, b, f.Budget().Step) }

// compileArithmetic compiles an operator that takes two numbers: it computes another, or compares
// them.
func (c *Compiler) compileArithmetic(e *hclsyntax.BinaryOpExpr, in LexicalEnv) eval.TypedExpr {
	op := operatorText[e.Op]
	a, b := c.compileNumber(e.LHS, op, in), c.compileNumber(e.RHS, op, in)
	t := eval.BoolType
	if eval.Ordering(op) == nil {
		t = eval.ArithmeticType(op, a.Type, b.Type)
	}
	return c.foldConstant(eval.Binary(t, a, b, eval.OnNumbers(op)), e.Range())
}

// compileNumber compiles an operand that must be a number.
func (c *Compiler) compileNumber(e hclsyntax.Expression, op string, in LexicalEnv) eval.TypedExpr {
	n := c.requireWhole(c.Compile(e, in), e.Range())
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

func (c *Compiler) compileUnary(e *hclsyntax.UnaryOpExpr, in LexicalEnv) eval.TypedExpr {
	if e.Op == hclsyntax.OpLogicalNot {
		a := c.compileBool(e.Val, in)
		return c.foldConstant(eval.Not(a), e.Range())
	}
	a := c.compileNumber(e.Val, "-", in)
	return c.foldConstant(eval.Binary(a.Type, eval.Constant(0), a, eval.OnNumbers("-")), e.Range())
}
