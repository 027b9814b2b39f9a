package hcl

import (
	"fmt"
	"slices"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/schema"
)

// A typeSet resolves type blocks on demand, so that their order does not matter.
type typeSet struct {
	loader *loader
	blocks map[string]block
	done   map[string]*schema.Type
	path   []string // being resolved, for cycles
}

func (s *typeSet) get(name string, r hclv2.Range) (*schema.Type, hclv2.Diagnostics) {
	fail := func(summary, format string, args ...any) (*schema.Type, hclv2.Diagnostics) {
		return nil, hclv2.Diagnostics{{Severity: hclv2.DiagError, Summary: summary, Detail: fmt.Sprintf(format, args...), Subject: &r}}
	}
	if t, ok := s.done[name]; ok {
		return t, nil
	}
	b, ok := s.blocks[name]
	if !ok {
		if s.loader.partial {
			return anyType, nil // it may be declared in a file that could not be read
		}
		return fail("Unknown type", "There is no type block %q.%s", name, suggestOr(name, sortedNames(s.blocks), thereAre(sortedNames(s.blocks))))
	}
	if slices.Contains(s.path, name) {
		return fail("Type refers to itself", "type.%s contains itself: %s. Write any where it would begin again.", name, strings.Join(append(s.path, name), " → "))
	}
	s.path = append(s.path, name)
	var t *schema.Type
	d := s.loader.decoder(b.file)
	d.body(b.Body, typeSpec(&t), b.DefRange())
	s.loader.diags = append(s.loader.diags, d.diags...)
	s.path = s.path[:len(s.path)-1]
	if t == nil {
		t = anyType
	}
	left := maxParts
	if parts(t, &left); left < 0 { // a type that is named twice in another, and that twice again, doubles with each line
		t = anyType
		s.done[name] = t
		return fail("Type too large", "type.%s has more than %d parts, those of the types in it included. Write any for some of them.", name, maxParts)
	}
	s.done[name] = t
	return t, nil
}

const maxParts = 10_000 // of a type: members and elements at every depth

// parts takes the parts of a type from left, and stops below zero.
func parts(t *schema.Type, left *int) {
	if *left--; *left < 0 || t == nil {
		return
	}
	if t.Elem != nil {
		parts(t.Elem, left)
	}
	for _, m := range t.Members {
		parts(m.Type, left)
	}
}

func typeSpec(t **schema.Type) Spec {
	return Spec{special("is", "type", "What the name stands for.", func(d *decoder, e hclsyntax.Expression) { *t = d.typ(e) }).Require()}
}

// typ reads a type expression.
func (d *decoder) typ(e hclsyntax.Expression) *schema.Type {
	t, diags := schema.ParseType(e, d.typeEnv())
	d.diags = append(d.diags, adopt(diags)...)
	return t
}

// namedType resolves type.name.
func (d *decoder) namedType(name string, r hclv2.Range) (*schema.Type, hclv2.Diagnostics) {
	if d.uses != nil {
		d.uses.types = append(d.uses.types, name)
	}
	return d.shared.types.get(name, r)
}

// digest is of everything that a type says.
func (s *typeSet) digest(name string) string {
	t := s.done[name]
	if t == nil {
		return ""
	}
	return digest("type", name, fmt.Sprint(t.Sensitive), string(t.AppendSchema(nil)))
}

// typeEnv is what type expressions of the file may refer to.
func (d *decoder) typeEnv() schema.Env {
	return schema.Env{
		Type: d.namedType,
		Eval: func(e hclv2.Expression) (any, hclv2.Diagnostics) {
			x, ok := e.(hclsyntax.Expression)
			if !ok {
				return nil, nil
			}
			n := d.compileKnown(x, Field{})
			return n.value, nil
		},
		Size: func(e hclv2.Expression) (int64, hclv2.Diagnostics) {
			x, ok := e.(hclsyntax.Expression)
			if !ok {
				return 0, nil
			}
			return int64(d.size(x, Field{})), nil
		},
		Uploads: &d.shared.config.Files.address,
	}
}
