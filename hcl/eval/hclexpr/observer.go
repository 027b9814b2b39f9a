package hclexpr

import (
	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/functions"
	"hatchel/hcl/template"
)

// noteValue tells the observer what is known of an expression.
func (c *Compiler) noteValue(at hclv2.Range, n eval.TypedExpr) {
	if c.Observer != nil {
		c.Observer.Value(diag.RangeOf(at), n)
	}
}

// noteBindings tells the observer how a compiled template binds its interpolations.
func noteBindings(c *Compiler, program interface{ Bindings() []template.Binding }) {
	if c.Observer == nil {
		return
	}
	for _, b := range program.Bindings() {
		c.Observer.Binding(diag.RangeOf(b.Range), b.How, b.Kind)
	}
}

// noteText tells the observer that the interpolations of a text are written into it as they are.
func noteText(c *Compiler, nodes []template.Node) {
	if c.Observer == nil {
		return
	}
	how := "text"
	if c.Name != "" {
		how = "text, a part of " + c.Name
	}
	template.EachInterpolation(nodes, func(string) {}, func(h *template.Interpolation) {
		c.Observer.Binding(diag.RangeOf(h.Range), how, template.Written)
	})
}

// noteMembers tells the observer of the members that pick and the like name in quotes.
func noteMembers(c *Compiler, e *hclsyntax.FunctionCallExpr, fn *functions.Function, args []eval.TypedExpr) {
	if c.Observer == nil || len(args) < 2 || !fn.NamesMembers {
		return
	}
	r, _ := c.Scope.Find(args[0].Path)
	if r == nil {
		return
	}
	for i, a := range args[1:] {
		name, _ := a.Value.(string)
		if m := r.Members[name]; m != nil {
			c.Observer.Reference(eval.Reference{At: diag.RangeOf(e.Args[i+1].Range()), Kind: args[0].Path, Name: name,
				Local: m.Local})
		}
	}
}
