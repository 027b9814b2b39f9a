package sql

import (
	"errors"
	"strings"

	"github.com/mattn/go-sqlite3"

	"hatchel/adapters"
)

func (s *sqliteDatabase) toFault(err error, byCaller bool) *adapters.Fault {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return newFault(err, msgRejected)
	}
	_, constraint, _ := strings.Cut(e.Error(), " constraint failed: ")
	switch e.ExtendedCode {
	case sqlite3.ErrConstraintUnique, sqlite3.ErrConstraintPrimaryKey, sqlite3.ErrConstraintRowID:
		return newFault(err, uniqueMessage(constraint))
	case sqlite3.ErrConstraintNotNull:
		return newFault(err, notNullMessage(constraint))
	case sqlite3.ErrConstraintCheck:
		if strings.ContainsAny(constraint, " ()") { // an unnamed constraint is reported by its expression
			constraint = ""
		}
		return newFault(err, checkMessage(constraint))
	case sqlite3.ErrConstraintForeignKey:
		return newFault(err, msgForeignKey)
	case sqlite3.ErrConstraintTrigger:
		return newFault(err, "the database rejected the change: "+quoteEngine(e.Error()))
	}
	switch e.Code {
	case sqlite3.ErrBusy, sqlite3.ErrLocked:
		return newFault(err, msgBusy)
	case sqlite3.ErrReadonly, sqlite3.ErrAuth:
		return newFault(err, msgReadOnly)
	case sqlite3.ErrFull:
		return newFault(err, msgFull)
	case sqlite3.ErrTooBig:
		return newFault(err, msgTooLarge)
	case sqlite3.ErrMismatch, sqlite3.ErrConstraint:
		return newFault(err, "a value has a type that its column does not accept; nothing was changed")
	case sqlite3.ErrError, sqlite3.ErrRange:
		return statementFault(err, e.Error(), byCaller)
	case sqlite3.ErrCorrupt, sqlite3.ErrNotADB, sqlite3.ErrFormat:
		return newFault(err, "the database file is damaged or is not a SQLite database; its owner must check it")
	}
	return newFault(err, msgRejected)
}

func (s *sqliteDatabase) authorMessage(err error) string {
	var e sqlite3.Error
	if errors.As(err, &e) && (e.Code == sqlite3.ErrAuth || e.Code == sqlite3.ErrReadonly) {
		return msgReadOnly
	}
	return err.Error()
}
