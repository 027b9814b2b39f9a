package decode

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/eval/exprlang"
	"hatchel/hcl/eval/hclexpr"
)

// DecodeComputed decodes an argument that is computed for every call.
func (d *Decoder) DecodeComputed(dst any, e hclsyntax.Expression, f Field) {
	c := d.Compiler(f)
	c.Name = f.Name
	in := hclexpr.LexicalEnv{NonNull: d.NonNull}
	switch dst := dst.(type) {
	case **hclexpr.Expr:
		n := c.Compile(e, in)
		c.RejectFileValue(n, e, f.argument())
		*dst = &hclexpr.Expr{Typed: n, Range: diag.RangeOf(e.Range())}
	case **hclexpr.StringExpr:
		*dst = c.CompileString(e, in, f.argument())
	case **hclexpr.TextTemplate:
		*dst = c.CompileText(e, in)
	case **hclexpr.KeyValues:
		*dst = c.CompileKeyValues(e, in, f.argument())
	case **hclexpr.SQL:
		*dst = c.CompileSQL(e, in, d.Dialect)
		for i, s := range (*dst).Statements() {
			d.Ranges[s] = (*dst).StatementRange(i)
		}
	case **hclexpr.Script:
		*dst = c.CompileScript(e, in)
	case **hclexpr.Argv:
		*dst = c.CompileArgv(e, in, d.ArgvPrefix)
	case **hclexpr.Pipe:
		*dst = c.CompilePipe(e, in)
	case **hclexpr.RequestURL:
		*dst = c.CompileURL(e, in, d.HasConnection)
	case **hclexpr.Condition:
		*dst = c.CompileCondition(e, d.NonNull, f.Name)
	case **hclexpr.Program:
		*dst = c.CompileProgram(e, d.NonNull, f.Name, exprlang.WantAny)
	}
	d.Diags = append(d.Diags, c.Diags...)
}

func (d *Decoder) Compiler(f Field) *hclexpr.Compiler {
	s := d.Scope
	if f.Secret {
		s = s.WithSecrets(eval.AllowSecrets)
	}
	return hclexpr.NewCompiler(&d.Env.CompileEnv, d.Src, s, d.Deps)
}
