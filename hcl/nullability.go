package hcl

import (
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// NonNull are the traversals that are certainly not null where an expression stands. Immutable; nil holds none.
type NonNull struct {
	path string
	next *NonNull
}

func (f *NonNull) Has(path string) bool {
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

// Shadow drops what is known of a name that a loop gives another meaning.
func (f *NonNull) Shadow(name string) *NonNull {
	if f == nil {
		return nil
	}
	rest := f.next.Shadow(name)
	switch {
	case f.path == name || strings.HasPrefix(f.path, name+"."):
		return rest
	case rest == f.next:
		return f
	}
	return &NonNull{f.path, rest}
}

// whenTrue adds what a program that guards has ruled out.
func (f *NonNull) whenTrue(c *Condition) *NonNull {
	if c == nil || c.program == nil {
		return f
	}
	return f.AddPaths(c.program.NonNullWhenTrue())
}

// whenFalse adds what is ruled out where a call goes on because the program does not hold.
func (f *NonNull) whenFalse(c *Condition) *NonNull {
	if c == nil || c.program == nil {
		return f
	}
	return f.AddPaths(c.program.NonNullWhenFalse())
}

// afterExpect adds what is ruled out of the answer of a step that is always done, and that ends the call when it does not hold.
func (f *NonNull) afterExpect(s *Step) *NonNull {
	if s.When != nil || s.Each != nil || s.ContinueOnError {
		return f
	}
	for _, e := range s.Expects {
		if e.That == nil || e.That.program == nil {
			continue
		}
		for _, path := range e.That.program.NonNullWhenTrue() {
			if path[0] == "output" {
				path = append([]string{"step", s.Name}, path[1:]...)
			}
			f = &NonNull{strings.Join(path, "."), f}
		}
	}
	return f
}

func (f *NonNull) AddPaths(paths [][]string) *NonNull {
	for _, path := range paths {
		f = &NonNull{strings.Join(path, "."), f}
	}
	return f
}

func (f *NonNull) Add(paths []string) *NonNull {
	for _, p := range paths {
		f = &NonNull{p, f}
	}
	return f
}

// Branches returns the facts of the two branches of a condition.
func (f *NonNull) Branches(whenTrue, whenFalse []string) (yes, no *NonNull) {
	return f.Add(whenTrue), f.Add(whenFalse)
}

// nonNullWhen says which traversals are not null when a condition holds, and which when it does not.
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

// plainPath is the text of a traversal of names only, or empty.
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
