package sql

import (
	"context"
	"errors"

	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/hcl/template/sqltext"
)

// Probe prepares every rendering of the statements that sqltext samples, and returns the type of a query's rows when all renderings agree on it.
func (a *action) Probe(ctx context.Context) (*schema.Type, error) {
	var errs []error
	var rows *schema.Type
	agreed := true
	for _, p := range a.programs() {
		for n, s := range p.Samples() {
			d, err := a.db.describe(ctx, s.Text, a.Exec != nil)
			if err != nil {
				if down := new(unreachable); errors.As(err, &down) || ctx.Err() != nil {
					return nil, pinged(ctx, err)
				}
				errs = append(errs, a.wrong(p, s, err))
				break
			}
			if d.params != s.Params {
				errs = append(errs, hcl.Blame(p, "The database finds %d parameters in%s, and there are %d values.", d.params, which(s), s.Params))
				break
			}
			t := rowType(d.columns)
			if n > 0 && (rows == nil || t.String() != rows.String()) {
				agreed = false
			}
			rows = t
		}
	}
	if errs != nil || a.Query == nil || !agreed || rows == nil {
		return nil, errors.Join(errs...)
	}
	return schema.ListOf(rows), nil
}

// wrong says to the author what the database has against a rendering.
func (a *action) wrong(p *sqltext.Program, s sqltext.Sample, err error) error {
	return hcl.Blame(p, "The database refuses%s: %s.", which(s), clip(a.db.reason(err)))
}

// which names a rendering.
func which(s sqltext.Sample) string {
	if s.Label != "" {
		return " the statement when " + s.Label
	}
	return " the statement"
}

func rowType(columns []column) *schema.Type {
	if columns == nil {
		return nil
	}
	h := newHeading(columns)
	members := make([]*schema.Member, len(h.columns))
	for i, c := range h.columns {
		members[i] = &schema.Member{Name: c.name, Type: c.typ}
	}
	return schema.ObjectOf(members...)
}
