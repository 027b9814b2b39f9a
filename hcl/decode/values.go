package decode

import (
	"fmt"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/eval/exprlang"
	"hatchel/hcl/eval/hclexpr"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// decodeValue decodes one argument into dst.
func (d *Decoder) decodeValue(dst any, e hclsyntax.Expression, f Field) {
	switch dst := dst.(type) {
	case *string:
		*dst, _ = d.Known(e, f, "string").(string)
	case *SecretText:
		f.Secret = true
		s, _ := d.Known(e, f, "string").(string)
		*dst = SecretText(s)
	case *bool:
		*dst, _ = d.Known(e, f, "bool").(bool)
	case **bool:
		if b, ok := d.Known(e, f, "bool").(bool); ok {
			*dst = &b
		}
	case *int:
		*dst, _ = d.Known(e, f, "integer").(int)
	case *float64:
		*dst, _ = value.Float(d.Known(e, f, "number"))
	case **float64:
		if n, ok := value.Float(d.Known(e, f, "number")); ok {
			*dst = &n
		}
	case *[]string:
		*dst = Items[string](d, e, f, "strings")
	case *[]int:
		*dst = Items[int](d, e, f, "integers")
	case *time.Duration:
		*dst = d.Duration(e, f)
	case *Size:
		*dst = d.Size(e, f)
	case **schema.Type:
		*dst = d.DecodeType(e)
		d.RejectFileType(*dst, e, "an answer")
	default:
		d.decodeComputed(dst, e, f)
	}
}

// Known evaluates an expression at load and checks the kind of its value.
func (d *Decoder) Known(e hclsyntax.Expression, f Field, want string) any {
	n := d.CompileKnown(e, f)
	if !n.Known {
		return nil
	}
	ok := false
	switch n.Value.(type) {
	case string:
		ok = want == "string"
	case bool:
		ok = want == "bool"
	case int:
		ok = want == "integer" || want == "number"
	case float64:
		ok = want == "number"
	case []any:
		ok = want == "list"
	}
	if !ok {
		hint := ""
		if text, isText := n.Value.(string); isText && want == "list" {
			hint = fmt.Sprintf(" Write [%q].", text)
		}
		d.Errorf(e.Range(), "Wrong type", "%s takes %s, not %s.%s", f.Name, diag.WithArticle(want),
			eval.TypePhrase(eval.TypeOf(n.Value)), hint)
		return nil
	}
	return n.Value
}

func (d *Decoder) CompileKnown(e hclsyntax.Expression, f Field) eval.TypedExpr {
	s := d.LoadScope
	if f.Secret {
		s = s.WithSecrets(eval.AllowSecrets)
	}
	c := hclexpr.NewCompiler(&d.Env.CompileEnv, d.Src, s, d.Deps)
	n := c.Compile(e, hclexpr.LexicalEnv{})
	d.Diags = append(d.Diags, c.Diags...)
	d.MissingValue = d.MissingValue || !n.Known
	return n
}

// Items reads a list of strings or integers.
func Items[T string | int](d *Decoder, e hclsyntax.Expression, f Field, of string) (out []T) {
	elems, _ := d.Known(e, f, "list").([]any)
	for _, v := range elems {
		item, ok := v.(T)
		if !ok {
			d.Errorf(e.Range(), "Wrong type", "%s is a list of %s, and one element is %s.", f.Name, of,
				eval.TypePhrase(eval.TypeOf(v)))
			return out
		}
		out = append(out, item)
	}
	return out
}

// decodeComputed decodes an argument that is computed for every call.
func (d *Decoder) decodeComputed(dst any, e hclsyntax.Expression, f Field) {
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
