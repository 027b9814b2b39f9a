package test

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"hatchel/cmd/hatchel/importer"
	"hatchel/cmd/hatchel/test/testblock"
	"hatchel/hcl"
	"hatchel/hcl/diag"
)

// Coverage is which tools, prompts and resources have a test, and which branches the tests take. The two ways of a
// condition are two branches. Imported tools that nobody has edited are counted apart.
type Coverage struct {
	Counts
	Imported Counts
	Untested []*hcl.Operation
	Missing  []MissedBranch
}

// Counts is how much there is, and how much of it is covered.
type Counts struct {
	Tested, Targets int
	Taken, Branches int
}

// MissedBranch is a way of a condition that no test takes.
type MissedBranch struct {
	testblock.Branch
	Holds bool // the way of a condition that is true
}

// Percent is how many of the branches are taken; 100 without branches.
func (c *Counts) Percent() float64 {
	if c.Branches == 0 {
		return 100
	}
	return 100 * float64(c.Taken) / float64(c.Branches)
}

// Cover returns which branches the tests of a report take.
func (s *Suite) Cover(r *Report) *Coverage {
	c, tested, cfg := &Coverage{}, map[diag.Range]bool{}, s.configs[0]
	for _, result := range r.Results {
		if result.Status == Skipped {
			continue
		}
		reached := reduce(result.config, result.Case)
		for _, op := range operations(reached) {
			tested[op.Range] = tested[op.Range] || result.Kind != "resource" || reads(reached, op, result.Target)
		}
	}
	unedited := s.uneditedTools(cfg)
	for _, op := range operations(cfg) {
		counts := &c.Counts
		if unedited[op.Range] {
			counts = &c.Imported
		}
		if counts.Targets++; tested[op.Range] {
			counts.Tested++
		} else if counts == &c.Counts {
			c.Untested = append(c.Untested, op)
		}
	}
	for _, b := range testblock.Branches(cfg) {
		counts := &c.Counts
		if unedited[b.Owner] {
			counts = &c.Imported
		}
		for i, holds := range []bool{false, true} {
			if counts.Branches++; r.Branches[b.Range][i] > 0 {
				counts.Taken++
			} else if counts == &c.Counts {
				c.Missing = append(c.Missing, MissedBranch{b, holds})
			}
		}
	}
	slices.SortFunc(c.Untested, func(a, b *hcl.Operation) int { return compareRanges(a.Range, b.Range) })
	slices.SortStableFunc(c.Missing, func(a, b MissedBranch) int { return compareRanges(a.Range, b.Range) })
	return c
}

// uneditedTools returns the places of the tools that are as they were imported.
func (s *Suite) uneditedTools(cfg *hcl.Config) map[diag.Range]bool {
	headers, places := importer.Unedited(s.FS, cfg.Sources), map[diag.Range]bool{}
	for _, t := range cfg.Tools {
		places[t.Range] = headers["tool "+t.Name]
	}
	return places
}

func compareRanges(a, b diag.Range) int {
	return cmp.Or(strings.Compare(a.File, b.File), a.Start.Byte-b.Start.Byte)
}

func operations(cfg *hcl.Config) (all []*hcl.Operation) {
	for _, t := range cfg.Tools {
		all = append(all, &t.Operation)
	}
	for _, p := range cfg.Prompts {
		all = append(all, &p.Operation)
	}
	for _, r := range cfg.Resources {
		all = append(all, &r.Operation)
	}
	return all
}

// reads reports whether an operation is no resource, or the one at a URI.
func reads(cfg *hcl.Config, op *hcl.Operation, uri string) bool {
	for _, r := range cfg.Resources {
		if &r.Operation == op {
			if r.Template == nil {
				return r.URI == uri
			}
			_, ok := r.Template.Match(uri)
			return ok
		}
	}
	return true
}

// PrintCoverage writes how much is covered, and what is not.
func (p *Printer) PrintCoverage(w io.Writer, c *Coverage) error {
	for _, op := range c.Untested {
		fmt.Fprintf(w, "%s:%d: %s has no test\n", p.file(op.Range.File), op.Range.Start.Line, op.Name)
	}
	for _, b := range c.Missing {
		word := "false"
		if b.Holds {
			word = "true"
		}
		text := fmt.Sprintf("never %s: %s", word, b.Text)
		switch {
		case b.Mask != "":
			text = fmt.Sprintf("mask %q is ", b.Mask) + map[bool]string{true: "never lifted: ",
				false: "always lifted: "}[b.Holds] + b.Text
		case b.Step:
			text = map[bool]string{true: "never taken: ", false: "never without "}[b.Holds] + b.Text
		}
		fmt.Fprintf(w, "%s:%d: %s\n", p.file(b.Range.File), b.Range.Start.Line, text)
	}
	if i := c.Imported; i.Targets > 0 {
		fmt.Fprintf(w, "imported and not edited: tools %d/%d, branches %d/%d\n", i.Tested, i.Targets, i.Taken,
			i.Branches)
	}
	_, err := fmt.Fprintf(w, "coverage: tools, prompts and resources %d/%d, branches %d/%d (%.1f %%)\n", c.Tested,
		c.Targets, c.Taken, c.Branches, c.Percent())
	return err
}
