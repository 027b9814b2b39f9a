package tester

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/hcl/testblock"
)

// Coverage is which tools, prompts and resources have a test, and which branches the tests take. The two ways of a
// condition are two branches.
type Coverage struct {
	Tested, Targets int
	Taken, Branches int
	Untested        []*hcl.Operation
	Missing         []MissedBranch
}

// MissedBranch is a way of a condition that no test takes.
type MissedBranch struct {
	testblock.Branch
	Holds bool // the way of a condition that is true
}

// Percent is how many of the branches are taken; 100 without branches.
func (c *Coverage) Percent() float64 {
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
	for _, op := range operations(cfg) {
		if c.Targets++; tested[op.Range] {
			c.Tested++
		} else {
			c.Untested = append(c.Untested, op)
		}
	}
	for _, b := range testblock.Branches(cfg) {
		for i, holds := range []bool{false, true} {
			if c.Branches++; r.Branches[b.Range][i] > 0 {
				c.Taken++
			} else {
				c.Missing = append(c.Missing, MissedBranch{b, holds})
			}
		}
	}
	slices.SortStableFunc(c.Missing, func(a, b MissedBranch) int { return compareRanges(a.Range, b.Range) })
	return c
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
		if b.Step {
			text = map[bool]string{true: "never taken: ", false: "never without "}[b.Holds] + b.Text
		}
		fmt.Fprintf(w, "%s:%d: %s\n", p.file(b.Range.File), b.Range.Start.Line, text)
	}
	_, err := fmt.Fprintf(w, "coverage: tools, prompts and resources %d/%d, branches %d/%d (%.1f %%)\n", c.Tested,
		c.Targets, c.Taken, c.Branches, c.Percent())
	return err
}
