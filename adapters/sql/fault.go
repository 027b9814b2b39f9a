package sql

import (
	"regexp"
	"strings"

	"hatchel/adapters"
)

// Messages that several engines share.
const (
	msgReadOnly    = "the statement would write, but this tool only reads; nothing was changed"
	msgBusy        = "the database is busy with another change; nothing was changed, try again"
	msgDeadlock    = "the change conflicted with another one and was rolled back; try again"
	msgTimeout     = "the statement exceeded the time limit of the database; request less data at a time"
	msgFull        = "the database has no space left; nothing was changed"
	msgTooLarge    = "a value is larger than the database accepts"
	msgForbidden   = "the database account that the server uses lacks the permission for this"
	msgRejected    = "the database rejected the statement"
	msgNumberRange = "a number is out of range for its column; nothing was changed"
	msgTextLength  = "a string is longer than its column allows; nothing was changed"
	msgDivision    = "the statement divides by zero for these values"
	msgLost        = "the connection to the database was lost; nothing was changed, try again"

	msgCommitUnknown = "the connection to the database was lost during the commit; it is not known whether the " +
		"change was made, so check before trying again"
	msgForeignKey = "the values refer to a row that does not exist, or other rows refer to the row; " +
		"nothing was changed"
	msgToolMistake = "the statement of this tool does not match the database; this is a mistake in the tool's " +
		"definition, not in the arguments"

	lostForAuthor = "the connection was lost"
)

func newFault(cause error, message string) *adapters.Fault {
	return &adapters.Fault{Message: message, Cause: cause}
}

// safeName matches names of tables, columns and constraints. Other texts could hold the definition
// of a rule, or data.
var safeName = regexp.MustCompile(`^[\pL\pN_$.,"\x60 ()-]{1,200}$`)

// withName inserts a name for % in a message, or returns the other message if the name is not safe.
func withName(message, name, otherwise string) string {
	if !safeName.MatchString(name) {
		return otherwise
	}
	return strings.ReplaceAll(message, "%", name)
}

func uniqueMessage(key string) string {
	return withName("a row with the same % already exists; nothing was changed", key,
		"such a row already exists; nothing was changed")
}

func notNullMessage(column string) string {
	return withName("% must not be null; nothing was changed", column,
		"a required value is null; nothing was changed")
}

func checkMessage(constraint string) string {
	return withName("a value violates the constraint % of the database; nothing was changed", constraint,
		"a value violates a constraint of the database; nothing was changed")
}

// statementFault reports a mistake in a statement. It quotes the engine only to the caller who
// wrote the statement.
func statementFault(cause error, engineMessage string, byCaller bool) *adapters.Fault {
	if !byCaller {
		return newFault(cause, msgToolMistake)
	}
	return newFault(cause, "the statement was rejected: "+quoteEngine(engineMessage))
}

// quoteEngine returns a message of the database on one line and limits its length.
func quoteEngine(message string) string {
	return adapters.FirstRunes(adapters.Sanitize(message, nil), 300)
}
