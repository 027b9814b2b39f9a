package hclexpr

import (
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// nonNullWhen returns the traversals that are not null if a condition holds, and if it does not.
func (c *Compiler) nonNullWhen(e hclsyntax.Expression, in LexicalEnv) (whenTrue, whenFalse []string) {
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return c.nonNullWhen(e.Expression, in)
	case *hclsyntax.UnaryOpExpr:
		if e.Op == hclsyntax.OpLogicalNot {
			t, f := c.nonNullWhen(e.Val, in)
			return f, t
		}
	case *hclsyntax.BinaryOpExpr:
		return c.nonNullWhenBinary(e, in)
	}
	return nil, nil
}

func (c *Compiler) nonNullWhenBinary(e *hclsyntax.BinaryOpExpr, in LexicalEnv) (whenTrue, whenFalse []string) {
	switch e.Op {
	case hclsyntax.OpLogicalAnd:
		t1, _ := c.nonNullWhen(e.LHS, in)
		t2, _ := c.nonNullWhen(e.RHS, in)
		return append(t1, t2...), nil
	case hclsyntax.OpLogicalOr:
		_, f1 := c.nonNullWhen(e.LHS, in)
		_, f2 := c.nonNullWhen(e.RHS, in)
		return nil, append(f1, f2...)
	case hclsyntax.OpEqual, hclsyntax.OpNotEqual:
		path, null := plainPath(e.LHS), isNullLiteral(e.RHS)
		if isNullLiteral(e.LHS) {
			path, null = plainPath(e.RHS), true
		}
		if path == "" {
			return nil, nil
		}
		switch {
		case null && e.Op == hclsyntax.OpNotEqual:
			return []string{path}, nil
		case null:
			return nil, []string{path}
		case e.Op == hclsyntax.OpEqual && isLiteral(e.RHS):
			return []string{path}, nil
		}
	}
	return nil, nil
}

func isNullLiteral(e hclsyntax.Expression) bool {
	l, ok := e.(*hclsyntax.LiteralValueExpr)
	return ok && l.Val.IsNull()
}

func isLiteral(e hclsyntax.Expression) bool {
	switch e := e.(type) {
	case *hclsyntax.LiteralValueExpr:
		return !e.Val.IsNull()
	case *hclsyntax.TemplateExpr:
		return e.IsStringLiteral()
	}
	return false
}

// plainPath is the text of a traversal of names only, or "".
func plainPath(e hclsyntax.Expression) string {
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return plainPath(e.Expression)
	case *hclsyntax.ScopeTraversalExpr:
		names := []string{e.Traversal.RootName()}
		for _, s := range e.Traversal[1:] {
			name, ok := TraverserName(s)
			if !ok {
				return ""
			}
			names = append(names, name)
		}
		return strings.Join(names, ".")
	}
	return ""
}
