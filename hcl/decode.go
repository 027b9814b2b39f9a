package hcl

import (
	"fmt"
	"slices"
	"strings"
	"time"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/functions"
	"hatchel/hcl/schema"
	"hatchel/hcl/template/sqltext"
	"hatchel/hcl/value"
)

// A decoder fills configurations from the bodies of one file.
type decoder struct {
	file    *source
	load    *scope // what is readable where a value is known at load
	scope   *scope // what is readable where a value is computed for a call
	facts   *facts // what a `when` around has ruled out
	dialect sqltext.Dialect
	words   []string // of the shell connection that the block's own words follow
	linked  bool     // the block names a connection
	places  map[any]Range
	tools   map[string]*toolDecl // every tool, for steps that call one
	shared  *loader
	uses    *uses // of the tool in hand; nil outside of tools
	blind   bool  // something that must be known at load is not, and that was reported where it comes from
	typos   map[string]bool
	diags   Diagnostics
}

func (d *decoder) errorf(r hclv2.Range, summary, format string, args ...any) {
	d.diags.errorf(at(r), summary, format, args...)
}

// body decodes what a block holds, reporting everything that its spec does not know.
func (d *decoder) body(b *hclsyntax.Body, spec Spec, def hclv2.Range) {
	d.unknown(b, spec)
	d.fields(b, spec, def)
}

// fields decodes a part of what a block holds.
func (d *decoder) fields(b *hclsyntax.Body, spec Spec, def hclv2.Range) {
	var written map[*group][]string
	typos := d.typos // of this body: nested ones have their own
	for i := range spec {
		f := &spec[i]
		found := false
		if f.attr != nil {
			if a, ok := b.Attributes[f.Name]; ok {
				found = true
				f.attr(d, a.Expr, *f)
			}
		} else {
			found = d.blocks(b, *f)
		}
		if found && f.group != nil {
			if written == nil {
				written = map[*group][]string{}
			}
			written[f.group] = append(written[f.group], f.Name)
		}
		if !found && f.Required && !typos[f.Name] {
			d.errorf(def, "Missing argument", "%q is needed here: %s", f.Name, f.Doc)
		}
	}
	d.typos = typos
	d.choices(b, spec, written, def)
}

func (d *decoder) blocks(b *hclsyntax.Body, f Field) bool {
	found := false
	for _, nested := range b.Blocks {
		if nested.Type != f.Name || f.block == nil {
			continue
		}
		if found && !f.Many {
			d.errorf(nested.DefRange(), "Duplicate block", "There may be one %s block here.", f.Name)
			continue
		}
		if len(nested.Labels) > 0 && f.Label == "" {
			d.errorf(nested.LabelRanges[0], "Unexpected label", "%s block has no label: write `%s {`.", sentence(article(f.Name)), f.Name)
		}
		found = true
		f.block(d, nested)
	}
	return found
}

func (d *decoder) choices(b *hclsyntax.Body, spec Spec, written map[*group][]string, def hclv2.Range) {
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
		case n == 0 && g.exactly && !slices.ContainsFunc(names, func(name string) bool { return d.typos[name] }):
			d.errorf(def, "Missing argument", "%s is needed: write one of %s.", sentence(g.what), strings.Join(names, ", "))
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
			d.errorf(r, "Too many arguments", "%s is already given by %q: write one of %s.", sentence(g.what), written[g][0], strings.Join(names, ", "))
		}
	}
}

// value decodes one argument into dst.
func (d *decoder) value(dst any, e hclsyntax.Expression, f Field) {
	switch dst := dst.(type) {
	case *string:
		*dst, _ = d.known(e, f, "string").(string)
	case *SecretText:
		f.Secret = true
		s, _ := d.known(e, f, "string").(string)
		*dst = SecretText(s)
	case *bool:
		*dst, _ = d.known(e, f, "bool").(bool)
	case **bool:
		if b, ok := d.known(e, f, "bool").(bool); ok {
			*dst = &b
		}
	case *int:
		*dst, _ = d.known(e, f, "integer").(int)
	case *float64:
		*dst, _ = value.Float(d.known(e, f, "number"))
	case *[]string:
		*dst = items[string](d, e, f, "strings")
	case *[]int:
		*dst = items[int](d, e, f, "integers")
	case *time.Duration:
		*dst = d.duration(e, f)
	case *Size:
		*dst = d.size(e, f)
	case **schema.Type:
		*dst = d.typ(e)
		d.refuseFile(*dst, e, "an answer")
	default:
		d.computed(dst, e, f)
	}
}

// known evaluates what must be known at load and checks its kind.
func (d *decoder) known(e hclsyntax.Expression, f Field, want string) any {
	n := d.compileKnown(e, f)
	if !n.known {
		return nil
	}
	ok := false
	switch n.value.(type) {
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
		if text, isText := n.value.(string); isText && want == "list" {
			hint = fmt.Sprintf(" Write [%q].", text)
		}
		d.errorf(e.Range(), "Wrong type", "%s takes %s, and this is %s.%s", f.Name, article(want), describe(typeOf(n.value)), hint)
		return nil
	}
	return n.value
}

func (d *decoder) compileKnown(e hclsyntax.Expression, f Field) node {
	s := d.load
	if f.Secret {
		s = s.allowing(secretsAllowed)
	}
	c := &compiler{scope: s, src: d.file.src, load: d.context(), uses: d.uses}
	n := c.expr(e, env{})
	d.diags = append(d.diags, c.diags...)
	d.blind = d.blind || !n.known
	return n
}

// context is what functions see that are computed at load.
func (d *decoder) context() functions.Context {
	return d.shared.context(func(name string, content []byte) {
		if d.uses != nil {
			d.uses.files, d.uses.read = true, digest(d.uses.read, name, string(content))
			return
		}
		d.shared.files.read = digest(d.shared.files.read, name, string(content))
	})
}

// items reads a list of strings or integers.
func items[T string | int](d *decoder, e hclsyntax.Expression, f Field, of string) (out []T) {
	elems, _ := d.known(e, f, "list").([]any)
	for _, v := range elems {
		item, ok := v.(T)
		if !ok {
			d.errorf(e.Range(), "Wrong type", "%s is a list of %s, and one of them is %s.", f.Name, of, describe(typeOf(v)))
			return out
		}
		out = append(out, item)
	}
	return out
}
