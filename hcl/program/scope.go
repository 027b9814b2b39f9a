package program

import (
	"fmt"
	"strings"

	"github.com/expr-lang/expr/ast"

	"hatchel/hcl/functions"
)

// A scope is a variable, or the element of a predicate when it has no name.
type scope struct {
	name  string
	slot  int
	shape *Shape
	path  []string // starts with a text that is no root
	acc   bool     // the predicate of reduce, which knows #acc
}

func (c *compiler) identifier(n *ast.IdentifierNode) term {
	at := c.at(n)
	for i := len(c.scopes) - 1; i >= 0; i-- {
		if s := c.scopes[i]; s.name != "" && s.name == n.Value {
			slot := s.slot
			return term{shape: c.narrowed(s.path, s.shape), at: at, path: s.path, eval: func(f *frame) (any, error) { return f.vars[slot], nil }}
		}
	}
	if root, ok := c.env.Roots[n.Value]; ok {
		name, path := n.Value, []string{n.Value}
		return term{shape: c.narrowed(path, root.known()), at: at, path: path, read: path, eval: func(f *frame) (any, error) { return f.roots[name], nil }}
	}
	if n.Value == "null" {
		return constant(nil, nullShape, at)
	}
	c.unknownName(n.Value, at)
	return broken(at)
}

func (c *compiler) unknownName(name string, at span) {
	switch {
	case name == "secret":
		c.problem(at, "Secret in a program", "A program never sees a secret; use it in a connection, a header or env, as ${secret...}.")
		return
	case name == "error":
		c.problem(at, "Error in a program", "\"error\" exists only in the error template, as ${error.message}.")
		return
	case name == "output" && c.env.Roots["step"] != nil:
		c.problem(at, "Unknown name", "There is no \"output\" here: what a step answered is read by its name, as step.<name>.")
		return
	case name == "output":
		c.problem(at, "Unknown name", "There is no \"output\" here: it is what a backend answered, and no backend has.")
		return
	case name == "undefined" || name == "None" || name == "NULL":
		c.problem(at, "Unknown name", "There is no %q. Write null.", name)
		return
	}
	if _, ok := functions.Lookup(name); ok || isBuiltin(name) {
		c.problem(at, "Function without call", "%q is a function: write %s(...).", name, name)
		return
	}
	candidates := sortedNames(c.env.Roots)
	for _, root := range candidates {
		if s := c.env.Roots[root].known(); s.Kind == Object && s.Members[name] != nil {
			c.problem(at, "Unknown name", "There is no %q. Did you mean %q?", name, root+"."+name)
			return
		}
	}
	for _, s := range c.scopes {
		if s.name != "" {
			candidates = append(candidates, s.name)
		}
	}
	c.problem(at, "Unknown name", "There is no %q.%s Known here: %s.", name, didYouMean(name, candidates), strings.Join(candidates, ", "))
}

func (c *compiler) pointer(n *ast.PointerNode) term {
	at := c.at(n)
	for i := len(c.scopes) - 1; i >= 0; i-- {
		s := c.scopes[i]
		if s.name != "" {
			continue
		}
		switch {
		case n.Name == "":
			return term{shape: c.narrowed(s.path, s.shape), at: at, path: s.path, eval: func(f *frame) (any, error) { return f.loops[len(f.loops)-1].item, nil }}
		case n.Name == "index":
			return term{shape: integer, at: at, eval: func(f *frame) (any, error) { return f.loops[len(f.loops)-1].index, nil }}
		case n.Name == "acc" && s.acc:
			return term{shape: anything, at: at, eval: func(f *frame) (any, error) { return f.loops[len(f.loops)-1].acc, nil }}
		}
		break
	}
	c.problem(at, "Unknown element name", "A predicate knows # (the element) and #index, the predicate of reduce #acc too.")
	return broken(at)
}

func (c *compiler) let(n *ast.VariableDeclaratorNode) term {
	v := c.expr(n.Value)
	if _, taken := c.env.Roots[n.Name]; taken || n.Name == "null" {
		c.problem(c.at(n), "Name already taken", "%q already names something else; choose another name.", n.Name)
	}
	slot := c.vars
	c.vars++
	path := v.path
	if path == nil {
		path = c.fresh()
	}
	c.scopes = append(c.scopes, scope{name: n.Name, slot: slot, shape: v.shape, path: path})
	body := c.expr(n.Expr)
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

// fresh is a path that no author can write.
func (c *compiler) fresh() []string {
	c.serial++
	return []string{fmt.Sprint("\x01", c.serial)}
}
