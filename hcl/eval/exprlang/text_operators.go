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

// compileIn compiles in, which looks for an element in a list or for a member in an object.
func (c *compiler) compileIn(n *ast.BinaryNode, l, r typedExpr) typedExpr {
	c.checkIn(n, l, r)
	return eval.Binary(eval.BoolType, l, r, func(f *eval.Frame, a, b any) (any, error) {
		switch b := b.(type) {
		case nil:
			return false, nil
		case map[string]any:
			k, isText := a.(string)
			_, there := b[k]
			return isText && there, nil
		case []any:
			for _, e := range b {
				if err := f.SpendSteps(value.Elements(e)); err != nil {
					return nil, err
				}
				if ok, err := equal(f, e, a); ok || err != nil {
					return ok, err
				}
			}
			return false, nil
		}
		return nil, fmt.Errorf("a list or an object is expected after in, got %s", value.Kind(b))
	})
}

func (c *compiler) checkIn(n *ast.BinaryNode, l, r typedExpr) {
	elem := elemType(r.Type)
	isList := r.Type.Kind == schema.List
	switch {
	case !eval.CanBe(r.Type, schema.List) && !eval.CanBe(r.Type, schema.Object):
		hint := ""
		if r.Type.Kind == schema.String {
			hint = " To look into a text, write " + c.source(n.Right) + " contains " + c.source(n.Left) + "."
		}
		c.report(c.fullSpan(n.Right), "Wrong type", "A list or an object is expected after in, but this is %s.%s",
			eval.TypePhrase(r.Type), hint)
	case isList && !mayEqual(l.Type, elem):
		c.report(c.fullSpan(n), "Never equal", "%s is never in a list whose elements are each %s.",
			capitalize(eval.TypePhrase(l.Type)), eval.TypePhrase(elem))
	}
	if isList {
		c.checkEnum(n.Left, l, elem, "No element is ever %q.%s Each is one of: %s.")
	}
	if array, ok := n.Right.(*ast.ArrayNode); ok {
		for _, e := range array.Nodes {
			if s, ok := e.(*ast.StringNode); ok {
				c.checkEnum(e, eval.Constant(s.Value), l.Type, "The value is never %q.%s It is one of: %s.")
			}
		}
	}
}

var textSearches = map[string]func(f *eval.Frame, s, part string) (bool, error){
	"contains": func(f *eval.Frame, s, part string) (bool, error) {
		i, err := f.Budget().Find(s, part)
		return i >= 0, err
	},
	"startsWith": func(_ *eval.Frame, s, part string) (bool, error) { return strings.HasPrefix(s, part), nil },
	"endsWith":   func(_ *eval.Frame, s, part string) (bool, error) { return strings.HasSuffix(s, part), nil },
}

func (c *compiler) compileTextSearch(n *ast.BinaryNode, l, r typedExpr) typedExpr {
	if l.Type.Kind == schema.List && n.Operator == "contains" {
		c.report(c.fullSpan(n), "Wrong type", "The operator contains searches a text. For a list write %s in %s.",
			c.source(n.Right), c.source(n.Left))
		return eval.Computed(eval.BoolType, nil, l, r)
	}
	return c.compileTextOperator(n, l, r, textSearches[n.Operator])
}

// compileTextOperator compiles an operator between two texts. It gives false if one of them is
// null.
func (c *compiler) compileTextOperator(n *ast.BinaryNode, l, r typedExpr,
	holds func(f *eval.Frame, s, part string) (bool, error)) typedExpr {
	c.checkTextOrNull(n.Left, l)
	c.checkTextOrNull(n.Right, r)
	t := eval.Binary(eval.BoolType, l, r, func(f *eval.Frame, a, b any) (any, error) {
		if a == nil || b == nil {
			return false, nil
		}
		s, ok := a.(string)
		part, too := b.(string)
		if !ok || !too {
			if ok {
				a = b
			}
			return nil, fmt.Errorf("a string is expected beside %q, got %s", n.Operator, value.Kind(a))
		}
		if err := f.SpendSteps(1 + len(s)/64); err != nil {
			return nil, err
		}
		return holds(f, s, part)
	})
	t.WhenTrue = slices.Concat(eval.Prefixes(l.Path), eval.Prefixes(r.Path))
	return t
}

func (c *compiler) checkTextOrNull(n ast.Node, t typedExpr) {
	if t.Type.Kind != schema.Null {
		t.Type = t.Type.NotNull()
		c.checkKind(n, t, schema.String)
	}
}

func (c *compiler) compileMatches(n *ast.BinaryNode, l, r typedExpr) typedExpr {
	var fixed *functions.Pattern
	if pattern, ok := r.Value.(string); ok {
		var err error
		if fixed, err = (*functions.Patterns)(nil).Compile(pattern); err != nil {
			c.report(c.spanOf(n.Right), "Invalid pattern", "%s.", capitalize(err.Error()))
		}
	}
	return c.compileTextOperator(n, l, r, func(f *eval.Frame, s, pattern string) (bool, error) {
		re := fixed
		if re == nil {
			var err error
			if re, err = f.Functions.Patterns.Compile(pattern); err != nil {
				return false, err
			}
		}
		if err := f.SpendSteps(len(s) / 8); err != nil {
			return false, err
		}
		return re.Matches(f.Budget(), s)
	})
}
