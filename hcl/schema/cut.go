package schema

import "slices"

// Cut is a limit of a block that may cut a member of its output: rows, items or a text. It is the
// same for all types of one member of one block.
type Cut struct {
	Member string // of the root output
}

// AsCut returns a copy of the type whose values a limit may have cut.
func (t *Type) AsCut(cuts ...*Cut) *Type {
	if len(cuts) == 0 {
		return t
	}
	c := *t
	c.Cuts = slices.Concat(t.Cuts, cuts)
	return &c
}

// CutAlone returns a type that holds the cuts of the type, and not those of its parts.
func (t *Type) CutAlone() *Type { return &Type{Cuts: t.Cuts} }

// KeepCuts returns the type as one of a value that may be, or hold, a value of the others: it holds what they hold.
func (t *Type) KeepCuts(others ...*Type) *Type {
	held := t.HeldCuts()
	var lost []*Cut
	for _, o := range others {
		for _, cut := range o.HeldCuts() {
			if !slices.Contains(held, cut) {
				lost = append(lost, cut)
			}
		}
	}
	return t.AsCut(lost...)
}

// HeldCuts returns the limits that may have cut a value of the type, or a part of it.
func (t *Type) HeldCuts() []*Cut {
	cuts := t.Cuts
	for _, m := range t.Members {
		cuts = slices.Concat(cuts, m.Type.HeldCuts())
	}
	if t.Elem != nil {
		cuts = slices.Concat(cuts, t.Elem.HeldCuts())
	}
	return cuts
}
