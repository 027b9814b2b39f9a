package decode

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	hclv2 "github.com/hashicorp/hcl/v2"
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
	case *SecretTexts:
		*dst = d.secretTexts(e, f)
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
	case *Statuses:
		*dst = d.statuses(e, f)
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
	_, isInt := n.Value.(int)
	if kind := value.Kind(n.Value); kind != want && !(isInt && want == "integer") {
		hint := ""
		if n.Value == nil && f.Secret {
			hint = " A secret that is used here must not be optional."
		}
		if text, isText := n.Value.(string); isText && want == "list" {
			hint = fmt.Sprintf(" Write [%q].", text)
		}
		d.Errorf(e.Range(), "Wrong type", "%s takes %s, not %s.%s", f.Name, diag.WithArticle(want),
			eval.ValuePhrase(n.Value), hint)
		return nil
	}
	return n.Value
}

func (d *Decoder) CompileKnown(e hclsyntax.Expression, f Field) eval.TypedExpr {
	s := d.LoadScope
	if f.Secret {
		s = s.WithSecrets(eval.AllowSecrets)
	}
	c := d.compilerIn(s)
	d.noteParts(c, f)
	n := c.Compile(e, hclexpr.LexicalEnv{})
	d.checkCredentials(c, e, f)
	d.Diags = append(d.Diags, c.Diags...)
	n.Known = n.Known && !c.Diags.HasErrors() // of a secret that is not allowed here only a placeholder is known
	d.MissingValue = d.MissingValue || !n.Known
	return n
}

// Items reads a list of strings or integers.
func Items[T string | int](d *Decoder, e hclsyntax.Expression, f Field, of string) (out []T) {
	elems, _ := d.Known(e, f, "list").([]any)
	for i, v := range elems {
		item, ok := v.(T)
		if !ok {
			d.Errorf(ElementRange(e, i), "Wrong type", "%s is a list of %s, and one element is %s.", f.Name, of,
				eval.ValuePhrase(v))
			return out
		}
		out = append(out, item)
	}
	return out
}

// Statuses is a list of HTTP statuses, such as 404 or "4xx", and of other words. An integer is read
// as its digits.
type Statuses []string

func (d *Decoder) statuses(e hclsyntax.Expression, f Field) (out Statuses) {
	elems, _ := d.Known(e, f, "list").([]any)
	for i, v := range elems {
		switch v := v.(type) {
		case string:
			out = append(out, v)
		case int:
			out = append(out, strconv.Itoa(v))
		default:
			d.Errorf(ElementRange(e, i), "Wrong type", "%s is a list of statuses, as in [201, \"3xx\"], and one "+
				"element is %s.", f.Name, eval.ValuePhrase(v))
		}
	}
	return out
}

// StringSet declares a list of strings that is known at load. Keep reports an invalid element at r
// and returns the element to add to dst, or "" for none. Repeated elements are added once.
func StringSet(dst *[]string, name, typ, doc string, keep func(d *Decoder, r diag.Range, elem string) string) Field {
	return Custom(name, typ, doc, func(d *Decoder, e hclsyntax.Expression) {
		for i, elem := range Items[string](d, e, Field{Name: name}, "strings") {
			elem = keep(d, diag.RangeOf(ElementRange(e, i)), elem)
			if elem != "" && !slices.Contains(*dst, elem) {
				*dst = append(*dst, elem)
			}
		}
	})
}

// ElementRange returns the range of an element of a list, or of the whole expression if it is not a
// list literal.
func ElementRange(e hclsyntax.Expression, i int) hclv2.Range {
	if list, ok := e.(*hclsyntax.TupleConsExpr); ok && i < len(list.Exprs) {
		return list.Exprs[i].Range()
	}
	return e.Range()
}

// noteParts makes a compiler keep what checkCredentials needs.
func (d *Decoder) noteParts(c *hclexpr.Compiler, f Field) {
	if f.Secret || f.keepsMembers || isCommand(f.Name) {
		c.NoteParts()
	}
}

// checkCredentials refuses literal credentials in the value of an argument that may hold secrets, or in a command.
func (d *Decoder) checkCredentials(c *hclexpr.Compiler, e hclsyntax.Expression, f Field) {
	switch {
	case f.Name == "command" || f.Name == "pipe":
		c.CheckWords(e, d.Command.Prefix)
	case f.Name == "stdin" || f.Name == "body":
		c.CheckBody(e)
	case f.Sent:
		c.CheckSent(f.Name, e)
	case f.Name != "script":
		c.CheckWritten(f.Name, e)
	}
}

func isCommand(name string) bool {
	return slices.Contains([]string{"command", "pipe", "script", "stdin"}, name)
}

// decodeComputed decodes an argument that is computed for every call.
func (d *Decoder) decodeComputed(dst any, e hclsyntax.Expression, f Field) {
	c := d.Compiler(f)
	c.Name = f.Name
	d.noteParts(c, f)
	in := hclexpr.LexicalEnv{NonNull: d.NonNull}
	switch dst := dst.(type) {
	case **hclexpr.Expr:
		if f.omitsAbsent { // it is sent as JSON, with all its parts
			c.SendsParts = true
			c.OmitAbsent(e)
		}
		compile := c.Compile
		if f.collection {
			compile = c.CompileCollection
		}
		n := compile(e, in)
		c.RejectFileValue(n, e, f.argument())
		*dst = &hclexpr.Expr{Typed: n, Range: diag.RangeOf(e.Range())}
		if f.keepsMembers {
			(*dst).Members = c.MembersOf(e)
		}
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
		*dst = c.CompileScript(e, in, d.Command)
		c.CheckScript(e, (*dst).Commands())
	case **hclexpr.Argv:
		*dst = c.CompileArgv(e, in, d.Command)
	case **hclexpr.Pipe:
		*dst = c.CompilePipe(e, in, d.Command)
	case **hclexpr.RequestURL:
		*dst = c.CompileURL(e, in, d.HasConnection, f.page)
	case **hclexpr.Condition:
		*dst = c.CompileCondition(e, d.NonNull, f.Name)
	case **hclexpr.Program:
		*dst = c.CompileProgram(e, d.NonNull, f.Name, exprlang.WantAny)
	}
	d.checkCredentials(c, e, f)
	d.Diags = append(d.Diags, c.Diags...)
}

func (d *Decoder) Compiler(f Field) *hclexpr.Compiler {
	s := d.Scope
	if f.Secret {
		s = s.WithSecrets(eval.AllowSecrets)
	}
	return d.compilerIn(s)
}

func (d *Decoder) compilerIn(s *eval.Scope) *hclexpr.Compiler {
	c := hclexpr.NewCompiler(&d.Env.CompileEnv, d.Src, s, d.Deps)
	c.Observer, c.ExemptCredentials, c.Owner = d.Observer, d.ExemptCredentials, d.owner
	return c
}

// DecodeType reads a type expression.
func (d *Decoder) DecodeType(e hclsyntax.Expression) *schema.Type {
	t := schema.ParseType(e, d.TypeEnv())
	d.Deps.RecordType(e.Range().Start.Byte, t)
	return t
}

// namedType resolves type.name.
func (d *Decoder) namedType(name string, r hclv2.Range) *schema.Type {
	if d.Deps != nil {
		d.Deps.Types = append(d.Deps.Types, name)
	}
	d.NoteReference(eval.Reference{At: diag.RangeOf(r), Kind: "type", Name: name})
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
		Size:     func(e hclv2.Expression) int64 { return int64(d.Size(e.(hclsyntax.Expression), Field{})) },
		Source:   d.Src,
		Uploads:  d.Env.UploadURL,
		Patterns: d.Env.Patterns,
	}
}

// eachElements returns the type of each.key, and what is known of each.value.
func (d *Decoder) eachElements(e *hclexpr.Expr) (key *schema.Type, elem eval.TypedExpr) {
	c := hclexpr.NewCompiler(&d.Env.CompileEnv, d.Src, d.Scope, d.Deps)
	at := hclv2.Range{Filename: e.Range.File, Start: hclv2.Pos(e.Range.Start), End: hclv2.Pos(e.Range.End)}
	key, elem = c.Elements(e.Typed, at)
	d.Diags = append(d.Diags, c.Diags...)
	return key, elem
}

// RejectFileType reports a type that contains a file where callers cannot send one.
func (d *Decoder) RejectFileType(t *schema.Type, e hclsyntax.Expression, what string) {
	if t.HoldsFile() {
		d.Errorf(e.Range(), "Misplaced file",
			"A file is uploaded by a caller, so only an input can have this type, not %s.", what)
	}
}
