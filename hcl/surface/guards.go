package surface

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/schema"
)

// guards returns where the block of an operation reads the caller, besides its rules, as in "step store: query reads
// caller.subject". A condition is returned as it is written.
func (s *source) guards(block *hclsyntax.Block, covered []string) (lines []string) {
	for _, a := range block.Body.Attributes {
		if slices.Contains(covered, a.Name) {
			continue
		}
		read := s.callerIn(a.SrcRange)
		if len(read) > 0 && (a.Name == "when" || a.Name == "that") {
			lines = append(lines, a.Name+" "+clip(s.form(a.Expr), maxForm))
			continue
		}
		for _, member := range read {
			lines = append(lines, a.Name+" reads "+member)
		}
	}
	for _, nested := range block.Body.Blocks {
		if nested.Type == "locals" || slices.Contains(covered, nested.Type) {
			continue
		}
		name := header(nested)
		if nested.Type == "expect" { // its label is a text for people
			name = nested.Type
		}
		for _, line := range s.guards(nested, shownParts[nested.Type]) {
			lines = append(lines, name+": "+line)
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// sensitiveInputs returns the names of the inputs whose values are never shown.
func sensitiveInputs(input *schema.Type) (names []string) {
	for _, name := range input.MemberNames() {
		if m, ok := input.Lookup(name); ok && m.Type.Sensitive {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// guards compares what limits a call besides the rules: what depends on the caller, and what is never shown.
// Settled are the beginnings of guards whose conditions are proved stricter.
func (c *comparison) guards(at string, a, b *Operation, settled []string) {
	for _, line := range missing(a.Guards, b.Guards) {
		if slices.ContainsFunc(settled, func(beginning string) bool { return strings.HasPrefix(line, beginning) }) {
			continue
		}
		c.add(Widening, "guard", at, "no longer: %s", line)
	}
	for _, name := range missing(a.Sensitive, b.Sensitive) {
		if c.isAnswerInput("." + name) {
			continue
		}
		c.add(Widening, "sensitive", at+".input."+name, "no longer sensitive: its values are shown in logs and records")
	}
}
