// Package sql implements the sql block and its connections: SQLite, PostgreSQL, and MySQL or MariaDB.
//
// The text of a statement never depends on a value of a call: package sqltext binds every value as a
// parameter. A query runs in a transaction in which the database itself refuses every write, whatever
// the statement begins with. All statements of one block run in one transaction.
package sql

import (
	"context"
	"errors"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/template/sqltext"
)

const blockDoc = "Runs SQL on the database that the label names. Values in a statement are bound as parameters. " +
	"query returns output.rows, output.row (the first row or null) and output.truncated. " +
	"exec returns output.affected and output.last_id, and also the rows if the statement has RETURNING. " +
	"A list under exec returns output.results, one for each statement."

// Adapter returns the sql block of tools and steps.
func Adapter() adapters.Adapter {
	a := adapters.New("sql", blockDoc, (*block).spec, bind).WithConnections(true, "sqlite", "postgres", "mysql").
		WithMock(mockKind())
	a.Kind.Snippets, a.Kind.Statements = snippets, []string{"query", "exec"}
	a.Kind.Aliases = []string{"sqlite", "postgres", "postgresql", "mysql", "mariadb"}
	return a
}

// dialects are the dialects of the connections by their kind.
var dialects = map[string]sqltext.Dialect{
	"sqlite": sqltext.SQLite, "postgres": sqltext.PostgreSQL, "mysql": sqltext.MySQL,
}

// Connectors returns the kinds of database connections.
func Connectors() []adapters.Connector {
	connectors := []adapters.Connector{
		adapters.NewConnector("sqlite", "A SQLite database file.", (*sqliteConnection).spec, openSQLite),
		adapters.NewConnector("postgres", "A PostgreSQL database.", (*serverConnection).postgresSpec, openPostgres),
		adapters.NewConnector("mysql", "A MySQL or MariaDB database.", (*serverConnection).mysqlSpec, openMySQL),
	}
	for i, c := range connectors {
		connectors[i].Kind.Dialect = dialects[c.Kind.Name]
	}
	return connectors
}

// database runs the transactions of all blocks that share one connection block. It connects on first
// use. Its methods return the error of the context, *unreachableError, the error of use, or an error
// of the engine, which toFault converts. They call use again, on another connection, if the first one was
// lost and nothing of its transaction remains: use must not keep what an earlier call of it has read.
type database interface {
	adapters.Health

	// identityOf returns as whom a call runs. Its error is a Fault: nothing was sent.
	identityOf(f *hcl.Frame) (identity, error)
	// self returns what computes the identities; nil if all calls run as the login of the connection.
	self() *identifier
	// identities returns all identities that a call can have, without values of session.
	identities() []identity

	// read runs use in a transaction in which the engine refuses every write, and rolls it back. If the connection
	// is lost, it may run use once more.
	read(ctx context.Context, as identity, use func(transaction) error) error
	// write runs use in a transaction that is committed if and only if use returns nil. It runs use once more only
	// if it is certain that nothing of the transaction remains.
	write(ctx context.Context, as identity, use func(transaction) error) error
	// describe prepares a statement without running it.
	describe(ctx context.Context, as identity, text string, writes bool) (statementInfo, error)
}

// transaction executes statements one at a time.
type transaction interface {
	run(ctx context.Context, e *execution) error
}

// execution is a statement with its bound values, and its outcome.
type execution struct {
	text     string
	args     []any // as sqltext binds them
	kind     sqltext.Kind
	isQuery  bool // its rows are wanted, whatever its kind
	byCaller bool // the caller wrote the text, so the prepared statement is not kept
	last     bool // no other statement follows in the transaction
	origin   origin
	program  *sqltext.Program // whose text it is; nil for a text of the caller
	frame    *hcl.Frame       // that the values are from
	result   *resultSet       // receives the rows; may hold rows of an earlier execution
	followed *followed        // what is known of the masks of the result; nil for no mask
	columns  [][]selected     // of the result, by it

	affected int
	lastID   any // int or nil
}

// bind sets the text and the values of the execution for one frame.
func (e *execution) bind(s *sqltext.Program, f *hcl.Frame) (err error) {
	if e.text, e.args, err = s.Bind(f, e.args[:0]); err != nil {
		return modelError{err}
	}
	e.kind, e.program, e.frame = s.KindOf(e.text), s, f
	if e.followed == nil {
		return nil
	}
	if e.columns, err = e.followed.check(s, e.text); err != nil {
		return newDefinitionError(e.text, false, err)
	}
	return nil
}

// run runs the execution in a transaction.
func (e *execution) run(ctx context.Context, tx transaction) error {
	if e.followed != nil {
		e.result.accept = func(returned []column) error {
			if err := e.followed.accept(e.program, e.columns, returned); err != nil {
				return newDefinitionError(e.text, true, err)
			}
			return nil
		}
	}
	err := e.runTraced(ctx, tx)
	if refused, ok := errors.AsType[*argumentError](err); ok {
		return refused.toFault(e.program.Sources(e.frame)[refused.index].Source)
	}
	return err
}

// runTraced runs the execution with the trace and the span of its call.
func (e *execution) runTraced(ctx context.Context, tx transaction) error {
	call := e.origin.call
	if call == nil {
		return tx.run(ctx, e)
	}
	if call.Trace != nil {
		call.Trace(adapters.TraceSent, e.describe())
	}
	if !call.Span.IsRecorded() {
		return tx.run(ctx, e)
	}
	span := e.startSpan()
	err := tx.run(ctx, e)
	span.End(errorType(err))
	return err
}

// changesRows reports whether the rows that the statement changes are counted.
func (e *execution) changesRows() bool { return changingVerbs[e.kind.Verb] }

var changingVerbs = wordSet("INSERT REPLACE UPDATE DELETE")

// maxPrepared is the maximum number of statements kept prepared on one connection as one role.
const maxPrepared = 128

// newLRU returns a cache for the prepared statements of a connection.
func newLRU[S any](size int, onEvict func(key string, s S)) *simplelru.LRU[string, S] {
	cache, _ := simplelru.NewLRU(size, onEvict) // fails for size 0 only
	return cache
}

// statementInfo is what an engine reports about a prepared statement.
type statementInfo struct {
	params    int
	columns   []column // nil if the statement returns no rows
	superuser bool     // the role may do what a read-only transaction does not prevent
}
