package eval

import "hatchel/hcl/diag"

// Cut is a limit of a block that may cut a member of its output: rows, items or a text. It is the same wherever the
// member of one block is read.
type Cut struct {
	Member string // of the root output
}

// HeldCuts returns the limits that may have cut the value, or a part of it.
func (f Facts) HeldCuts() []*Cut {
	if f.Members == nil && f.Elem == nil {
		return f.Cuts
	}
	return f.addHeld(nil, map[*Facts]bool{})
}

// addHeld adds the limits that may have cut a part. Parts may be shared, and each is seen once.
func (f *Facts) addHeld(cuts []*Cut, seen map[*Facts]bool) []*Cut {
	if f == nil || seen[f] {
		return cuts
	}
	seen[f] = true
	for _, m := range f.Members {
		cuts = m.addHeld(cuts, seen)
	}
	return f.Elem.addHeld(addAll(cuts, f.Cuts), seen)
}

// Whole returns the facts of a value that no limit may cut, see [Dependencies.RequireWhole], and that no mask may mask.
// Masks of parts of which the type says nothing stay.
func (e TypedExpr) Whole() Facts {
	f, masks := e.Facts, e.HeldMasks()
	if f.HeldCuts() != nil || masks != nil {
		f.Cuts, f.Members, f.Elem = nil, nil, nil
	}
	if f.Masked = nil; masks != nil {
		f.Covers = nil
	}
	return f
}

// RequireWhole records that what limits may have cut is used as all there is.
func (d *Dependencies) RequireWhole(cuts []*Cut, use diag.Range) {
	if d == nil {
		return
	}
	for _, cut := range cuts {
		if d.Whole == nil {
			d.Whole = map[*Cut]diag.Range{}
		}
		if _, known := d.Whole[cut]; !known {
			d.Whole[cut] = use
		}
	}
}

// ReadCut records that what limits may have cut is read in a scope, for a test or not. Where no answer says that it was
// cut, it must be whole.
func (d *Dependencies) ReadCut(s *Scope, cuts []*Cut, test bool, at diag.Range) {
	if d == nil || cuts == nil {
		return
	}
	switch output, _ := s.Find("output"); {
	case test || output == nil || !output.Delivers:
		d.RequireWhole(cuts, at)
	default:
		d.Delivered = append(d.Delivered, cuts...)
	}
}
