package sql

import (
	"context"
	"errors"
	"slices"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/hcl/template/sqltext"
)

// Probe implements adapters.Prober. It prepares every rendering of the statements that sqltext samples,
// and returns the type of a query's rows if all renderings agree on it.
func (a *action) Probe(ctx context.Context) (*schema.Type, error) {
	if a.Statement != nil {
		return nil, a.probeRole(ctx)
	}
	refused := new(adapters.RefusedError)
	var rows *schema.Type
	agree := true
	for _, s := range a.statements() {
		for n, sample := range s.Samples() {
			t, err := a.probe(ctx, s, sample)
			if mistake, ok := errors.AsType[statementError](err); ok {
				refused.Statements = append(refused.Statements, sample.Text)
				refused.Errs = append(refused.Errs, mistake.error)
				break
			}
			if err != nil {
				return nil, err
			}
			if n > 0 && (rows == nil || t.String() != rows.String()) {
				agree = false
			}
			rows = t
		}
	}
	switch {
	case refused.Errs != nil:
		return nil, refused
	case a.Query == nil || !agree || rows == nil:
		return nil, nil
	}
	return schema.ListOf(rows), nil
}

// Asks implements adapters.Prober.
func (a *action) Asks(statement string) bool {
	return slices.ContainsFunc(a.statements(), func(s *sqltext.Program) bool {
		return slices.ContainsFunc(s.Samples(), func(sample sqltext.Sample) bool { return sample.Text == statement })
	})
}

// probeRole checks that the role may run statements of callers.
func (a *action) probeRole(ctx context.Context) error {
	info, err := a.db.describe(ctx, "SELECT 1", false)
	switch {
	case err != nil:
		return pingError(ctx, err)
	case info.superuser:
		return hcl.Blame(&a.Statement, "The database role of this connection is a superuser, whom a read-only "+
			"transaction does not restrict, so statements of callers are disabled. Use a role that can only read: "+
			"CREATE ROLE agent LOGIN PASSWORD '…'; GRANT pg_read_all_data TO agent.")
	}
	return nil
}

// statementError is a mistake in a statement.
type statementError struct{ error }

// probe prepares one rendering of a statement, and returns the type of its rows.
func (a *action) probe(ctx context.Context, s *sqltext.Program, sample sqltext.Sample) (*schema.Type, error) {
	info, err := a.db.describe(ctx, sample.Text, a.Exec != nil)
	if down := new(unreachableError); errors.As(err, &down) || err != nil && ctx.Err() != nil {
		return nil, pingError(ctx, err)
	}
	if err != nil {
		reason := quoteEngine(authorMessage(err, a.dialect))
		blamed := hcl.Blame(s, "The database rejects %s: %s.", sampleName(sample), reason)
		if r, _ := readReport(err); !r.isMistake() {
			return nil, blamed
		}
		return nil, statementError{blamed}
	}
	if info.params != sample.Params {
		return nil, statementError{hcl.Blame(s, "The database finds %d parameters in %s, but there are %d values.",
			info.params, sampleName(sample), sample.Params)}
	}
	return rowType(info.columns), nil
}

func sampleName(s sqltext.Sample) string {
	if s.Label != "" {
		return "the statement with " + s.Label
	}
	return "the statement"
}

func rowType(columns []column) *schema.Type {
	if columns == nil {
		return nil
	}
	var members []*schema.Member
	for _, c := range newResultColumns(columns).columns {
		members = append(members, &schema.Member{Name: c.name, Type: c.typ})
	}
	return schema.ObjectOf(members...)
}
