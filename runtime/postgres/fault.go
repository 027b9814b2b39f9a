package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// Refused is an error in words for the operator.
type Refused string

func (r Refused) Error() string { return string(r) }

// Unreadable is why an address is none.
const Unreadable = Refused("its address cannot be read. It is written " +
	"postgres://user:password@host:5432/database?sslmode=verify-full")

// ErrAway is what passes by itself. Whether what was tried took effect is not known.
var ErrAway = errors.New("the database does not answer")

// away is a refusal that passes by itself.
type away struct{ Refused }

func (away) Is(target error) bool { return target == ErrAway }

const takesNoWrites = "25006"

// ReadOnly reports whether a server does not take writes, as one that was the first and is no more:
// another one does.
func ReadOnly(err error) bool {
	var told *pgconn.PgError
	return errors.As(err, &told) && told.Code == takesNoWrites
}

// faults are the conditions of the server that an operator can do something about, by SQLSTATE.
// https://www.postgresql.org/docs/current/errcodes-appendix.html
var faults = map[string]error{
	"28000": Refused("it refuses the user"),
	"28P01": Refused("it refuses the user or the password"),
	"3D000": Refused("it has no such database"),
	"3F000": Refused("its search_path names no schema for the tables"),
	"42501": Refused("its user may not make, or not use, the tables: grant CREATE on the schema, or " +
		"the tables themselves"),
	takesNoWrites: away{"it takes no writes"},
	"53300":       away{"it takes no more connections"},
	"53100":       away{"no space is left for it"},
	"53200":       away{"it has no memory left"},
	"55P03":       away{"it does not answer in time"},
	"57014":       away{"it does not answer in time"},
	"57P01":       away{"it was stopped"},
	"57P02":       away{"it was stopped"},
	"57P03":       away{"it is starting or stopping"},
	"40P01":       away{"it was too busy"},
	"40001":       away{"it was too busy"},
}

// Fault says for an operator what is wrong; nil for nothing. What passes by itself is ErrAway. The
// texts of the driver stay here: they may hold parts of the address.
func Fault(ctx context.Context, err error) error {
	var known Refused
	var gone away
	var told *pgconn.PgError
	var connecting *pgconn.ConnectError
	switch {
	case err == nil, errors.As(err, &known), errors.As(err, &gone):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &told):
		if fault := faults[told.Code]; fault != nil {
			return fault
		}
		return Refused("it has refused a statement with SQLSTATE " + told.Code)
	case errors.As(err, &connecting):
		return away{"it cannot be reached"}
	case errors.Is(err, context.DeadlineExceeded):
		return away{"it does not answer in time"}
	}
	return away{"the connection to it was lost"}
}
