package state

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"hatchel/runtime/postgres"
)

// away is what passes by itself: ErrAway.
type away struct{ error }

func (away) Is(target error) bool { return target == ErrAway }

// missing reports whether a statement was refused because a table, or a column of one, is not there.
func missing(err error) bool {
	const undefinedTable, undefinedColumn = "42P01", "42703"
	var told *pgconn.PgError
	return errors.As(err, &told) && (told.Code == undefinedTable || told.Code == undefinedColumn)
}

// postgresFault says for an operator what is wrong.
func postgresFault(ctx context.Context, err error) error {
	if known := refused(""); errors.As(err, &known) || errors.Is(err, ErrFull) || errors.Is(err, ErrTaken) {
		return err
	}
	fault := postgres.Fault(ctx, err)
	if errors.Is(fault, postgres.ErrAway) {
		return away{fault}
	}
	return fault
}
