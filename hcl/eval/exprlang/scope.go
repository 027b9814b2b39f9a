package exprlang

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
)

// scope is a variable that let declares, or the element of a predicate, which has no name.
type scope struct {
	name string
	slot int
	typ  *schema.Type
	path string // starts with a text that is no root
	acc  bool   // the predicate is that of reduce, which knows #acc
}

// traversal is a part that reads a value of the environment, without null where that is ruled out.
func (c *compiler) traversal(t *schema.Type, path string, e eval.Func) typedExpr {
	return typedExpr{Type: c.withoutRuledOutNull(path, t), Path: path, Eval: e}
}

func (c *compiler) compileIdentifier(n *ast.IdentifierNode) typedExpr {
	for _, s := range slices.Backward(c.scopes) {
		if s.name != "" && s.name == n.Value {
			return c.traversal(s.typ, s.path, func(f *eval.Frame) (any, error) { return f.Vars[s.slot], nil })
		}
	}
	if r, ok := c.roots[n.Value]; ok {
		t := c.traversal(programType(r.ProgramType()), n.Value, r.ProgramValue)
		t.Read = n.Value
		return t
	}
	if n.Value == "null" {
		return null
	}
	c.reportUnknownName(n.Value, c.spanOf(n))
	return eval.Broken()
}

func (c *compiler) reportUnknownName(name string, at span) {
	switch {
	case name == "secret":
		c.report(at, "Secret in a program",
			"A program cannot read secrets. Use the secret in a connection, a header or env, as ${secret...}.")
	case name == "error":
		c.report(at, "Error in a program", `"error" exists only in the error template, as ${error.message}.`)
	case name == "output" && c.roots["step"] != nil:
		c.report(at, "Unknown name",
			`There is no "output" here. The result of a step is read by the name of the step, as step.<name>.`)
	case name == "output":
		c.report(at, "Unknown name", `There is no "output" here, because no backend has returned anything yet.`)
	case name == "undefined" || name == "None" || name == "NULL":
		c.report(at, "Unknown name", "There is no %q. Write null.", name)
	case isFunction(name):
		c.report(at, "Function without call", "%q is a function: write %s(...).", name, name)
	default:
		candidates := slices.Sorted(maps.Keys(c.roots))
		for _, root := range candidates {
			if memberType(programType(c.roots[root].ProgramType()), name) != nil {
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
}

// compileElement compiles #, #index and #acc: what the innermost predicate reads of its round.
func (c *compiler) compileElement(n *ast.PointerNode) typedExpr {
	for _, s := range slices.Backward(c.scopes) {
		if s.name != "" {
			continue
		}
		switch {
		case n.Name == "":
			return c.traversal(s.typ, s.path,
				func(f *eval.Frame) (any, error) { return f.Loops[len(f.Loops)-1].Item, nil })
		case n.Name == "index":
			return computed(eval.IntegerType,
				func(f *eval.Frame) (any, error) { return f.Loops[len(f.Loops)-1].Index, nil })
		case n.Name == "acc" && s.acc:
			return computed(eval.AnyType, func(f *eval.Frame) (any, error) { return f.Loops[len(f.Loops)-1].Acc, nil })
		}
		break
	}
	c.report(c.spanOf(n), "Unknown element name",
		"A predicate can read # (the element) and #index; the predicate of reduce can also read #acc.")
	return eval.Broken()
}

func (c *compiler) compileLet(n *ast.VariableDeclaratorNode) typedExpr {
	v := c.compile(n.Value)
	if c.roots[n.Name] != nil || n.Name == "null" {
		c.report(c.spanOf(n), "Name already taken", "%q already has a meaning here. Choose another name.", n.Name)
	}
	slot := c.vars
	c.vars++
	path := v.Path
	if path == "" {
		path = c.newPath()
	}
	c.scopes = append(c.scopes, scope{name: n.Name, slot: slot, typ: v.Type, path: path})
	body := c.compile(n.Expr)
	c.scopes = c.scopes[:len(c.scopes)-1]
	bound, run := v.Eval, body.Eval
	body.Path, body.Read = "", ""
	body.Eval = func(f *eval.Frame) (any, error) {
		v, err := bound(f)
		if err != nil {
			return nil, err
		}
		f.Vars[slot] = v
		return run(f)
	}
	return body
}

// newPath is a path that no author can write.
func (c *compiler) newPath() string {
	c.paths++
	return fmt.Sprint("\x01", c.paths)
}
