package decode

import (
	"slices"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/hcl/template/sqltext"
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
// What its fields add to the scope and prove not null ends with it.
func (d *Decoder) Body(b *hclsyntax.Block, spec Spec) {
	around, known := d.Scope, d.NonNull
	d.CheckNames(b, spec)
	d.Fields(b, spec)
	d.Scope, d.NonNull = around, known
}

// Fields decodes some of the arguments and blocks of the body of a block.
func (d *Decoder) Fields(block *hclsyntax.Block, spec Spec) {
	b, def := block.Body, block.DefRange()
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
		return toHCL(r)
	}
	return b.DefRange()
}
