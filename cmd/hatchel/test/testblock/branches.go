package testblock

import (
	"cmp"
	"slices"
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/mock"
)

// Branch is a condition that a call takes one of two ways.
type Branch struct {
	Range diag.Range // of the condition, or of the header of a step that goes on after a failure
	Text  string     // the condition, on one line
	Step  bool       // it is such a step
	Mask  string     // the mask that it lifts where it is true; empty for none
	Owner diag.Range // the header of the tool, prompt, resource, policy or mask that has it
}

// Branches returns the conditions of the tools, prompts, resources, policies and masks of a configuration that was
// loaded with tests, in the order of the files.
func Branches(cfg *hcl.Config) (found []Branch) {
	add := func(owner diag.Range, reads *eval.Reads) {
		for _, b := range reads.Branches {
			found = append(found, Branch{Range: b.At, Text: mock.OneLine(b.Text), Owner: owner})
		}
	}
	addOperation := func(op *hcl.Operation) {
		add(op.Range, op.Reads)
		for _, s := range op.Steps {
			if s.ContinueOnError {
				found = append(found, Branch{Range: s.Range, Step: true, Owner: op.Range,
					Text: "a failure, with on_error = \"continue\""})
			}
		}
	}
	for _, t := range cfg.Tools {
		addOperation(&t.Operation)
	}
	for _, p := range cfg.Prompts {
		addOperation(&p.Operation)
	}
	for _, r := range cfg.Resources {
		addOperation(&r.Operation)
	}
	for _, p := range cfg.Policies {
		for _, s := range cfg.Settings {
			if s.Name == "policy "+p.Name {
				add(p.Range, s.Reads[0])
			}
		}
	}
	for _, m := range cfg.Masks {
		if m.Unless != nil {
			found = append(found, Branch{Range: m.Unless.Range, Text: mock.OneLine(m.Unless.Source()), Mask: m.Name,
				Owner: m.Range})
		}
	}
	slices.SortFunc(found, func(a, b Branch) int {
		return cmp.Or(strings.Compare(a.Range.File, b.Range.File), a.Range.Start.Byte-b.Range.Start.Byte)
	})
	return found
}
