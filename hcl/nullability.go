package hcl

import (
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// facts are the traversals that are certainly not null where an expression stands. Immutable; nil holds none.
type facts struct {
	path string
	next *facts
}

func (f *facts) notNull(path string) bool {
	if path == "" {
		return false
	}
	for ; f != nil; f = f.next {
		if f.path == path || strings.HasPrefix(f.path, path+".") {
			return true
		}
	}
	return false
}

// forget drops what is known of a name that a loop gives another meaning.
func (f *facts) forget(name string) *facts {
	if f == nil {
		return nil
	}
	rest := f.next.forget(name)
	switch {
	case f.path == name || strings.HasPrefix(f.path, name+"."):
		return rest
	case rest == f.next:
		return f
	}
	return &facts{f.path, rest}
}

// and adds what a program that guards has ruled out.
func (f *facts) and(c *Condition) *facts {
	if c == nil || c.program == nil {
		return f
	}
	return f.ruledOut(c.program.Narrows())
}

// unless adds what is ruled out where a call goes on because the program does not hold.
func (f *facts) unless(c *Condition) *facts {
	if c == nil || c.program == nil {
		return f
	}
	return f.ruledOut(c.program.Excludes())
}

// expected adds what is ruled out of the answer of a step that is always done, and that ends the call when it does not hold.
func (f *facts) expected(s *Step) *facts {
	if s.When != nil || s.Each != nil || s.Continue {
		return f
	}
	for _, e := range s.Expects {
		if e.That == nil || e.That.program == nil {
			continue
		}
		for _, path := range e.That.program.Narrows() {
			if path[0] == "output" {
				path = append([]string{"step", s.Name}, path[1:]...)
			}
			f = &facts{strings.Join(path, "."), f}
		}
	}
	return f
}

func (f *facts) ruledOut(paths [][]string) *facts {
	for _, path := range paths {
		f = &facts{strings.Join(path, "."), f}
	}
	return f
}

func (f *facts) add(paths []string) *facts {
	for _, p := range paths {
		f = &facts{p, f}
	}
	return f
}

// assume returns the facts of the two branches of a condition.
func (f *facts) assume(whenTrue, whenFalse []string) (yes, no *facts) {
	return f.add(whenTrue), f.add(whenFalse)
}

// narrowing says which traversals are not null when a condition holds, and which when it does not.
func (c *compiler) narrowing(e hclsyntax.Expression, in env) (whenTrue, whenFalse []string) {
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return c.narrowing(e.Expression, in)
	case *hclsyntax.UnaryOpExpr:
		if e.Op == hclsyntax.OpLogicalNot {
			t, f := c.narrowing(e.Val, in)
			return f, t
		}
	case *hclsyntax.BinaryOpExpr:
		return c.narrowingBinary(e, in)
	}
	return nil, nil
}

func (c *compiler) narrowingBinary(e *hclsyntax.BinaryOpExpr, in env) (whenTrue, whenFalse []string) {
	switch e.Op {
	case hclsyntax.OpLogicalAnd:
		t1, _ := c.narrowing(e.LHS, in)
		t2, _ := c.narrowing(e.RHS, in)
		return append(t1, t2...), nil
	case hclsyntax.OpLogicalOr:
		_, f1 := c.narrowing(e.LHS, in)
		_, f2 := c.narrowing(e.RHS, in)
		return nil, append(f1, f2...)
	case hclsyntax.OpEqual, hclsyntax.OpNotEqual:
		path, null := plainPath(e.LHS), isNull(e.RHS)
		if isNull(e.LHS) {
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

func isNull(e hclsyntax.Expression) bool {
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

// plainPath is the text of a traversal of names only, or empty.
func plainPath(e hclsyntax.Expression) string {
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return plainPath(e.Expression)
	case *hclsyntax.ScopeTraversalExpr:
		names := []string{e.Traversal.RootName()}
		for _, s := range e.Traversal[1:] {
			name, ok := stepName(s)
			if !ok {
				return ""
			}
			names = append(names, name)
		}
		return strings.Join(names, ".")
	}
	return ""
}
