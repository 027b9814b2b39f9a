package hcl

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/program"
)

// DecodeComputed decodes what is computed for every call.
func (d *Decoder) DecodeComputed(dst any, e hclsyntax.Expression, f Field) {
	c := d.Compiler(f)
	c.Name = f.Name
	in := LexicalEnv{NonNull: d.NonNull}
	switch dst := dst.(type) {
	case **Expr:
		n := c.Compile(e, in)
		c.RejectFileValue(n, e, f.argument())
		*dst = &Expr{n, RangeOf(e.Range())}
	case **StringExpr:
		*dst = c.CompileString(e, in, f.argument())
	case **TextTemplate:
		*dst = c.CompileText(e, in)
	case **KeyValues:
		*dst = c.CompileKeyValues(e, in, f.argument())
	case **SQL:
		*dst = c.CompileSQL(e, in, d.Dialect)
		for i, s := range (*dst).Statements() {
			d.Ranges[s] = (*dst).StatementRange(i)
		}
	case **Script:
		*dst = c.CompileScript(e, in)
	case **Argv:
		*dst = c.CompileArgv(e, in, d.ArgvPrefix)
	case **Pipe:
		*dst = c.CompilePipe(e, in)
	case **RequestURL:
		*dst = c.CompileURL(e, in, d.HasConnection)
	case **Condition:
		*dst = c.CompileCondition(e, d.NonNull, f.Name)
	case **Program:
		*dst = c.CompileProgram(e, d.NonNull, f.Name, program.WantAny)
	}
	d.Diags = append(d.Diags, c.Diags...)
}

func (d *Decoder) Compiler(f Field) *Compiler {
	s := d.Scope
	if f.Secret {
		s = s.WithSecrets(AllowSecrets)
	}
	return NewCompiler(&d.Env.CompileEnv, d.Src, s, d.Deps)
}
