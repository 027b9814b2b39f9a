package tester

import (
	"fmt"
	"slices"
	"strings"

	"hatchel/runtime/toolstest"
)

// newMocks returns the mocks of a test.
func (s *Suite) newMocks(c *Case) *toolstest.Mocks {
	list := make([]*toolstest.Mock, len(c.Mocks))
	for i, m := range c.Mocks {
		list[i] = &toolstest.Mock{
			Kind: m.Kind, Connection: m.Connection, Request: m.Request, Replies: m.Replies, Times: m.Times,
			Range: m.Range,
		}
	}
	return toolstest.New(list, s.Dir, c.config.Secrets)
}

// checkMocks reports what had no answer, and the mocks that were not used. It reports whether the call went as the
// mocks say.
func (c *checker) checkMocks() bool {
	answered := true
	problems := c.mocks.Problems()
	for _, p := range problems {
		unused := p.Unused
		if answered = answered && unused; unused && slices.ContainsFunc(problems, isUnanswered) {
			continue // because what had no answer has ended the call
		}
		at, detail := c.Range, p.Detail
		if unused || p.Mock == "" {
			at = p.Range
		}
		if p.Mock != "" {
			detail += "\nWrite this in the test:\n\n" + strings.TrimSuffix(p.Mock, "\n")
		}
		c.fail(at, p.Summary, "%s", detail)
	}
	return answered
}

func isUnanswered(p toolstest.Problem) bool { return p.Mock != "" }

// queryAfter runs the queries of the after blocks.
func (r *running) queryAfter() error {
	r.out.after = map[string]any{}
	for _, a := range r.After {
		rows, err := r.mocks.Query(a.Connection, a.Query)
		if err != nil {
			return fmt.Errorf("the query of after %q fails: %w", a.Name, err)
		}
		out := map[string]any{"rows": rows, "row": nil}
		if len(rows) > 0 {
			out["row"] = rows[0]
		}
		r.out.after[a.Name] = out
	}
	return nil
}
