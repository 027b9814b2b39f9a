package state

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// unreadable is why an address is none.
const unreadable = refused("its address cannot be read. It is written postgres://user:password@host:5432/database?sslmode=verify-full")

// away is a refusal that passes by itself: ErrAway.
type away struct{ refused }

func (away) Is(target error) bool { return target == ErrAway }

const takesNoWrites = "25006"

// readOnly reports whether a server does not take writes, as one that was the first and is no more.
func readOnly(err error) bool {
	var told *pgconn.PgError
	return errors.As(err, &told) && told.Code == takesNoWrites
}

// postgresFaults are the conditions of the server that an operator can do something about, by SQLSTATE. https://www.postgresql.org/docs/current/errcodes-appendix.html
var postgresFaults = map[string]error{
	"28000":       refused("it refuses the user"),
	"28P01":       refused("it refuses the user or the password"),
	"3D000":       refused("it has no such database"),
	"3F000":       refused("its search_path names no schema for the tables"),
	"42501":       refused("its user may not make, or not use, the tables: grant CREATE on the schema, or the tables themselves"),
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

// postgresFault says for an operator what is wrong. The texts of the driver stay here: they may hold parts of the address.
func postgresFault(ctx context.Context, err error) error {
	var known refused
	var gone away
	var told *pgconn.PgError
	var connecting *pgconn.ConnectError
	switch {
	case err == nil || errors.Is(err, ErrFull):
		return err
	case errors.As(err, &known), errors.As(err, &gone):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &told):
		if fault := postgresFaults[told.Code]; fault != nil {
			return fault
		}
		return refused("it has refused a statement with SQLSTATE " + told.Code)
	case errors.As(err, &connecting):
		return away{"it cannot be reached"}
	case errors.Is(err, context.DeadlineExceeded):
		return away{"it does not answer in time"}
	}
	return away{"the connection to it was lost"}
}
