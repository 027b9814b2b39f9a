package hclexpr

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/functions"
	"hatchel/hcl/template"
)

// noteBindings takes down how a compiled template binds its interpolations.
func noteBindings(c *Compiler, program interface{ Bindings() []template.Binding }) {
	if c.Notes == nil {
		return
	}
	for _, b := range program.Bindings() {
		c.Notes.Binding(diag.RangeOf(b.Range), b.How, b.Kind)
	}
}

// noteText takes down that the interpolations of a text are written into it as they are.
func noteText(c *Compiler, nodes []template.Node) {
	if c.Notes == nil {
		return
	}
	how := "text"
	if c.Name != "" {
		how = "text, a part of " + c.Name
	}
	template.EachInterpolation(nodes, func(string) {}, func(h *template.Interpolation) {
		c.Notes.Binding(diag.RangeOf(h.Range), how, template.Written)
	})
}

// noteMembers takes down the members that pick and the like name in quotes.
func noteMembers(c *Compiler, e *hclsyntax.FunctionCallExpr, fn *functions.Function, args []eval.TypedExpr) {
	if c.Notes == nil || len(args) < 2 || !fn.NamesMembers {
		return
	}
	r, _ := c.Scope.Find(args[0].Path)
	if r == nil {
		return
	}
	for i, a := range args[1:] {
		name, _ := a.Value.(string)
		if m := r.Members[name]; m != nil {
			c.Notes.Read(eval.NotedRead{At: diag.RangeOf(e.Args[i+1].Range()), Kind: args[0].Path, Name: name,
				Local: m.Local})
		}
	}
}
