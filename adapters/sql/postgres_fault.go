package sql

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"hatchel/adapters"
)

const (
	saidLost    = "the connection to the database was lost; nothing was changed, try again"
	saidUnknown = "the connection to the database was lost while the change was made final; it is not known whether it was made, so look before trying again"
)

func (p *postgres) fault(err error, asked bool) *adapters.Fault {
	var lost *commitLost
	if errors.As(err, &lost) {
		return faultOf(err, saidUnknown)
	}
	var row *pgproto3.ExceededMaxBodyLenErr
	if errors.As(err, &row) {
		return faultOf(err, "one row of the answer is larger than the 32 MiB that are read; ask for less of it")
	}
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return faultOf(err, saidLost)
	}
	switch e.Code {
	case "23505", "23P01":
		return faultOf(err, uniqueSentence(keyColumns(e)))
	case "23502":
		return faultOf(err, missingSentence(e.ColumnName))
	case "23503", "23001":
		return faultOf(err, saidForeign)
	case "23514":
		return faultOf(err, checkSentence(e.ConstraintName))
	case "22003":
		return faultOf(err, "a number is larger or smaller than its column takes; nothing was changed")
	case "22001":
		return faultOf(err, "a text is longer than its column takes; nothing was changed")
	case "22021", "22P05":
		return faultOf(err, "a text holds a character that the database cannot store")
	case "22P02", "22007", "22008", "22023":
		return faultOf(err, "a value does not read as the type that the database needs there: "+clip(e.Message))
	case "22012":
		return faultOf(err, "the statement divides by zero for these values")
	case "25006":
		return faultOf(err, saidReadOnly)
	case "40P01", "40001":
		return faultOf(err, saidDeadlock)
	case "55P03":
		return faultOf(err, saidBusy)
	case "57014", "25P03":
		return faultOf(err, saidTimeout)
	case "42501":
		return faultOf(err, saidForbidden)
	case "53100":
		return faultOf(err, saidFull)
	case "54000", "53400":
		return faultOf(err, saidTooLarge)
	case "P0001":
		return faultOf(err, "the database refuses it: "+clip(e.Message))
	}
	switch e.Code[:min(2, len(e.Code))] {
	case "42", "0A", "22", "21":
		return mistake(err, e.Message, asked)
	case "57", "08", "53":
		return faultOf(err, saidLost)
	}
	return faultOf(err, saidRefused)
}

// keyColumns are the columns of "Key (a, b)=(1, 2) already exists.", else the constraint's name.
func keyColumns(e *pgconn.PgError) string {
	if rest, ok := strings.CutPrefix(e.Detail, "Key ("); ok {
		if columns, _, ok := strings.Cut(rest, ")=("); ok {
			return columns
		}
	}
	return e.ConstraintName
}

func (p *postgres) reason(err error) string {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return "the connection was lost"
	}
	if e.Hint != "" {
		return e.Message + " (" + e.Hint + ")"
	}
	return e.Message
}
