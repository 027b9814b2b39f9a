package program

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"hatchel/hcl/functions"
	"hatchel/hcl/value"
)

func (c *compiler) in(n *ast.BinaryNode, l, r term) term {
	if !r.shape.can(List) && !r.shape.can(Object) {
		hint := ""
		if r.shape.Kind == String {
			hint = " For a part of a text write " + c.written(n.Right) + " contains " + c.written(n.Left) + "."
		}
		c.problem(c.extent(n.Right), "Wrong type", "After in a list or an object is expected, this is %s.%s", kindWords[r.shape.Kind], hint)
	} else if r.shape.Kind == List && !l.shape.mayEqual(r.shape.elem()) {
		c.problem(c.extent(n), "Never equal", "%s is looked for in a list of which each element is %s.", capital(kindWords[l.shape.Kind]), kindWords[r.shape.elem().Kind])
	} else if s, ok := l.value.(string); ok && r.shape.Kind == List && r.shape.elem().Values != nil && !slices.Contains(r.shape.elem().Values, s) {
		values := r.shape.elem().Values
		c.problem(l.at, "Never equal", "No element is ever %q.%s Each is one of: %s.", s, didYouMean(s, values), strings.Join(values, ", "))
	} else if array, ok := n.Right.(*ast.ArrayNode); ok && l.shape.Values != nil {
		for _, e := range array.Nodes {
			if s, ok := e.(*ast.StringNode); ok && !slices.Contains(l.shape.Values, s.Value) {
				c.problem(c.at(e), "Never equal", "The value is never %q.%s It is one of: %s.", s.Value, didYouMean(s.Value, l.shape.Values), strings.Join(l.shape.Values, ", "))
			}
		}
	}
	return term{shape: boolean, at: c.at(n), eval: func(f *frame) (any, error) {
		a, b, err := pair(f, l.eval, r.eval)
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
				if err := f.tick(1); err != nil {
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

func (c *compiler) searching(n *ast.BinaryNode, l, r term) term {
	if l.shape.Kind == List && n.Operator == "contains" {
		c.problem(c.extent(n), "Wrong type", "The operator contains looks into a text. For a list write %s in %s.", c.written(n.Right), c.written(n.Left))
		return term{shape: boolean, at: c.at(n), eval: broken(c.at(n)).eval}
	}
	c.expectText(n.Left, l)
	c.expectText(n.Right, r)
	found := map[string]func(s, part string) bool{"contains": strings.Contains, "startsWith": strings.HasPrefix, "endsWith": strings.HasSuffix}[n.Operator]
	return c.texts(n, l, r, func(f *frame, s, part string) (bool, error) { return found(s, part), nil })
}

// expectText lets null through: to look for something in null finds nothing.
func (c *compiler) expectText(n ast.Node, t term) {
	if t.shape.Kind != Null {
		t.shape = t.shape.notNull()
		c.expect(n, t, String)
	}
}

func (c *compiler) texts(n *ast.BinaryNode, l, r term, found func(f *frame, s, part string) (bool, error)) term {
	return term{shape: boolean, at: c.at(n), whenTrue: both(prefixes(l.path), prefixes(r.path)), eval: func(f *frame) (any, error) {
		a, b, err := pair(f, l.eval, r.eval)
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
		if err := f.tick(1 + len(s)/64); err != nil {
			return nil, err
		}
		return found(f, s, part)
	}}
}

func (c *compiler) matching(n *ast.BinaryNode, l, r term) term {
	c.expectText(n.Left, l)
	c.expectText(n.Right, r)
	var fixed *regexp.Regexp
	if pattern, ok := r.value.(string); ok {
		var err error
		if fixed, err = (*functions.Patterns)(nil).Compile(pattern); err != nil {
			c.problem(r.at, "Invalid pattern", "%s.", capital(err.Error()))
		}
	}
	return c.texts(n, l, r, func(f *frame, s, pattern string) (bool, error) {
		re := fixed
		if re == nil {
			var err error
			if re, err = f.call.Patterns.Compile(pattern); err != nil {
				return false, err
			}
		}
		if err := f.tick(len(s) / 8); err != nil {
			return false, err
		}
		return re.MatchString(s), nil
	})
}
