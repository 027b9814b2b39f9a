package hclexpr

import (
	"fmt"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/eval"
	"hatchel/hcl/template"
	"hatchel/hcl/value"
)

// templateFuncValue is the value of a call of ident, raw, path or under. Only under has a value of
// its own; the others are bound by the compilers of templates.
func (c *Compiler) templateFuncValue(h *template.Interpolation, call *hclsyntax.FunctionCallExpr) (template.Value,
	template.Type) {
	want := map[string]string{"ident": "one name, or a schema and a name", "raw": "one text known at load",
		"path": "one value", "under": "a folder and a name below it"}
	switch n := len(h.Args); {
	case n == 0, call.Name == "under" && n != 2, call.Name != "under" && call.Name != "ident" && n != 1, n > 2:
		c.Errorf(call.Range(), "Wrong number of arguments", "%s takes %s.", call.Name, want[call.Name])
		return asTemplateValue(eval.Broken()), template.Type{}
	}
	if call.Name != "under" {
		return h.Args[0].Value, h.Args[0].Type
	}
	return underValue(h.Args[0].Value, h.Args[1].Value), template.Type{Kind: template.String}
}

func underValue(dir, name template.Value) template.Value {
	return func(f template.Frame) (any, error) {
		d, err := dir(f)
		if err != nil {
			return nil, err
		}
		n, err := name(f)
		if err != nil {
			return nil, err
		}
		base, ok := d.(string)
		if !ok {
			return nil, fmt.Errorf("under: the folder must be a string, got %s", value.Kind(d))
		}
		below, ok := n.(string)
		if !ok {
			return nil, fmt.Errorf("under: the name must be a string, got %s", value.Kind(n))
		}
		return resolveUnder(f.(*eval.Frame).Base, base, below)
	}
}
