package state

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"hatchel/runtime/postgres"
)

// unavailableError is an error that is [ErrUnavailable].
type unavailableError struct{ error }

func (unavailableError) Is(target error) bool { return target == ErrUnavailable }

// isUndefined reports whether a statement failed because a table or a column does not exist.
func isUndefined(err error) bool {
	const undefinedTable, undefinedColumn = "42P01", "42703"
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == undefinedTable || e.Code == undefinedColumn)
}

// postgresError turns an error of the driver into one for the operator.
func postgresError(ctx context.Context, err error) error {
	if known := operatorError(""); errors.As(err, &known) || errors.Is(err, ErrFull) || errors.Is(err, ErrKeyTaken) {
		return err
	}
	fault := postgres.DescribeError(ctx, err)
	if errors.Is(fault, postgres.ErrUnavailable) {
		return unavailableError{fault}
	}
	return fault
}
