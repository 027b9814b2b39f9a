package decode

import (
	"time"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval/hclexpr"
	"hatchel/hcl/schema"
)

// Env is the environment for decoding the bodies of a configuration. The loader completes it as it
// proceeds.
type Env struct {
	hclexpr.CompileEnv
	Now       func() time.Time
	NamedType func(name string, r hclv2.Range) (*schema.Type, hclv2.Diagnostics)
	UploadURL *string  // the upload URL; the target of the pointer is set during the load
	Webhooks  []string // that are declared
	Partial   bool     // a file could not be read, so missing declarations are not reported
}

// DecodeType reads a type expression.
func (d *Decoder) DecodeType(e hclsyntax.Expression) *schema.Type {
	t, diags := schema.ParseType(e, d.TypeEnv())
	d.Diags = append(d.Diags, diag.FromHCL(diags)...)
	return t
}

// namedType resolves type.name.
func (d *Decoder) namedType(name string, r hclv2.Range) (*schema.Type, hclv2.Diagnostics) {
	if d.Deps != nil {
		d.Deps.Types = append(d.Deps.Types, name)
	}
	return d.Env.NamedType(name, r)
}

// TypeEnv returns the environment of type expressions in the file.
func (d *Decoder) TypeEnv() schema.Env {
	return schema.Env{
		Type: d.namedType,
		Eval: func(e hclv2.Expression) (any, bool) {
			n := d.CompileKnown(e.(hclsyntax.Expression), Field{})
			return n.Value, n.Known
		},
		Size:    func(e hclv2.Expression) int64 { return int64(d.Size(e.(hclsyntax.Expression), Field{})) },
		Source:  d.Src,
		Uploads: d.Env.UploadURL,
	}
}

// eachTypes returns the types of each.key and each.value.
func (d *Decoder) eachTypes(e *hclexpr.Expr) (key, elem *schema.Type) {
	c := hclexpr.NewCompiler(&d.Env.CompileEnv, d.Src, d.Scope, d.Deps)
	key, elem = c.ElementTypes(e.Typed, toHCL(e.Range))
	d.Diags = append(d.Diags, c.Diags...)
	return key, elem
}

func toHCL(r diag.Range) hclv2.Range {
	return hclv2.Range{Filename: r.File, Start: hclv2.Pos(r.Start), End: hclv2.Pos(r.End)}
}
