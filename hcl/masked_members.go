package hcl

import (
	"slices"
	"strings"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
)

// MaskedMember is a member of the structured result of a tool that not every caller may see.
type MaskedMember struct {
	Path  string // as in rows[].email
	Masks []*eval.Mask
}

const (
	maxMaskedMembers = 256 // of one tool
	maxMaskedDepth   = 8   // a type may contain itself
)

// MaskedMembers returns the members of the structured result, which has a type, that masks mask. A part whose type is
// not known has those that its program names.
func (t *Tool) MaskedMembers(result *schema.Type) []MaskedMember {
	if t.answer == nil {
		return nil
	}
	s := &maskedMembers{}
	s.visit(*t.answer, result, "", 0)
	return s.found
}

type maskedMembers struct{ found []MaskedMember }

// visit looks at a part of the result.
func (s *maskedMembers) visit(e eval.TypedExpr, t *schema.Type, path string, depth int) {
	e.Type = eval.AnyType // lists have no part in where a mask applies
	switch {
	case depth > maxMaskedDepth || len(s.found) >= maxMaskedMembers:
		return
	case len(e.Masked) > 0:
		s.add(strings.TrimPrefix(path, "."), e.Masked)
		return
	case t == nil || t.Kind == schema.Any && t.OneOf == nil:
		s.visitNamed(e, path, depth)
		return
	}
	t = t.Unfolded()
	if t.Elem != nil && t.Kind != schema.Map {
		s.visit(eval.TypedExpr{Facts: e.ElementFacts(true)}, t.Elem, path+"[]", depth+1)
	}
	for _, one := range t.OneOf {
		s.visit(e, one, path, depth+1)
	}
	for _, m := range t.Members {
		s.visit(eval.TypedExpr{Facts: e.MemberFacts(m.Name)}, m.Type, path+"."+m.Name, depth+1)
	}
}

// visitNamed looks at the parts that the program itself names.
func (s *maskedMembers) visitNamed(e eval.TypedExpr, path string, depth int) {
	for _, name := range diag.SortedNames(e.Members) {
		s.visit(eval.TypedExpr{Facts: e.MemberFacts(name)}, nil, path+"."+name, depth+1)
	}
	if e.Elem != nil && len(e.Members) == 0 {
		s.visit(eval.TypedExpr{Facts: e.ElementFacts(true)}, nil, path+"[]", depth+1)
	}
}

func (s *maskedMembers) add(path string, masks []*eval.Mask) {
	if path != "" && !slices.ContainsFunc(s.found, func(m MaskedMember) bool { return m.Path == path }) {
		s.found = append(s.found, MaskedMember{path, masks})
	}
}
