package testblock

import (
	"slices"

	"hatchel/hcl"
	"hatchel/hcl/eval"
)

// checkMasked reports members that are no names, and those of a result that no mask reaches.
func (b *block) checkMasked(x *Expect, e *element) {
	at, given := x.Ranges["masked"]
	members, _ := x.Values["masked"].([]any)
	if !given || members == nil {
		return
	}
	for _, m := range members {
		if text, _ := m.(string); !eval.IsMember(text) {
			e.diags.Errorf(at, "Invalid member", eval.InvalidMember, text)
		}
	}
	if len(members) == 0 {
		e.diags.Errorf(at, "Nothing expected", "masked has no members. Name some, as in masked = [\"email\"].")
	}
	masks := false
	b.operations(func(op *hcl.Operation) {
		masks = masks || slices.ContainsFunc(op.Steps, func(s *hcl.Step) bool { return len(s.Backend.Masks) > 0 })
	})
	if !masks && (b.op != nil || b.kind == "resource") {
		e.diags.Errorf(at, "No mask", "No mask applies to a backend of the %s, so nothing of its result is masked.",
			b.kind)
	}
}
