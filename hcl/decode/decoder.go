package decode

import (
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
)

// Env is the environment for decoding the bodies of a configuration. The loader completes it as it
// proceeds.
type Env struct {
	hclexpr.CompileEnv
	Now       func() time.Time
	NamedType func(name string, r hclv2.Range) (*schema.Type, hclv2.Diagnostics)
	UploadURL *string           // the upload URL; the target of the pointer is set during the load
	Webhooks  []string          // that are declared
	Partial   bool              // a file could not be read, so missing declarations are not reported
	Misplaced map[string]string // what is said of blocks of backends in another place, by their names
	Patterns  *schema.Patterns  // that the blocks share
}

// Decoder decodes the bodies of one file into configurations.
type Decoder struct {
	Env           *Env
	Src           []byte        // of the file
	LoadScope     *eval.Scope   // the scope of values known at load
	Scope         *eval.Scope   // the scope of values computed for a call
	NonNull       *eval.NonNull // paths that an enclosing `when` has proven not null
	Dialect       sqltext.Dialect
	Command       hclexpr.CommandEnv // of a shell block
	HasConnection bool               // the block names a connection
	Covers        []eval.Cover       // the masks of the output of a backend
	Ranges        map[any]diag.Range
	Deps          *eval.Dependencies // of the current tool; nil outside of tools
	Observer      Observer           // nil for none
	// a value needed at load is missing, which was reported at its source
	MissingValue bool
	Typos        []string // the arguments that misspelled or former names stand for
	// literals may be credentials, as in tests
	ExemptCredentials bool
	owner             string // the last label around the body
	Diags             diag.Diagnostics
}

func (d *Decoder) Errorf(r hclv2.Range, summary, format string, args ...any) {
	d.Diags.Errorf(diag.RangeOf(r), summary, format, args...)
}

// Warnf adds a warning.
func (d *Decoder) Warnf(r hclv2.Range, summary, format string, args ...any) {
	d.Diags.Warnf(diag.RangeOf(r), summary, format, args...)
}

// Body decodes the body of a block and reports arguments and blocks that the spec does not have.
// What its fields add to the scope and prove not null ends with it.
func (d *Decoder) Body(b *hclsyntax.Block, spec Spec) {
	owner := d.owner
	if n := len(b.Labels); n > 0 {
		d.owner = b.Labels[n-1]
	}
	d.CheckNames(b, spec)
	d.In(d.Scope, func() { d.Fields(b, spec) })
	d.owner = owner
}

// In calls do with another scope. What do adds to the scope and proves not null ends with it.
func (d *Decoder) In(s *eval.Scope, do func()) {
	around, known := d.Scope, d.NonNull
	d.Scope = s
	do()
	d.Scope, d.NonNull = around, known
}

// Fields decodes some of the arguments and blocks of the body of a block.
func (d *Decoder) Fields(b *hclsyntax.Block, spec Spec) {
	typos := d.Typos // of this body, not of nested ones
	for _, last := range []bool{false, true} {
		for i := range spec {
			if spec[i].last == last {
				d.field(b, &spec[i], typos)
			}
		}
	}
	d.Typos = typos
	d.checkGroups(b, spec)
}

func (d *Decoder) field(b *hclsyntax.Block, f *Field, typos []string) {
	found := false
	if f.isArgument() {
		var a *hclsyntax.Attribute
		if a, found = b.Body.Attributes[f.Name]; found {
			if d.Observer != nil {
				d.Observer.Argument(*f, a.Expr)
			}
			f.DecodeAttr(d, a.Expr, *f)
			if f.isDefault(a.Expr) {
				d.Deps.RecordDefault(a.Expr.Range().Start.Byte)
			}
		}
	} else {
		found = d.decodeBlocks(b.Body, *f)
	}
	if !found && f.inputs != nil {
		d.decodeInputs(b, *f)
	}
	if !found && f.Required && !slices.Contains(typos, f.Name) {
		d.Errorf(b.DefRange(), "Missing argument", "%q is required here: %s", f.Name,
			diag.OneOf([]string{f.Name}, f.Doc))
		d.Diags.Mark(diag.MissingArgument)
	}
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

func (d *Decoder) checkGroups(b *hclsyntax.Block, spec Spec) {
	var seen []*group
	for i := range spec {
		g := spec[i].group
		if g == nil || slices.Contains(seen, g) {
			continue
		}
		seen = append(seen, g)
		var names, written []string
		for j := range spec {
			if name := spec[j].Name; spec[j].group == g {
				names = append(names, name)
				if b.Body.Attributes[name] != nil || FindBlock(b.Body, name) != nil {
					written = append(written, name)
				}
			}
		}
		switch typo := func(name string) bool { return slices.Contains(d.Typos, name) }; {
		case len(written) == 0 && g.required && !slices.ContainsFunc(names, typo):
			d.Errorf(b.DefRange(), "Missing argument", "%s is required: write one of %s.", diag.ToSentence(g.what),
				strings.Join(names, ", "))
		case len(written) > 1:
			var r hclv2.Range
			if a, ok := b.Body.Attributes[written[1]]; ok {
				r = a.NameRange
			} else {
				r = FindBlock(b.Body, written[1]).DefRange()
			}
			d.Errorf(r, "Too many arguments", "%s is already given by %q: write one of %s.", diag.ToSentence(g.what),
				written[0], strings.Join(names, ", "))
		}
	}
}

// FindBlock returns the first block of a body with one of these names; nil for none.
func FindBlock(b *hclsyntax.Body, names ...string) *hclsyntax.Block {
	for _, nested := range b.Blocks {
		if slices.Contains(names, nested.Type) {
			return nested
		}
	}
	return nil
}

// FieldRange returns the range of an argument, or of the block if the argument is not set.
func (d *Decoder) FieldRange(field any, b *hclsyntax.Block) diag.Range {
	if r, ok := d.Ranges[field]; ok {
		return r
	}
	return diag.RangeOf(b.DefRange())
}
