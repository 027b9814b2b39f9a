package console

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"hatchel/hcl"
	"hatchel/runtime/call"
	"hatchel/runtime/load/access"
)

// maskedRow is a member of the answer of a tool and one of its masks.
type maskedRow struct {
	Member, Mask string
	With         access.Answer // what a caller sees to whom the mask applies
	Unless       string        // the rule that lifts the mask; empty for none
	Range        hcl.Range     // of the rule, or else of the mask
}

// maskedRows returns the masked members of the answer of a tool.
func maskedRows(cfg *hcl.Config, p *call.Program) (rows []maskedRow) {
	t := p.Tool()
	for _, member := range t.MaskedMembers(cmp.Or(p.Shaper.OutputType(), t.ResultType())) {
		for _, m := range cfg.Masks {
			if !slices.Contains(member.Masks, m.Mask) {
				continue
			}
			row := maskedRow{Member: member.Path, Mask: m.Name, With: access.Masked(m), Range: m.Range}
			if m.Unless != nil {
				row.Unless, row.Range = strings.Join(strings.Fields(m.Unless.Source()), " "), m.Unless.Range
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// maskTexts returns what became of masks in a call, as in "contact: applied".
func maskTexts(masks map[string]string) (texts []string) {
	for _, name := range slices.Sorted(maps.Keys(masks)) {
		texts = append(texts, name+": "+masks[name])
	}
	return texts
}
