package decode

import (
	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval/hclexpr"
	"hatchel/hcl/schema"
)

// DecodeType reads a type expression.
func (d *Decoder) DecodeType(e hclsyntax.Expression) *schema.Type {
	return schema.ParseType(e, d.TypeEnv())
}

// namedType resolves type.name.
func (d *Decoder) namedType(name string, r hclv2.Range) *schema.Type {
	if d.Deps != nil {
		d.Deps.Types = append(d.Deps.Types, name)
	}
	t, diags := d.Env.NamedType(name, r)
	d.Diags = append(d.Diags, diag.FromHCL(diags)...)
	return t
}

// TypeEnv returns the environment of type expressions in the file.
func (d *Decoder) TypeEnv() schema.Env {
	return schema.Env{
		Diags: &d.Diags,
		Type:  d.namedType,
		Eval: func(e hclv2.Expression) (any, bool) {
			n := d.CompileKnown(e.(hclsyntax.Expression), Field{})
			return n.Value, n.Known
		},
		Size:    func(e hclv2.Expression) int64 { return int64(d.Size(e.(hclsyntax.Expression), Field{})) },
		Source:  d.Src,
		Uploads: d.Env.UploadURL,
	}
}

// EachTypes returns the types of each.key and each.value.
func (d *Decoder) EachTypes(e *hclexpr.Expr) (key, elem *schema.Type) {
	c := hclexpr.NewCompiler(&d.Env.CompileEnv, d.Src, d.Scope, d.Deps)
	key, elem = c.ElementTypes(e.Typed, hclv2.Range{Filename: e.Range.File, Start: hclv2.Pos(e.Range.Start),
		End: hclv2.Pos(e.Range.End)})
	d.Diags = append(d.Diags, c.Diags...)
	return key, elem
}
