// Package test runs the tests of a configuration directory: it loads it once for each set of variables, calls each
// tool with mocks in place of the systems of its backends, compares what has come of the call with what the test
// expects, and prints it. Mocks answer the questions of the backends, and record those that they ask for real on
// tapes. Test blocks are decoded by package testblock, because editors, the reference and hatchel validate read
// tests without running them.
package test

import (
	"cmp"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"hatchel/adapters"
	"hatchel/cmd/hatchel/test/testblock"
	"hatchel/hcl"
	"hatchel/hcl/diag"
)

// Suite is the tests of a configuration directory.
type Suite struct {
	Dir     string // absolute
	FS      fs.FS
	Set     adapters.Set
	Version string
	Load    hcl.Options // without variables and secrets, but those of Live
	Live    *Live       // use of real backends where no mock answers; nil for none

	Cases       []*Case // in the order of the files
	Diagnostics hcl.Diagnostics
	Sources     map[string][]byte

	configs []*hcl.Config // of the cases, one for each set of variables
	base    loaded        // without variables and secrets, for drafts
}

// loaded is a configuration, and what the load has reported.
type loaded struct {
	config *hcl.Config
	diags  hcl.Diagnostics
}

// Case is one test and the configuration that it is run with.
type Case struct {
	*testblock.Test
	config *hcl.Config
}

// File is the file of the test.
func (c *Case) File() string { return c.Range.File }

// ReadCases loads the directory and decodes its tests. With errors among the Diagnostics nothing can be run.
func (s *Suite) ReadCases() {
	base, diags := s.load(nil, nil)
	s.base, s.Sources = loaded{base, diags}, base.Sources
	groups := groupBlocks(base.Tests)
	if len(groups) == 0 {
		s.Diagnostics = diags
		return
	}
	s.Diagnostics = testblock.Duplicates(base.Tests)
	for _, g := range groups {
		cfg, found := base, diags
		if len(g.vars)+len(g.secrets) > 0 {
			cfg, found = s.load(g.vars, g.secrets)
		}
		g.hasTestSecrets = s.Live == nil && len(cfg.Secrets) > len(g.secrets)
		if found.HasErrors() {
			s.Diagnostics = append(s.Diagnostics, g.explain(found)...)
			continue
		}
		var blocks []hcl.TestBlock
		for _, i := range g.indexes {
			blocks = append(blocks, cfg.Tests[i])
		}
		tests, mistakes := testblock.Decode(cfg, blocks)
		s.Diagnostics = append(s.Diagnostics, mistakes...)
		s.configs = append(s.configs, cfg)
		for _, t := range tests {
			s.Cases = append(s.Cases, &Case{t, cfg})
		}
	}
	s.Diagnostics = slices.CompactFunc(s.Diagnostics.Sort(), func(a, b *hcl.Diagnostic) bool {
		return a.Subject == b.Subject && a.Detail == b.Detail
	})
	slices.SortStableFunc(s.Cases, func(a, b *Case) int {
		return cmp.Or(strings.Compare(a.File(), b.File()), a.Range.Start.Byte-b.Range.Start.Byte)
	})
}

func (s *Suite) load(vars, secrets map[string]string) (*hcl.Config, hcl.Diagnostics) {
	options := s.Load
	options.Dir, options.Vars = s.Dir, vars
	cfg, diags := hcl.Load(s.FS, s.Set.Kinds(), options.ForTests(secrets, s.Live != nil))
	return cfg, slices.DeleteFunc(diags, func(d *hcl.Diagnostic) bool { return d.Severity != hcl.Error })
}

// blockGroup is the test blocks with the same variables and secrets.
type blockGroup struct {
	vars, secrets map[string]string
	first         hcl.TestBlock
	// a secret has the value that it has in tests
	hasTestSecrets bool
	indexes        []int
}

func groupBlocks(blocks []hcl.TestBlock) (groups []*blockGroup) {
	known := map[string]*blockGroup{}
	for i, b := range blocks {
		vars, secrets := testblock.Set(b)
		key := fmt.Sprint(vars, secrets) // maps are printed in the order of their keys
		g := known[key]
		if g == nil {
			g = &blockGroup{vars: vars, secrets: secrets, first: b}
			known[key], groups = g, append(groups, g)
		}
		g.indexes = append(g.indexes, i)
	}
	return groups
}

// explain returns the mistakes of a load with what a test can do about a variable without a value.
func (g *blockGroup) explain(diags hcl.Diagnostics) hcl.Diagnostics {
	secret := ""
	if g.hasTestSecrets {
		secret = " In a test, the value of a secret is \"test-\" and its name. Write secrets = { … } in the test to " +
			"give it another one."
	}
	return explain(diags, fmt.Sprintf("The variable has no default, and the test %q does not set it: write vars = "+
		"{ … } in the test. The environment is not read.", g.first.Labels[0]), secret)
}

// DraftDiagnostics returns the mistakes of the configuration with the variables and secrets of a draft. With errors
// among them nothing can be drafted.
func (s *Suite) DraftDiagnostics() hcl.Diagnostics {
	return explain(s.base.diags, "The variable has no default, and a draft reads no environment: give the variable a "+
		"default while the draft is made, and write vars = { … } in the test.", "")
}

// explain returns the mistakes of a load. variable is the detail of a variable without a value, and secret is added to
// the detail of a value that is not valid.
func explain(diags hcl.Diagnostics, variable, secret string) (out hcl.Diagnostics) {
	for _, d := range diags {
		again := *d
		switch d.Code {
		case diag.MissingVariable:
			again.Detail = variable
		case diag.MissingSecret: // only --live reads secrets
			again.Detail += " A test with --live reads the secrets of a server: set this one, or write secrets = " +
				"{ … } in the test. Without --live no secret is read."
		case diag.InvalidSecret:
			again.Detail += secret
		}
		out = append(out, &again)
	}
	return out
}

// finds reports whether the case is a search that has to find a tool.
func (c *Case) finds(tool string) bool {
	return slices.ContainsFunc(c.Finds, func(f testblock.Found) bool { return f.Name == tool })
}

// Select keeps the cases whose names match and that call the tool, prompt or resource, or search for the tool; an empty
// tool selects all.
func (s *Suite) Select(run *regexp.Regexp, tool string) {
	s.Cases = slices.DeleteFunc(s.Cases, func(c *Case) bool {
		return run != nil && !run.MatchString(c.Name) || tool != "" && c.Target != tool && !c.finds(tool)
	})
}
