package sql

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"hatchel/adapters"
)

// postgresMessages are the messages for SQLSTATE codes, and for their classes of two characters,
// that need no details of the error.
var postgresMessages = map[string]string{
	"23503": msgForeignKey, "23001": msgForeignKey,
	"22003": msgNumberRange,
	"22001": msgTextLength,
	"22021": "a string has a character that the database cannot store",
	"22P05": "a string has a character that the database cannot store",
	"22012": msgDivision,
	"25006": msgReadOnly,
	"40P01": msgDeadlock, "40001": msgDeadlock,
	"55P03": msgBusy,
	"57014": msgTimeout, "25P03": msgTimeout,
	"42501": msgForbidden,
	"53100": msgFull,
	"54000": msgTooLarge, "53400": msgTooLarge,
	"57": msgLost, "08": msgLost, "53": msgLost,
}

func (p *postgresDatabase) toFault(err error, byCaller bool) *adapters.Fault {
	var commit *commitLostError
	var row *pgproto3.ExceededMaxBodyLenErr
	var e *pgconn.PgError
	switch {
	case errors.As(err, &commit):
		return newFault(err, msgCommitUnknown)
	case errors.As(err, &row):
		return newFault(err, "one row of the result is larger than the limit of 32 MiB; request less of it")
	case !errors.As(err, &e):
		return newFault(err, msgLost)
	}
	class := e.Code[:min(2, len(e.Code))]
	for _, code := range []string{e.Code, class} {
		if message, ok := postgresMessages[code]; ok {
			return newFault(err, message)
		}
	}
	switch e.Code {
	case "23505", "23P01":
		return newFault(err, uniqueMessage(keyColumns(e)))
	case "23502":
		return newFault(err, notNullMessage(e.ColumnName))
	case "23514":
		return newFault(err, checkMessage(e.ConstraintName))
	case "22P02", "22007", "22008", "22023":
		return newFault(err, "a value does not have the type that the database requires: "+quoteEngine(e.Message))
	case "P0001":
		return newFault(err, "the database rejected it: "+quoteEngine(e.Message))
	}
	switch class {
	case "42", "0A", "22", "21":
		return statementFault(err, e.Message, byCaller)
	}
	return newFault(err, msgRejected)
}

// keyColumns returns the columns in "Key (a, b)=(1, 2) already exists.", or the name of the
// constraint.
func keyColumns(e *pgconn.PgError) string {
	if rest, ok := strings.CutPrefix(e.Detail, "Key ("); ok {
		if columns, _, ok := strings.Cut(rest, ")=("); ok {
			return columns
		}
	}
	return e.ConstraintName
}

func (p *postgresDatabase) authorMessage(err error) string {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return lostForAuthor
	}
	if e.Hint != "" {
		return e.Message + " (" + e.Hint + ")"
	}
	return e.Message
}
