package eval

import (
	"slices"
	"strings"

	"hatchel/hcl/diag"
	"hatchel/hcl/functions"
	"hatchel/hcl/schema"
)

// RequireWhole records that a value of type t is used as all there is.
func (d *Dependencies) RequireWhole(t *schema.Type, use diag.Range) {
	if d == nil {
		return
	}
	for _, cut := range t.HeldCuts() {
		if d.Whole == nil {
			d.Whole = map[*schema.Cut]diag.Range{}
		}
		if _, known := d.Whole[cut]; !known {
			d.Whole[cut] = use
		}
	}
}

// ReadCut records that a value of type t is read in a scope, for a test or not. Where no answer says that it was cut,
// it must be whole.
func (d *Dependencies) ReadCut(s *Scope, t *schema.Type, test bool, at diag.Range) {
	if d == nil || t.HeldCuts() == nil {
		return
	}
	switch output, _ := s.Find("output"); {
	case test || output == nil || !output.Delivers:
		d.RequireWhole(t, at)
	default:
		d.Delivered = append(d.Delivered, t.HeldCuts()...)
	}
}

// HeldCuts returns the limits that may have cut one of the values.
func HeldCuts(parts ...TypedExpr) (cuts []*schema.Cut) {
	for _, p := range parts {
		cuts = slices.Concat(cuts, p.Type.HeldCuts())
	}
	return cuts
}

// deliveringFunctions give a part of their result for each part of an argument. What all others
// compute of a value that a limit has cut is wrong.
var deliveringFunctions = strings.Fields("base64encode chomp chunklist coalesce coalescelist compact concat " +
	"distinct first flatten format formatlist indent jsonencode lower merge omit pick regexreplace replace split " +
	"string substr take title toBase64 toJSON tolist tostring trim trimprefix trimspace trimsuffix uniq upper " +
	"urlencode values")

// DeliversCut reports whether a function only hands on what a limit may have cut.
func DeliversCut(fn *functions.Function) bool { return slices.Contains(deliveringFunctions, fn.Name) }

// LooksInside reports whether a function looks at the elements of its argument, and not only at which there are.
func LooksInside(fn *functions.Function) bool {
	return fn.Name != "length" && fn.Name != "len" && fn.Name != "keys"
}

// LookedAt returns the type of what a function looks at of an argument of type t.
func LookedAt(fn *functions.Function, t *schema.Type) *schema.Type {
	if LooksInside(fn) {
		return t
	}
	return t.CutAlone()
}

// ResultCuts returns the limits that may have cut what a function gives for these arguments.
func ResultCuts(fn *functions.Function, args []TypedExpr) []*schema.Cut {
	if fn.Result.Rule == functions.ElemOfFirst || !DeliversCut(fn) {
		return nil // the first element is there
	}
	return HeldCuts(args...)
}
