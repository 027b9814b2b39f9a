package exprlang

import (
	"cmp"
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
	expr typedExpr // reads the value
	acc  bool      // the predicate is that of reduce, which knows #acc
}

// compileInScope compiles a part in which a variable is known.
func (c *compiler) compileInScope(s scope, n ast.Node) typedExpr {
	c.scopes = append(c.scopes, s)
	t := c.compile(n)
	c.scopes = c.scopes[:len(c.scopes)-1]
	return t
}

// narrow returns a traversal without null where that is ruled out.
func (c *compiler) narrow(t typedExpr) typedExpr {
	if t.Type.Nullable && c.nonNull.Has(t.Path) {
		t.Type, t.NullReason = t.Type.NotNull(), ""
	}
	return t
}

func (c *compiler) compileIdentifier(n *ast.IdentifierNode) typedExpr {
	name := n.Value
	if c.observer != nil {
		c.observer.Name(name, func() eval.Place {
			return eval.Place{Roots: c.roots, Vars: c.variables(), Program: true}
		})
	}
	for _, s := range slices.Backward(c.scopes) {
		if s.name != "" && s.name == name {
			return c.narrow(s.expr)
		}
	}
	if r, ok := c.roots[name]; ok {
		return c.narrow(typedExpr{
			Type: programType(r.ProgramType()), Facts: r.WholeFacts(true), Path: name, Read: name, Eval: r.ProgramValue,
		})
	}
	if name == "null" {
		return null
	}
	c.reportUnknownName(name, c.spanOf(n))
	return eval.Broken()
}

// variables returns the types of the variables of let by their names.
func (c *compiler) variables() map[string]*schema.Type {
	all := map[string]*schema.Type{}
	for _, s := range c.scopes {
		if s.name != "" {
			all[s.name] = s.expr.Type
		}
	}
	return all
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
		c.report(at, "Unknown name", "There is no %q. Write %s.", name, diag.Correct(name, "null", "null"))
	case isFunction(name):
		c.report(at, "Function without call", "%q is a function: write %s(...).", name, name)
	default:
		candidates := slices.Sorted(maps.Keys(c.roots))
		for _, root := range candidates {
			if memberType(programType(c.roots[root].ProgramType()), name) != nil {
				c.report(at, "Unknown name", "There is no %q.%s", name,
					diag.Correct(name, root+"."+name, fmt.Sprintf(" Did you mean %q?", root+"."+name)))
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
			return c.narrow(s.expr)
		case n.Name == "index":
			return typedExpr{Type: eval.IntegerType, Facts: eval.Facts{}.By(s.expr),
				Eval: func(f *eval.Frame) (any, error) { return f.Loops[len(f.Loops)-1].Index, nil }}
		case n.Name == "acc" && s.acc:
			return eval.Computed(eval.AnyType,
				func(f *eval.Frame) (any, error) { return f.Loops[len(f.Loops)-1].Acc, nil }, s.expr)
		}
		break
	}
	c.report(c.spanOf(n), "Unknown element name",
		"A predicate can read # (the element) and #index; the predicate of reduce can also read #acc.")
	return eval.Broken()
}

func (c *compiler) compileLet(n *ast.VariableDeclaratorNode) typedExpr {
	v := c.compileNode(n.Value)
	c.recordRead(v.Read, nil) // the parts that read the variable record of which limits
	if c.roots[n.Name] != nil || n.Name == "null" {
		c.report(c.spanOf(n), "Name already taken", "%q already has a meaning here. Choose another name.", n.Name)
	}
	slot := c.vars
	c.vars++
	read := typedExpr{Type: v.Type, Facts: eval.Same(v), Path: cmp.Or(v.Path, c.newPath()), Read: v.Read,
		Eval: func(f *eval.Frame) (any, error) { return f.Vars[slot], nil }}
	read.Known, read.Value = false, nil // a name is looked up in a call, and only a literal at load
	body := c.compileInScope(scope{name: n.Name, expr: read}, n.Expr)
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
