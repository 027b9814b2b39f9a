package sql

import (
	"errors"
	"strings"

	"github.com/mattn/go-sqlite3"

	"hatchel/adapters"
)

func (s *sqlite) fault(err error, asked bool) *adapters.Fault {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return faultOf(err, saidRefused)
	}
	_, rest, _ := strings.Cut(e.Error(), " constraint failed: ")
	switch e.ExtendedCode {
	case sqlite3.ErrConstraintUnique, sqlite3.ErrConstraintPrimaryKey, sqlite3.ErrConstraintRowID:
		return faultOf(err, uniqueSentence(rest))
	case sqlite3.ErrConstraintNotNull:
		return faultOf(err, missingSentence(rest))
	case sqlite3.ErrConstraintCheck:
		if strings.ContainsAny(rest, " ()") { // a rule without a name goes by its text
			rest = ""
		}
		return faultOf(err, checkSentence(rest))
	case sqlite3.ErrConstraintForeignKey:
		return faultOf(err, saidForeign)
	case sqlite3.ErrConstraintTrigger:
		return faultOf(err, "the database refuses the change: "+clip(e.Error()))
	}
	switch e.Code {
	case sqlite3.ErrBusy, sqlite3.ErrLocked:
		return faultOf(err, saidBusy)
	case sqlite3.ErrReadonly, sqlite3.ErrAuth:
		return faultOf(err, saidReadOnly)
	case sqlite3.ErrFull:
		return faultOf(err, saidFull)
	case sqlite3.ErrTooBig:
		return faultOf(err, saidTooLarge)
	case sqlite3.ErrMismatch, sqlite3.ErrConstraint:
		return faultOf(err, "a value is of a type that its column does not take; nothing was changed")
	case sqlite3.ErrError, sqlite3.ErrRange:
		return mistake(err, e.Error(), asked)
	case sqlite3.ErrCorrupt, sqlite3.ErrNotADB, sqlite3.ErrFormat:
		return faultOf(err, "the database file is damaged or is no database; its owner must look at it")
	}
	return faultOf(err, saidRefused)
}

func (s *sqlite) reason(err error) string {
	var e sqlite3.Error
	if errors.As(err, &e) && (e.Code == sqlite3.ErrAuth || e.Code == sqlite3.ErrReadonly) {
		return saidReadOnly
	}
	return err.Error()
}
