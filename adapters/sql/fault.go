package sql

import (
	"errors"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"hatchel/adapters"
	"hatchel/hcl/template/sqltext"
)

// Messages for the model. In some of them, % is the name of a key, a column or a constraint. A message that
// ends with a colon is followed by what the engine reports.
const (
	msgReadOnly    = "the statement would write, but this tool only reads; nothing was changed"
	msgBusy        = "the database is busy with another change; nothing was changed, try again"
	msgDeadlock    = "the change conflicted with another one and was rolled back; try again"
	msgTimeout     = "the statement exceeded the time limit of the database; request less data at a time"
	msgFull        = "the database has no space left; nothing was changed"
	msgTooLarge    = "a value is larger than the database accepts"
	msgRowTooLarge = "one row of the result is larger than the limit of 32 MiB; request less of it"
	msgForbidden   = "the database account that the server uses lacks the permission for this"
	msgRejected    = "the database rejected the statement"
	msgRaised      = "the database rejected it: "
	msgNumberRange = "a number is out of range for its column; nothing was changed"
	msgTextLength  = "a string is longer than its column allows; nothing was changed"
	msgCharacter   = "a string has a character that the database cannot store"
	msgDivision    = "the statement divides by zero for these values"
	msgUnique      = "a row with the same % already exists; nothing was changed"
	msgNotNull     = "% must not be null; nothing was changed"
	msgCheck       = "a value violates the constraint % of the database; nothing was changed"
	msgStatement   = "the statement was rejected: "
	msgLost        = "the connection to the database was lost; nothing was changed, try again"

	msgCommitUnknown = "the connection to the database was lost during the commit; it is not known whether the " +
		"change was made, so check before trying again"
	msgForeignKey = "the values refer to a row that does not exist, or other rows refer to the row; " +
		"nothing was changed"
	msgToolMistake = "the statement of this tool does not match the database; this is a mistake in the tool's " +
		"definition, not in the arguments"
)

// unnamed are the messages to use instead of those with a name if the name is not safe.
var unnamed = map[string]string{
	msgUnique:  "such a row already exists; nothing was changed",
	msgNotNull: "a required value is null; nothing was changed",
	msgCheck:   "a value violates a constraint of the database; nothing was changed",
}

// safeName matches names of tables, columns and constraints. Other texts could hold the definition
// of a rule, or data.
var safeName = regexp.MustCompile(`^[\pL\pN_$.,"\x60 ()-]{1,200}$`)

// toFault converts an error of an engine. It quotes a mistake in a statement only to the caller who wrote
// the statement.
func toFault(err error, dialect sqltext.Dialect, byCaller bool) *adapters.Fault {
	var commit *commitLostError
	var row *pgproto3.ExceededMaxBodyLenErr
	r, known := readReport(err)
	message := r.message
	switch {
	case errors.As(err, &commit):
		message = msgCommitUnknown
	case errors.As(err, &row):
		message = msgRowTooLarge
	case !known && dialect != sqltext.SQLite:
		message = msgLost
	case message == "":
		message = msgRejected
	case message == msgStatement && !byCaller:
		message = msgToolMistake
	}
	if otherwise, ok := unnamed[message]; ok && !safeName.MatchString(r.name) {
		message = otherwise
	} else if ok {
		message = strings.Replace(message, "%", r.name, 1)
	}
	if strings.HasSuffix(message, ": ") {
		message += quoteEngine(r.text)
	}
	return &adapters.Fault{Message: message, Cause: err}
}

// authorMessage returns what an engine reports about a mistake in a statement.
func authorMessage(err error, dialect sqltext.Dialect) string {
	r, known := readReport(err)
	switch {
	case r.message == msgReadOnly:
		return msgReadOnly
	case known && r.hint != "":
		return r.text + " (" + r.hint + ")"
	case known:
		return r.text
	case dialect == sqltext.SQLite:
		return err.Error()
	}
	return "the connection was lost"
}

// quoteEngine returns a message of the database on one line and limits its length.
func quoteEngine(message string) string {
	return adapters.FirstRunes(adapters.Sanitize(message, nil), 300)
}
