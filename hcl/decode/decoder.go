package decode

import (
	"fmt"
	"slices"
	"strings"
	"time"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/eval/hclexpr"
	"hatchel/hcl/schema"
	"hatchel/hcl/template/sqltext"
	"hatchel/hcl/value"
)

// Decoder decodes the bodies of one file into configurations.
type Decoder struct {
	Env           *Env
	Src           []byte        // of the file
	LoadScope     *eval.Scope   // the scope of values known at load
	Scope         *eval.Scope   // the scope of values computed for a call
	NonNull       *eval.NonNull // paths that an enclosing `when` has proven not null
	Dialect       sqltext.Dialect
	ArgvPrefix    []string // of the shell connection, before the block's own words
	HasConnection bool     // the block names a connection
	Ranges        map[any]diag.Range
	Deps          *eval.Dependencies // of the current tool; nil outside of tools
	// a value needed at load is missing, which was reported at its source
	MissingValue bool
	Typos        map[string]bool
	Diags        diag.Diagnostics
}

func (d *Decoder) Errorf(r hclv2.Range, summary, format string, args ...any) {
	d.Diags.Errorf(diag.RangeOf(r), summary, format, args...)
}

// Body decodes the body of a block and reports arguments and blocks that the spec does not have.
func (d *Decoder) Body(b *hclsyntax.Body, spec Spec, def hclv2.Range) {
	d.CheckNames(b, spec)
	d.Fields(b, spec, def)
}

// Fields decodes some of the arguments and blocks of a body.
func (d *Decoder) Fields(b *hclsyntax.Body, spec Spec, def hclv2.Range) {
	var written map[*group][]string
	typos := d.Typos // of this body, not of nested ones
	for i := range spec {
		f := &spec[i]
		found := false
		if f.DecodeAttr != nil {
			if a, ok := b.Attributes[f.Name]; ok {
				found = true
				f.DecodeAttr(d, a.Expr, *f)
			}
		} else {
			found = d.decodeBlocks(b, *f)
		}
		if found && f.group != nil {
			if written == nil {
				written = map[*group][]string{}
			}
			written[f.group] = append(written[f.group], f.Name)
		}
		if !found && f.Required && !typos[f.Name] {
			d.Errorf(def, "Missing argument", "%q is required here: %s", f.Name, f.Doc)
		}
	}
	d.Typos = typos
	d.checkGroups(b, spec, written, def)
}

func (d *Decoder) decodeBlocks(b *hclsyntax.Body, f Field) bool {
	found := false
	for _, nested := range b.Blocks {
		if nested.Type != f.Name || f.DecodeBlock == nil {
			continue
		}
		if found && !f.Many {
			d.Errorf(nested.DefRange(), "Duplicate block", "There may be one %s block here.", f.Name)
			continue
		}
		if len(nested.Labels) > 0 && f.Label == "" {
			d.Errorf(nested.LabelRanges[0], "Unexpected label", "%s block has no label: write `%s {`.",
				diag.ToSentence(diag.WithArticle(f.Name)), f.Name)
		}
		found = true
		f.DecodeBlock(d, nested)
	}
	return found
}

func (d *Decoder) checkGroups(b *hclsyntax.Body, spec Spec, written map[*group][]string, def hclv2.Range) {
	var seen []*group
	for i := range spec {
		g := spec[i].group
		if g == nil || slices.Contains(seen, g) {
			continue
		}
		seen = append(seen, g)
		var names []string
		for i := range spec {
			if spec[i].group == g {
				names = append(names, spec[i].Name)
			}
		}
		switch n := len(written[g]); {
		case n == 0 && g.required && !slices.ContainsFunc(names, func(name string) bool { return d.Typos[name] }):
			d.Errorf(def, "Missing argument", "%s is required: write one of %s.", diag.ToSentence(g.what),
				strings.Join(names, ", "))
		case n > 1:
			second := written[g][1]
			r := def
			if a, ok := b.Attributes[second]; ok {
				r = a.NameRange
			}
			for _, nested := range b.Blocks {
				if nested.Type == second {
					r = nested.DefRange()
				}
			}
			d.Errorf(r, "Too many arguments", "%s is already given by %q: write one of %s.", diag.ToSentence(g.what),
				written[g][0], strings.Join(names, ", "))
		}
	}
}

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
		d.DecodeComputed(dst, e, f)
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

// RejectFileType reports a type that contains a file where callers cannot send one.
func (d *Decoder) RejectFileType(t *schema.Type, e hclsyntax.Expression, what string) {
	if t.HoldsFile() {
		d.Errorf(e.Range(), "Misplaced file",
			"A file is uploaded by a caller, so only an input can have this type, not %s.", what)
	}
}

// FieldRange returns the range of an argument, or of the block if the argument is not set.
func (d *Decoder) FieldRange(field any, b *hclsyntax.Block) hclv2.Range {
	if r, ok := d.Ranges[field]; ok {
		return hclv2.Range{Filename: r.File, Start: hclv2.Pos(r.Start), End: hclv2.Pos(r.End)}
	}
	return b.DefRange()
}
