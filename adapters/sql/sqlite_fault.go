package sql

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"hatchel/adapters"
	"hatchel/internal/lazyregexp"
)

// sqliteResult is an extended result code of SQLite, whose last byte is the result code; see
// https://sqlite.org/rescode.html. A program without SQLite reads those of mocks.
type sqliteResult int

const (
	sqliteError      sqliteResult = 1
	sqliteBusy       sqliteResult = 5
	sqliteLocked     sqliteResult = 6
	sqliteReadonly   sqliteResult = 8
	sqliteCorrupt    sqliteResult = 11
	sqliteFull       sqliteResult = 13
	sqliteTooBig     sqliteResult = 18
	sqliteConstraint sqliteResult = 19
	sqliteMismatch   sqliteResult = 20
	sqliteAuth       sqliteResult = 23
	sqliteFormat     sqliteResult = 24
	sqliteRange      sqliteResult = 25
	sqliteNotADB     sqliteResult = 26

	sqliteConstraintCheck      = sqliteConstraint | 1<<8
	sqliteConstraintForeignKey = sqliteConstraint | 3<<8
	sqliteConstraintNotNull    = sqliteConstraint | 5<<8
	sqliteConstraintPrimaryKey = sqliteConstraint | 6<<8
	sqliteConstraintTrigger    = sqliteConstraint | 7<<8
	sqliteConstraintUnique     = sqliteConstraint | 8<<8
	sqliteConstraintRowID      = sqliteConstraint | 10<<8
)

// sqliteMessages are the messages for result codes and extended result codes.
var sqliteMessages = map[sqliteResult]string{
	sqliteConstraintUnique: msgUnique, sqliteConstraintPrimaryKey: msgUnique, sqliteConstraintRowID: msgUnique,
	sqliteConstraintNotNull: msgNotNull, sqliteConstraintCheck: msgCheck, sqliteConstraintForeignKey: msgForeignKey,
	sqliteConstraintTrigger: "the database rejected the change: ",
	sqliteConstraint:        sqliteWrongType, sqliteMismatch: sqliteNotInteger,
	sqliteBusy: msgBusy, sqliteLocked: msgBusy, sqliteReadonly: msgReadOnly, sqliteAuth: msgReadOnly,
	sqliteFull: msgFull, sqliteTooBig: msgTooLarge, sqliteError: msgStatement, sqliteRange: msgStatement,
	sqliteCorrupt: sqliteDamaged, sqliteNotADB: sqliteDamaged, sqliteFormat: sqliteDamaged,
}

// sqliteResultOf returns the result of an error of SQLite, or of a mock in its place; 0 for any other error.
func sqliteResultOf(err error) sqliteResult {
	var mocked *mockedSQLiteError
	if errors.As(err, &mocked) {
		return mocked.result
	}
	return engineResultOf(err)
}

const (
	sqliteWrongType  = "a value has a type that its column does not accept"
	sqliteNotInteger = "a value must be an integer, for LIMIT, OFFSET and INTEGER PRIMARY KEY take no other"
	sqliteDamaged    = "the database file is damaged or is not a SQLite database; its owner must check it"
)

var (
	sqliteIndex   = lazyregexp.New(`^index '(.*)'$`)
	sqliteRefused = lazyregexp.New(`^cannot store [A-Z]+ value in [A-Z]+ column `)
)

func readSQLiteReport(result sqliteResult, text string) report {
	r := report{message: cmp.Or(sqliteMessages[result], sqliteMessages[result&0xff]), text: text,
		code: fmt.Sprintf("result %d of SQLite", result)}
	r.quotes = advice[r.message] == "" && !strings.HasPrefix(text, "no such ")
	_, r.name, _ = strings.Cut(r.text, " constraint failed: ")
	switch r.message {
	case msgCheck:
		if strings.ContainsAny(r.name, " ()") {
			r.name = "" // an unnamed constraint is reported by its expression
		}
		r.violated = &adapters.Constraint{Name: r.name}
	case msgForeignKey:
		r.violated = &adapters.Constraint{}
	case msgUnique, msgNotNull:
		r.violated = &adapters.Constraint{}
		if index := firstMatch(sqliteIndex, r.name); index != "" {
			r.name, r.violated.Name = "key "+index, index
			break
		}
		for _, qualified := range strings.Split(r.name, ", ") {
			table, column, _ := strings.Cut(qualified, ".")
			r.violated.Table, r.violated.Columns = table, append(r.violated.Columns, column)
		}
	case sqliteWrongType:
		if sqliteRefused.MatchString(r.text) {
			r.message, r.violated = "the database rejected the change: ", &adapters.Constraint{}
		}
	}
	return r
}
