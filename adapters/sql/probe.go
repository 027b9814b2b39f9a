package sql

import (
	"context"
	"errors"

	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/hcl/template/sqltext"
)

// Probe implements adapters.Prober. It prepares every rendering of the statements that sqltext samples,
// and returns the type of a query's rows if all renderings agree on it.
func (a *action) Probe(ctx context.Context) (*schema.Type, error) {
	var errs []error
	var rows *schema.Type
	agree := true
	for _, s := range a.statements() {
		for n, sample := range s.Samples() {
			info, err := a.db.describe(ctx, sample.Text, a.Exec != nil)
			if err != nil {
				if down := new(unreachableError); errors.As(err, &down) || ctx.Err() != nil {
					return nil, pingError(ctx, err)
				}
				errs = append(errs, hcl.Blame(s, "The database rejects %s: %s.",
					sampleName(sample), quoteEngine(authorMessage(err, a.dialect))))
				break
			}
			if info.params != sample.Params {
				errs = append(errs, hcl.Blame(s, "The database finds %d parameters in %s, but there are %d values.",
					info.params, sampleName(sample), sample.Params))
				break
			}
			t := rowType(info.columns)
			if n > 0 && (rows == nil || t.String() != rows.String()) {
				agree = false
			}
			rows = t
		}
	}
	if errs != nil || a.Query == nil || !agree || rows == nil {
		return nil, errors.Join(errs...)
	}
	return schema.ListOf(rows), nil
}

func sampleName(s sqltext.Sample) string {
	if s.Label != "" {
		return "the statement when " + s.Label
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
