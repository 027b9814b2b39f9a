package sql

import (
	"regexp"
	"strings"

	"hatchel/adapters"
)

// Sentences that more than one engine needs.
const (
	saidReadOnly  = "the statement would change something, and this only reads; nothing was changed"
	saidBusy      = "the database is busy with another change; nothing was changed, try again"
	saidDeadlock  = "the change collided with another one and was undone; try again"
	saidTimeout   = "the statement took longer than the database allows; ask for less at a time"
	saidForeign   = "a row that the values refer to does not exist, or other rows still refer to the row; nothing was changed"
	saidFull      = "the database has no space left; nothing was changed"
	saidTooLarge  = "a value is larger than the database accepts"
	saidForbidden = "the database does not allow this to the account that the server uses"
	saidRefused   = "the database refused the statement"
	saidMistake   = "the statement of this tool does not fit the database; whoever maintains the tool must mend it"
)

func faultOf(cause error, message string) *adapters.Fault {
	return &adapters.Fault{Message: message, Cause: cause}
}

// plainName is what the name of a table, column or constraint looks like. Anything else could be the text of a rule.
var plainName = regexp.MustCompile(`^[\pL\pN_$.,"\x60 ()-]{1,200}$`)

// named puts a name into a sentence if it is one.
func named(sentence, name, otherwise string) string {
	if !plainName.MatchString(name) {
		return otherwise
	}
	return strings.ReplaceAll(sentence, "%", name)
}

func uniqueSentence(what string) string {
	return named("a row with the same % already exists; nothing was changed", what, "such a row already exists; nothing was changed")
}

func missingSentence(column string) string {
	return named("% needs a value; nothing was changed", column, "a value that is needed is missing; nothing was changed")
}

func checkSentence(rule string) string {
	return named("a value breaks the rule % of the database; nothing was changed", rule, "a value breaks a rule of the database; nothing was changed")
}

// mistake words what is wrong with a statement: in the engine's words to whoever wrote it in this call, and as what it is to everybody else.
func mistake(cause error, words string, asked bool) *adapters.Fault {
	if !asked {
		return faultOf(cause, saidMistake)
	}
	return faultOf(cause, "the statement is refused: "+clip(words))
}

// clip bounds a text of an engine.
func clip(s string) string {
	const most = 300
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + " …"
	}
	return s
}
