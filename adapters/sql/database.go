package sql

import (
	"context"

	"hatchel/adapters"
)

// A database runs the transactions of all blocks that name its connection. It connects when it is first used. Its errors are those of the
// context, *unreachable, *adapters.Fault from use, or the engine's own, for which fault has a sentence.
type database interface {
	adapters.Health

	// read runs use in a transaction in which the engine refuses every write, and undoes it.
	read(ctx context.Context, use func(transaction) error) error
	// write runs use in a transaction that is committed if and only if use returns nil.
	write(ctx context.Context, use func(transaction) error) error
	// describe asks the engine what a statement is, without running it.
	describe(ctx context.Context, text string, writes bool) (description, error)
	// reason is what the engine says of a mistake in a statement, for the author.
	reason(err error) string
	// fault words an error of the engine. Asked says that the caller wrote the statement and may be told of its mistakes.
	fault(err error, asked bool) *adapters.Fault
}

// A transaction executes statements, one at a time.
type transaction interface {
	run(ctx context.Context, e *execution) error
}

// An execution is a statement with its values. The lower half is what came of it.
type execution struct {
	text       string
	args       []any  // as sqltext binds them
	verb       string // as sqltext says it; empty when it is not known
	rowsWanted bool   // it may answer with rows
	once       bool   // the text is a caller's and is not kept prepared
	last       bool   // nothing follows in the transaction
	rows       *table // takes the rows; may hold those of an earlier execution already

	affected int
	lastID   any // an int, or nil
}

// inserts reports whether the statement can have given a row a number.
func (e *execution) inserts() bool { return e.verb == "INSERT" || e.verb == "REPLACE" }

// A description is what an engine says of a statement.
type description struct {
	params  int
	columns []column // nil when it answers with no rows
}
