package postgres

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"hatchel/internal/operator"
)

// ErrMalformedAddress is the error of a malformed address.
const ErrMalformedAddress = operator.Error("its address cannot be parsed. " +
	"The format is postgres://user:password@host:5432/database?sslmode=verify-full")

const errBlanks = operator.Error("its address has blanks or line breaks around it: remove them, also from the secret " +
	"that it comes from")

// ErrUnavailable is the error of a database that is unavailable for now. Whether the operation took
// effect is not known.
var ErrUnavailable = errors.New("the store is unavailable")

// unavailable is an error in words for the operator that is [ErrUnavailable].
type unavailable string

func (u unavailable) Error() string { return string(u) }

func (unavailable) Is(target error) bool { return target == ErrUnavailable }

const (
	readOnlyTransaction = "25006"
	protocolViolation   = "08P01"
)

// IsReadOnly reports whether a server does not accept writes, as after a failover: then another one
// does.
func IsReadOnly(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == readOnlyTransaction
}

// errPooler is the error of a pooler without settings and prepared statements of a connection.
const errPooler = operator.Error("a pooler in between does not keep the settings and statements of a connection: " +
	"name an address without it, or add one to the state block as listen")

// faults are the errors that an operator can do something about, by SQLSTATE:
// https://www.postgresql.org/docs/current/errcodes-appendix.html
var faults = map[string]error{
	"28000": operator.Error("it rejects the user"),
	"28P01": operator.Error("it rejects the user or the password"),
	"3D000": operator.Error("it has no such database"),
	"3F000": operator.Error("its search_path has no schema for the tables"),
	"42501": operator.Error("its user may not create, or not use, the tables: " +
		"grant CREATE on the schema, or access to the tables"),
	readOnlyTransaction: unavailable("it does not accept writes"),
	"53300":             unavailable("it accepts no more connections"),
	"53100":             unavailable("its disk is full"),
	"53200":             unavailable("it is out of memory"),
	"55P03":             unavailable("it does not answer in time"),
	"57014":             unavailable("it does not answer in time"),
	"57P01":             unavailable("it was stopped"),
	"57P02":             unavailable("it was stopped"),
	"57P03":             unavailable("it is starting or stopping"),
	"26000":             errPooler, // a prepared statement is missing
	"42P05":             errPooler, // or exists already
	"40P01":             unavailable("it was too busy"),
	"40001":             unavailable("it was too busy"),
}

// DescribeError turns an error of the driver into one for the operator. It is [ErrUnavailable] when the database is
// unavailable for now. The texts of the driver are not used, because they may hold parts of the
// address.
func DescribeError(ctx context.Context, err error) error {
	var e *pgconn.PgError
	switch {
	case err == nil, errors.As(err, new(operator.Error)), errors.As(err, new(unavailable)):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &e) && e.Code == protocolViolation && strings.Contains(e.Message, "startup parameter"):
		return errPooler
	case errors.As(err, &e):
		if fault := faults[e.Code]; fault != nil {
			return fault
		}
		return operator.Error("it has rejected a statement with SQLSTATE " + e.Code)
	case errors.As(err, new(*pgconn.ConnectError)):
		return unavailable("it cannot be reached")
	case errors.Is(err, context.DeadlineExceeded):
		return unavailable("it does not answer in time")
	}
	return unavailable("the connection to it was lost")
}
