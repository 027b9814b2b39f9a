package hcl

import (
	"cmp"
	"fmt"
	"slices"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
)

// lazyTypes resolves type blocks on demand, so that their order does not matter.
type lazyTypes struct {
	loader *loader
	blocks map[string]sourceBlock
	done   map[string]*schema.Type
	defs   map[string]*schema.Definition // of those being resolved
	path   []string                      // being resolved, for cycles
}

func (s *lazyTypes) resolve(name string, r hclv2.Range) (*schema.Type, hclv2.Diagnostics) {
	fail := func(summary, format string, args ...any) (*schema.Type, hclv2.Diagnostics) {
		return nil, hclv2.Diagnostics{{Severity: hclv2.DiagError, Summary: summary,
			Detail: fmt.Sprintf(format, args...), Subject: &r, Extra: args[len(args)-1]}}
	}
	if t, ok := s.done[name]; ok {
		return t, nil
	}
	b, ok := s.blocks[name]
	if !ok {
		if s.loader.partial {
			return eval.AnyType, nil // it may be declared in an unreadable file
		}
		return fail("Unknown type", "There is no type block %q.%s", name,
			diag.SuggestOr(name, diag.SortedNames(s.blocks), diag.ListAre(diag.SortedNames(s.blocks))))
	}
	if slices.Contains(s.path, name) {
		return s.defs[name].Recursion(r), nil
	}
	def := &schema.Definition{Name: name}
	s.defs[name] = def
	s.path = append(s.path, name)
	var t *schema.Type
	d := s.loader.newDecoder(b.file)
	d.Deps = &eval.Dependencies{}
	d.Body(b.Block, typeSpec(&t))
	s.loader.config.observe(d.Observer)
	s.loader.markUsed(&dependencies{Dependencies: *d.Deps})
	s.loader.requireValues("type "+name, d.Deps.Members)
	s.loader.diags = append(s.loader.diags, d.Diags...)
	s.path = s.path[:len(s.path)-1]
	t, problem := def.Complete(cmp.Or(t, eval.AnyType))
	if problem != "" {
		r, _ = def.RecursionRange()
		s.done[name] = eval.AnyType
		return fail("Type refers to itself", "%s", problem)
	}
	s.done[name] = t
	left := maxTypeParts
	// repeated nesting of types grows exponentially
	if countParts(t, &left); left < 0 {
		s.done[name] = eval.AnyType
		return fail("Type too large",
			"type.%s has more than %d parts, including nested types. Use any for some of them.", name, maxTypeParts)
	}
	return s.done[name], nil
}

const maxTypeParts = 10_000 // of a type: members and elements at every depth

// countParts subtracts the parts of a type from left and stops below zero.
func countParts(t *schema.Type, left *int) {
	if *left--; *left < 0 || t == nil {
		return
	}
	if t.Elem != nil {
		countParts(t.Elem, left)
	}
	for _, m := range t.Members {
		countParts(m.Type, left)
	}
}

func typeSpec(t **schema.Type) decode.Spec {
	return decode.Spec{decode.Custom("is", "type", "The type.",
		func(d *decode.Decoder, e hclsyntax.Expression) { *t = d.DecodeType(e) }).Require()}
}

// digest returns the digest of a type declaration.
func (s *lazyTypes) digest(name string) string {
	t := s.done[name]
	if t == nil {
		return ""
	}
	return eval.HashParts("type", name, fmt.Sprint(t.Sensitive), string(t.AppendIdentity(nil)))
}

// declareTypes indexes the type blocks. Each is resolved when it is first named.
func (l *loader) declareTypes() {
	for _, b := range l.blocks["type"] {
		checkIdentifier(&l.diags, "type", b.Labels[0], labelRange(b.Block))
		if l.declare("type", b.Labels[0], b) {
			l.types.blocks[b.Labels[0]] = b
		}
	}
}

// resolveTypes resolves the types that have not been used so far.
func (l *loader) resolveTypes() {
	for _, name := range diag.SortedNames(l.types.blocks) {
		_, diags := l.types.resolve(name, l.types.blocks[name].LabelRanges[0])
		l.diags = append(l.diags, diag.FromHCL(diags)...)
	}
}
