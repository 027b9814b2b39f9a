package exprlang

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/functions"
	"hatchel/hcl/schema"
)

// scope is a variable that let declares, or the element of a predicate, which has no name.
type scope struct {
	name string
	slot int
	typ  *schema.Type
	path []string // starts with a text that is no root
	acc  bool     // the predicate is that of reduce, which knows #acc
}

// traversal is a part that reads a value of the environment, without null where that is ruled out.
func (c *compiler) traversal(t *schema.Type, at span, path []string, e evalFunc) typedExpr {
	out := computed(c.withoutRuledOutNull(path, t), at, e)
	out.path = path
	return out
}

func (c *compiler) compileIdentifier(n *ast.IdentifierNode) typedExpr {
	at := c.spanOf(n)
	for _, s := range slices.Backward(c.scopes) {
		if s.name != "" && s.name == n.Value {
			return c.traversal(s.typ, at, s.path, func(f *frame) (any, error) { return f.vars[s.slot], nil })
		}
	}
	if root, ok := c.env.Roots[n.Value]; ok {
		name, path := n.Value, []string{n.Value}
		t := c.traversal(programType(root), at, path, func(f *frame) (any, error) { return f.roots[name], nil })
		t.read = path
		return t
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
		c.report(at, "Secret in a program",
			"A program cannot read secrets. Use the secret in a connection, a header or env, as ${secret...}.")
		return
	case name == "error":
		c.report(at, "Error in a program", `"error" exists only in the error template, as ${error.message}.`)
		return
	case name == "output" && c.env.Roots["step"] != nil:
		c.report(at, "Unknown name",
			`There is no "output" here. The result of a step is read by the name of the step, as step.<name>.`)
		return
	case name == "output":
		c.report(at, "Unknown name", `There is no "output" here, because no backend has returned anything yet.`)
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
		if memberType(programType(c.env.Roots[root]), name) != nil {
			c.report(at, "Unknown name", "There is no %q. Did you mean %q?", name, root+"."+name)
			return
		}
	}
	for _, s := range c.scopes {
		if s.name != "" {
			candidates = append(candidates, s.name)
		}
	}
	c.report(at, "Unknown name", "There is no %q.%s Known here: %s.",
		name, diag.DidYouMean(name, candidates), strings.Join(candidates, ", "))
}

// compileElement compiles #, #index and #acc: what the innermost predicate reads of its round.
func (c *compiler) compileElement(n *ast.PointerNode) typedExpr {
	at := c.spanOf(n)
	for _, s := range slices.Backward(c.scopes) {
		if s.name != "" {
			continue
		}
		switch {
		case n.Name == "":
			return c.traversal(s.typ, at, s.path,
				func(f *frame) (any, error) { return f.loops[len(f.loops)-1].item, nil })
		case n.Name == "index":
			return computed(eval.IntegerType, at,
				func(f *frame) (any, error) { return f.loops[len(f.loops)-1].index, nil })
		case n.Name == "acc" && s.acc:
			return computed(eval.AnyType, at, func(f *frame) (any, error) { return f.loops[len(f.loops)-1].acc, nil })
		}
		break
	}
	c.report(at, "Unknown element name",
		"A predicate can read # (the element) and #index; the predicate of reduce can also read #acc.")
	return broken(at)
}

func (c *compiler) compileLet(n *ast.VariableDeclaratorNode) typedExpr {
	v := c.compile(n.Value)
	if _, taken := c.env.Roots[n.Name]; taken || n.Name == "null" {
		c.report(c.spanOf(n), "Name already taken", "%q already has a meaning here. Choose another name.", n.Name)
	}
	slot := c.vars
	c.vars++
	path := v.path
	if path == nil {
		path = c.newPath()
	}
	c.scopes = append(c.scopes, scope{name: n.Name, slot: slot, typ: v.Type, path: path})
	body := c.compile(n.Expr)
	c.scopes = c.scopes[:len(c.scopes)-1]
	run := body.Eval
	body.path, body.read = nil, nil
	body.Eval = func(f *frame) (any, error) {
		v, err := v.Eval(f)
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
