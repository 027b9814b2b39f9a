package test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"hatchel/cmd/hatchel/test/testblock"
	"hatchel/hcl"
	"hatchel/runtime"
	"hatchel/runtime/stage/failure"
)

// searchable are the configurations in which search tests search. Each is compiled once, because the index of a search
// is of all its tools.
type searchable struct {
	suite *Suite

	mu       sync.Mutex
	compiled map[*hcl.Config]*compiled // guarded by mu
}

type compiled struct {
	generation *runtime.Generation // nil with mistakes
	diags      hcl.Diagnostics
	mocks      *Mocks
}

// of returns the compiled configuration of a case. No backend of it is opened.
func (s *searchable) of(ctx context.Context, c *Case) *compiled {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.compiled[c.config]
	if found == nil {
		cfg := *c.config
		cfg.Audit, cfg.State, cfg.TLS, cfg.Auth, cfg.Approvals, cfg.Webhooks = nil, nil, nil, nil, nil, nil
		cfg.Tests, cfg.Sources = nil, nil
		found = &compiled{mocks: s.suite.newMocks(c)}
		found.generation, found.diags = runtime.Compile(context.WithoutCancel(ctx), &cfg, runtime.Build{
			Set: s.suite.Set, Dir: s.suite.Dir, Version: s.suite.Version, Mocks: found.mocks,
		})
		s.compiled[c.config] = found
	}
	return found
}

func (s *searchable) close() {
	for _, c := range s.compiled {
		if c.generation != nil {
			c.generation.Close()
		}
		c.mocks.Close()
	}
}

// runSearch asks the question of a search test, and sets which of the expected tools are not found.
func (s *searchable) runSearch(ctx context.Context, out *Result) {
	c := out.Case
	config := s.of(ctx, c)
	r := &running{Case: c, mocks: config.mocks}
	check := &checker{running: r, suite: s.suite}
	defer func() { out.Failures = check.failures.Scrub(c.config.Secrets) }()
	if config.generation == nil {
		check.failures = config.diags
		return
	}
	err := failure.Try(func() error { return check.search(ctx, config.generation, out) })
	if err != nil {
		check.fail(c.Range, "Search not made", "%s", err)
	}
}

func (c *checker) search(ctx context.Context, g *runtime.Generation, out *Result) error {
	caller, err := c.caller()
	if err != nil {
		return err
	}
	names := []string{} // of all that match
	for _, found := range g.Views.Of(c.Target).Search(ctx, caller, c.Name, len(c.config.Tools)) {
		names = append(names, found.Name)
	}
	toolset := c.config.Toolsets[slices.IndexFunc(c.config.Toolsets, func(t *hcl.Toolset) bool {
		return t.Name == c.Target
	})]
	out.Found = names[:min(toolset.Search.Results, len(names))]
	miss := func(expected testblock.Found, format string, args ...any) {
		c.fail(expected.Range, "Tool not found", format, args...)
	}
	for _, expected := range c.Finds {
		place := slices.Index(names, expected.Name) + 1
		switch {
		case place == 0 && len(names) == 0:
			miss(expected, "The search finds nothing: no word of the question is in a tool that the caller may see.")
		case place == 0:
			miss(expected, "The search finds %s. No word of the question is in the name, the title, the description "+
				"or the inputs of %q, or the caller may not see it.", list(out.Found), expected.Name)
		case place > len(out.Found):
			miss(expected, "The search finds %s; %q is at place %d. Its description may lack words of the question, "+
				"or those of the others may have too many.", list(out.Found), expected.Name, place)
		}
	}
	return nil
}

func list(names []string) string { return strings.Join(names, ", ") }

// Recall returns which part of the expected tools the search tests find, as the mean of all that were run, and how many
// these are.
func (r *Report) Recall() (recall float64, tests int) {
	for _, result := range r.Results {
		if result.Kind == "search" && result.Status != Skipped {
			recall += result.recall()
			tests++
		}
	}
	if tests == 0 {
		return 0, 0
	}
	return recall / float64(tests), tests
}

// recall returns which part of the expected tools a search test has found.
func (r *Result) recall() float64 {
	found := 0
	for _, expected := range r.Finds {
		if slices.Contains(r.Found, expected.Name) {
			found++
		}
	}
	return float64(found) / float64(len(r.Finds))
}

// recallLine is a line about the search tests; empty without any.
func (r *Report) recallLine() string {
	recall, tests := r.Recall()
	if tests == 0 {
		return ""
	}
	return fmt.Sprintf("recall %.2f of %d searches", recall, tests)
}
