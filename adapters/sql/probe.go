package sql

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/hcl/template/sqltext"
)

// Probe implements adapters.Prober. It prepares every rendering of the statements that sqltext samples, as each role on
// each instance, and returns the type of a query's rows if all of these agree on it. An instance that does not answer
// holds the others up no longer than itself.
func (a *action) Probe(ctx context.Context) (*schema.Type, error) {
	identities := a.db.identities()
	results := make([]probeResult, len(identities))
	var instances sync.WaitGroup
	for from, to := 0, 0; from < len(identities); from = to {
		for to < len(identities) && identities[to].instance == identities[from].instance {
			to++
		}
		instances.Go(func() {
			for i := from; i < to; i++ {
				results[i] = a.probeAs(ctx, identities[i])
			}
		})
	}
	instances.Wait()
	refused, agreed := new(adapters.RefusedError), results[0].rows
	var unchecked, ofConnection error
	for _, r := range results {
		for i, text := range r.refused.Statements {
			if !slices.Contains(refused.Statements, text) {
				refused.Statements = append(refused.Statements, text)
				refused.Errs = append(refused.Errs, r.refused.Errs[i])
			}
		}
		if errors.As(r.err, new(*adapters.ConnectionError)) {
			ofConnection = cmp.Or(ofConnection, r.err)
		} else {
			unchecked = cmp.Or(unchecked, r.err)
		}
		if agreed != nil && (r.rows == nil || r.rows.String() != agreed.String()) {
			agreed = nil
		}
	}
	switch {
	case refused.Errs != nil:
		return nil, refused
	case unchecked != nil:
		return nil, unchecked
	case ofConnection != nil:
		return nil, ofConnection
	case a.Query == nil || agreed == nil:
		return nil, nil
	}
	return schema.ListOf(agreed), nil
}

// probeResult is what an engine says of the statements under one identity.
type probeResult struct {
	rows    *schema.Type // if all renderings agree on it
	refused adapters.RefusedError
	err     error // why a statement could not be checked
}

// probeAs prepares the statements under one identity.
func (a *action) probeAs(ctx context.Context, as identity) (r probeResult) {
	if a.Statement != nil {
		r.err = a.probeRole(ctx, as)
		return r
	}
	for _, s := range a.statements() {
		for n, sample := range s.Samples() {
			t, err := a.probe(ctx, as, s, sample)
			if mistake, ok := errors.AsType[statementError](err); ok {
				r.refused.Statements = append(r.refused.Statements, sample.Text)
				r.refused.Errs = append(r.refused.Errs, mistake.error)
				break
			}
			switch {
			case err != nil:
				r.err = err
				return r
			case n == 0:
				r.rows = t
			case r.rows != nil && (t == nil || t.String() != r.rows.String()):
				r.rows = nil
			}
		}
	}
	if r.refused.Errs != nil {
		return r
	}
	_, err := a.follow(ctx, as)
	if found, ok := errors.AsType[*definitionError](err); ok {
		r.refused = found.RefusedError
	} else if err != nil {
		r.err = &adapters.ConnectionError{Cause: pingError(ctx, err)}
	}
	return r
}

// Asks implements adapters.Prober.
func (a *action) Asks(statement string) bool {
	return slices.ContainsFunc(a.statements(), func(s *sqltext.Program) bool {
		return slices.ContainsFunc(s.Samples(), func(sample sqltext.Sample) bool { return sample.Text == statement })
	})
}

// probeRole checks that the role may run statements of callers.
func (a *action) probeRole(ctx context.Context, as identity) error {
	info, err := a.db.describe(ctx, as, "SELECT 1", false)
	switch {
	case err != nil:
		return &adapters.ConnectionError{Cause: pingError(ctx, err)}
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
func (a *action) probe(
	ctx context.Context, as identity, s *sqltext.Program, sample sqltext.Sample,
) (*schema.Type, error) {
	info, err := a.db.describe(ctx, as, sample.Text, a.Exec != nil)
	if errors.As(err, new(*unreachableError)) || errors.As(err, new(*identityError)) || err != nil && ctx.Err() != nil {
		return nil, &adapters.ConnectionError{Cause: pingError(ctx, err)}
	}
	if err != nil {
		reason := quoteEngine(authorMessage(err, a.dialect))
		blamed := hcl.Blame(s, "The database rejects %s%s: %s.", sampleName(sample), as.phrase(a.connection), reason)
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
