package test

import (
	"context"
	"slices"
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/runtime/stage/result"
)

// newMocks returns the mocks of a test.
func (s *Suite) newMocks(c *Case) *Mocks {
	timeout := c.Timeout
	if c.Tool != nil {
		timeout = min(timeout, c.Tool.Timeout)
	}
	return NewMocks(Setup{
		Kinds: c.config.Kinds, Mocks: c.Mocks, Dir: s.Dir, Secrets: c.secrets(), Live: s.Live, Timeout: timeout,
		Masks: newTapeMasks(reduce(c.config, c)),
	})
}

// secrets returns what no output and no tape of a test holds: the secrets of the configuration, and what sensitive
// inputs hold.
func (c *Case) secrets() (secrets []Secret) {
	for i, text := range c.config.Secrets {
		secrets = append(secrets, Secret{Name: c.config.SecretNames[i], Text: text})
	}
	if c.Tool == nil {
		return secrets
	}
	for _, m := range c.Tool.Input.Members {
		for _, text := range result.SensitiveTexts(nil, c.Args[m.Name], m.Type, false) {
			secrets = append(secrets, Secret{Name: "input." + m.Name, Text: text})
		}
	}
	return secrets
}

// checkTapes reports tapes that cannot be read.
func (c *checker) checkTapes() bool {
	readable := true
	for _, p := range c.mocks.Problems() {
		if p.Broken {
			c.fail(p.Range, p.Summary, "%s", p.Detail)
			readable = false
		}
	}
	return readable
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
		if unused || p.Mock == "" && p.Range != (hcl.Range{}) {
			at = p.Range
		}
		if p.Mock != "" {
			detail += "\nWrite this in the test:\n\n" + strings.TrimSuffix(p.Mock, "\n")
		}
		c.fail(at, p.Summary, "%s", detail)
	}
	return answered
}

func isUnanswered(p Problem) bool { return p.Mock != "" }

// queryError is the failure of a query of an after block.
type queryError struct {
	at  diag.Range
	err error
}

func (e *queryError) Error() string { return e.err.Error() }

// queryAfter runs the queries of the after blocks.
func (r *running) queryAfter(ctx context.Context) error {
	r.out.after = map[string]any{}
	for _, a := range r.After {
		rows, err := r.mocks.Query(ctx, a.Kind, a.Connection, a.Args)
		if err != nil {
			return &queryError{a.Range, err}
		}
		out, list := map[string]any{"row": nil}, make([]any, len(rows))
		for i, row := range rows {
			list[i] = row
		}
		if out["rows"] = list; len(rows) > 0 {
			out["row"] = rows[0]
		}
		r.out.after[a.Name] = out
	}
	return nil
}
