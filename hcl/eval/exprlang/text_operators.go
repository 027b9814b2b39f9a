package exprlang

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"hatchel/hcl/eval"
	"hatchel/hcl/functions"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

func (c *compiler) compileIn(n *ast.BinaryNode, l, r typedExpr) typedExpr {
	if !eval.CanBe(r.typ, schema.List) && !eval.CanBe(r.typ, schema.Object) {
		hint := ""
		if r.typ.Kind == schema.String {
			hint = " For a part of a text write " + c.source(n.Right) + " contains " + c.source(n.Left) + "."
		}
		c.report(c.fullSpan(n.Right), "Wrong type", "After in a list or an object is expected, this is %s.%s", eval.TypePhrase(r.typ), hint)
	} else if r.typ.Kind == schema.List && !mayEqual(l.typ, elemType(r.typ)) {
		c.report(c.fullSpan(n), "Never equal", "%s is looked for in a list of which each element is %s.", capitalize(eval.TypePhrase(l.typ)), eval.TypePhrase(elemType(r.typ)))
	} else if s, ok := l.value.(string); ok && r.typ.Kind == schema.List && enumTexts(elemType(r.typ)) != nil && !slices.Contains(enumTexts(elemType(r.typ)), s) {
		values := enumTexts(elemType(r.typ))
		c.report(l.at, "Never equal", "No element is ever %q.%s Each is one of: %s.", s, didYouMean(s, values), strings.Join(values, ", "))
	} else if array, ok := n.Right.(*ast.ArrayNode); ok && enumTexts(l.typ) != nil {
		for _, e := range array.Nodes {
			if s, ok := e.(*ast.StringNode); ok && !slices.Contains(enumTexts(l.typ), s.Value) {
				c.report(c.spanOf(e), "Never equal", "The value is never %q.%s It is one of: %s.", s.Value, didYouMean(s.Value, enumTexts(l.typ)), strings.Join(enumTexts(l.typ), ", "))
			}
		}
	}
	return typedExpr{typ: eval.BoolType, at: c.spanOf(n), eval: func(f *frame) (any, error) {
		a, b, err := evalPair(f, l.eval, r.eval)
		if err != nil {
			return nil, err
		}
		switch b := b.(type) {
		case nil:
			return false, nil
		case map[string]any:
			k, ok := a.(string)
			if !ok {
				return false, nil
			}
			_, ok = b[k]
			return ok, nil
		case []any:
			for _, e := range b {
				if err := f.spendSteps(1); err != nil {
					return nil, err
				}
				if ok, err := equal(f, e, a); ok || err != nil {
					return ok, err
				}
			}
			return false, nil
		}
		return nil, fmt.Errorf("after in a list or an object is expected, got %s", value.Kind(b))
	}}
}

func (c *compiler) compileTextSearch(n *ast.BinaryNode, l, r typedExpr) typedExpr {
	if l.typ.Kind == schema.List && n.Operator == "contains" {
		c.report(c.fullSpan(n), "Wrong type", "The operator contains looks into a text. For a list write %s in %s.", c.source(n.Right), c.source(n.Left))
		return typedExpr{typ: eval.BoolType, at: c.spanOf(n), eval: broken(c.spanOf(n)).eval}
	}
	c.checkText(n.Left, l)
	c.checkText(n.Right, r)
	found := map[string]func(s, part string) bool{"contains": strings.Contains, "startsWith": strings.HasPrefix, "endsWith": strings.HasSuffix}[n.Operator]
	return c.compileTextOperator(n, l, r, func(f *frame, s, part string) (bool, error) { return found(s, part), nil })
}

// checkText lets null through: to look for something in null finds nothing.
func (c *compiler) checkText(n ast.Node, t typedExpr) {
	if t.typ.Kind != schema.Null {
		t.typ = t.typ.NotNull()
		c.checkKind(n, t, schema.String)
	}
}

func (c *compiler) compileTextOperator(n *ast.BinaryNode, l, r typedExpr, found func(f *frame, s, part string) (bool, error)) typedExpr {
	return typedExpr{typ: eval.BoolType, at: c.spanOf(n), whenTrue: unionPaths(prefixes(l.path), prefixes(r.path)), eval: func(f *frame) (any, error) {
		a, b, err := evalPair(f, l.eval, r.eval)
		if err != nil {
			return nil, err
		}
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
		if err := f.spendSteps(1 + len(s)/64); err != nil {
			return nil, err
		}
		return found(f, s, part)
	}}
}

func (c *compiler) compileMatches(n *ast.BinaryNode, l, r typedExpr) typedExpr {
	c.checkText(n.Left, l)
	c.checkText(n.Right, r)
	var fixed *regexp.Regexp
	if pattern, ok := r.value.(string); ok {
		var err error
		if fixed, err = (*functions.Patterns)(nil).Compile(pattern); err != nil {
			c.report(r.at, "Invalid pattern", "%s.", capitalize(err.Error()))
		}
	}
	return c.compileTextOperator(n, l, r, func(f *frame, s, pattern string) (bool, error) {
		re := fixed
		if re == nil {
			var err error
			if re, err = f.call.Patterns.Compile(pattern); err != nil {
				return false, err
			}
		}
		if err := f.spendSteps(len(s) / 8); err != nil {
			return false, err
		}
		return re.MatchString(s), nil
	})
}
