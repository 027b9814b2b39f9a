package exprlang

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"hatchel/hcl/eval"
	"hatchel/hcl/functions"
	"hatchel/hcl/schema"
)

// A scope is a variable, or the element of a predicate when it has no name.
type scope struct {
	name string
	slot int
	typ  *schema.Type
	path []string // starts with a text that is no root
	acc  bool     // the predicate of reduce, which knows #acc
}

func (c *compiler) compileIdentifier(n *ast.IdentifierNode) typedExpr {
	at := c.spanOf(n)
	for i := len(c.scopes) - 1; i >= 0; i-- {
		if s := c.scopes[i]; s.name != "" && s.name == n.Value {
			slot := s.slot
			return typedExpr{typ: c.withoutRuledOutNull(s.path, s.typ), at: at, path: s.path, eval: func(f *frame) (any, error) { return f.vars[slot], nil }}
		}
	}
	if root, ok := c.env.Roots[n.Value]; ok {
		name, path := n.Value, []string{n.Value}
		return typedExpr{typ: c.withoutRuledOutNull(path, programType(root)), at: at, path: path, read: path, eval: func(f *frame) (any, error) { return f.roots[name], nil }}
	}
	if n.Value == "null" {
		return constant(nil, eval.NullType, at)
	}
	c.reportUnknownName(n.Value, at)
	return broken(at)
}

func (c *compiler) reportUnknownName(name string, at span) {
	switch {
	case name == "secret":
		c.report(at, "Secret in a program", "A program never sees a secret; use it in a connection, a header or env, as ${secret...}.")
		return
	case name == "error":
		c.report(at, "Error in a program", "\"error\" exists only in the error template, as ${error.message}.")
		return
	case name == "output" && c.env.Roots["step"] != nil:
		c.report(at, "Unknown name", "There is no \"output\" here: what a step answered is read by its name, as step.<name>.")
		return
	case name == "output":
		c.report(at, "Unknown name", "There is no \"output\" here: it is what a backend answered, and no backend has.")
		return
	case name == "undefined" || name == "None" || name == "NULL":
		c.report(at, "Unknown name", "There is no %q. Write null.", name)
		return
	}
	if _, ok := functions.Lookup(name); ok || isBuiltin(name) {
		c.report(at, "Function without call", "%q is a function: write %s(...).", name, name)
		return
	}
	candidates := slices.Sorted(maps.Keys(c.env.Roots))
	for _, root := range candidates {
		if t := programType(c.env.Roots[root]); memberType(t, name) != nil {
			c.report(at, "Unknown name", "There is no %q. Did you mean %q?", name, root+"."+name)
			return
		}
	}
	for _, s := range c.scopes {
		if s.name != "" {
			candidates = append(candidates, s.name)
		}
	}
	c.report(at, "Unknown name", "There is no %q.%s Known here: %s.", name, didYouMean(name, candidates), strings.Join(candidates, ", "))
}

func (c *compiler) compileElement(n *ast.PointerNode) typedExpr {
	at := c.spanOf(n)
	for i := len(c.scopes) - 1; i >= 0; i-- {
		s := c.scopes[i]
		if s.name != "" {
			continue
		}
		switch {
		case n.Name == "":
			return typedExpr{typ: c.withoutRuledOutNull(s.path, s.typ), at: at, path: s.path, eval: func(f *frame) (any, error) { return f.loops[len(f.loops)-1].item, nil }}
		case n.Name == "index":
			return typedExpr{typ: eval.IntegerType, at: at, eval: func(f *frame) (any, error) { return f.loops[len(f.loops)-1].index, nil }}
		case n.Name == "acc" && s.acc:
			return typedExpr{typ: eval.AnyType, at: at, eval: func(f *frame) (any, error) { return f.loops[len(f.loops)-1].acc, nil }}
		}
		break
	}
	c.report(at, "Unknown element name", "A predicate knows # (the element) and #index, the predicate of reduce #acc too.")
	return broken(at)
}

func (c *compiler) compileLet(n *ast.VariableDeclaratorNode) typedExpr {
	v := c.compile(n.Value)
	if _, taken := c.env.Roots[n.Name]; taken || n.Name == "null" {
		c.report(c.spanOf(n), "Name already taken", "%q already names something else; choose another name.", n.Name)
	}
	slot := c.vars
	c.vars++
	path := v.path
	if path == nil {
		path = c.newPath()
	}
	c.scopes = append(c.scopes, scope{name: n.Name, slot: slot, typ: v.typ, path: path})
	body := c.compile(n.Expr)
	c.scopes = c.scopes[:len(c.scopes)-1]
	val, run := v.eval, body.eval
	body.path, body.read = nil, nil
	body.eval = func(f *frame) (any, error) {
		v, err := val(f)
		if err != nil {
			return nil, err
		}
		f.vars[slot] = v
		return run(f)
	}
	return body
}

// newPath is a path that no author can write.
func (c *compiler) newPath() []string {
	c.paths++
	return []string{fmt.Sprint("\x01", c.paths)}
}
