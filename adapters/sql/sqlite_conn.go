//go:build cgo

package sql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mattn/go-sqlite3"

	"hatchel/internal/lazyregexp"
	"hatchel/internal/sqlitefile"
)

// sqliteConn is one connection to a SQLite file, lent to one call at a time. The writer's connection is
// also its transaction.
type sqliteConn struct {
	database *sqliteDatabase
	file     *sqlitefile.File // nil in memory
	raw      *sqlite3.SQLiteConn
	columns  map[*string]*sqliteColumns // of prepared statements, by the address of the driver's column names
	args     []driver.NamedValue
	row      []driver.Value
	broken   bool

	// preparingControl makes the authorizer accept a control statement.
	preparingControl atomic.Bool

	controls [len(controlTexts)]*sqlite3.SQLiteStmt

	mu   sync.Mutex
	call context.Context // of the call that uses the connection, or nil; guarded by mu
}

// controlStatement is a statement that controls transactions. These statements are not in the driver's cache,
// which could evict them.
type controlStatement int

const (
	beginImmediate controlStatement = iota
	begin
	commit
	rollback
	readChanges
	interrupt
)

var controlTexts = [...]string{
	beginImmediate: "BEGIN IMMEDIATE", begin: "BEGIN", commit: "COMMIT", rollback: "ROLLBACK",
	readChanges: "SELECT changes(), last_insert_rowid()", interrupt: "SELECT 1",
}

func (c *sqliteConn) prepareControls() error {
	for i, text := range controlTexts {
		s, err := c.raw.Prepare(text)
		if err != nil {
			return err
		}
		c.controls[i] = s.(*sqlite3.SQLiteStmt)
	}
	return nil
}

func (c *sqliteConn) close() error {
	c.database.watchdog.remove(c)
	for _, s := range c.controls {
		if s != nil {
			_ = s.Close() // repeats the error of the last execution
		}
	}
	return c.raw.Close()
}

// control runs a control statement that has no rows. The driver would leave another one unfinished.
func (c *sqliteConn) control(s controlStatement) error {
	c.preparingControl.Store(true)
	_, err := c.controls[s].Exec(nil)
	c.preparingControl.Store(false)
	return err
}

// observe is the authorizer of the writer. It allows everything, and has the connection closed after a statement that
// changes what the next ones mean: a PRAGMA, a temporary table, another attached file.
func (c *sqliteConn) observe(op int, first, _, _ string) int {
	if !c.preparingControl.Load() && (op == sqlite3.SQLITE_PRAGMA && !schemaPragmas[strings.ToLower(first)] ||
		slices.Contains(sessionOperations, op)) {
		c.broken = true
	}
	return sqlite3.SQLITE_OK
}

// sessionOperations are operations that change the session of the writer.
var sessionOperations = []int{
	sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_CREATE_TEMP_INDEX, sqlite3.SQLITE_CREATE_TEMP_TABLE,
	sqlite3.SQLITE_CREATE_TEMP_TRIGGER, sqlite3.SQLITE_CREATE_TEMP_VIEW,
}

// setCall records the context of the call that uses the connection.
func (c *sqliteConn) setCall(ctx context.Context) {
	c.mu.Lock()
	c.call = ctx
	c.mu.Unlock()
}

// endCall records that no call uses the connection.
func (c *sqliteConn) endCall() {
	c.mu.Lock()
	c.call = nil
	c.mu.Unlock()
}

// interruptIfDone interrupts the running statement if its call has ended, or runs again because the file was replaced,
// and reports whether there is a call. The driver interrupts a connection whose context has ended, so another statement
// is started with such a context. It must not run: the driver reads the error of a statement from the connection, where
// a statement that has run leaves none. The mutex keeps endCall waiting, so that no later call is hit.
func (c *sqliteConn) interruptIfDone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.call == nil {
		return false
	}
	if c.call.Err() != nil || c.file != nil && c.file.IsDraining() && !c.preparingControl.Load() {
		_, _ = c.controls[interrupt].ExecContext(c.database.alreadyDone, noParameter)
	}
	return true
}

// wasDrained reports whether a statement was interrupted because its file was replaced.
func wasDrained(ctx context.Context, err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && e.Code == sqlite3.ErrInterrupt && ctx.Err() == nil
}

// noParameter is an argument for a statement that has no parameters, so it fails before it runs.
var noParameter = []driver.NamedValue{{Ordinal: 1}}

// run implements transaction for the writer.
func (c *sqliteConn) run(ctx context.Context, e *execution) error {
	if err := c.execute(ctx, e); err != nil {
		return err
	}
	e.affected, e.lastID = 0, nil
	if !e.changesRows() {
		return nil
	}
	rows, err := c.controls[readChanges].Query(nil)
	if err != nil {
		return err
	}
	defer rows.Close()
	var changes [2]driver.Value
	if err := rows.Next(changes[:]); err != nil {
		return err
	}
	e.affected = int(changes[0].(int64))
	if e.kind.Inserts() && e.affected > 0 && !mayUpsert(e.text) {
		e.lastID = int(changes[1].(int64))
	}
	return nil
}

// mayUpsert reports whether an INSERT may update a row instead. SQLite does not report the id of such a
// row.
func mayUpsert(text string) bool {
	upper := strings.ToUpper(text)
	return strings.Contains(upper, "CONFLICT") && strings.Contains(upper, "UPDATE")
}

func (c *sqliteConn) execute(ctx context.Context, e *execution) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := c.bind(e.args); err != nil {
		return err
	}
	// The watchdog interrupts the statement.
	result, err := c.raw.QueryContext(c.database.neverDone, trimTerminator(e.text), c.args)
	if err != nil {
		return err
	}
	rows := result.(*sqlite3.SQLiteRows)
	columns := c.columnsOf(rows)
	width := len(columns.columns)
	if width > 0 {
		err = e.result.setColumns(&columns.resultColumns)
	}
	for err == nil {
		if err = rows.Next(c.row[:width]); err != nil {
			break
		}
		if row := e.result.addRow(); row != nil {
			for i, v := range c.row[:width] {
				if n, ok := v.(int64); ok && c.database.config.bigIntegersAsText() {
					v = textOfBig(n)
				}
				row[i] = columns.types[i].convert(v, &e.result.size)
			}
		} else if !e.changesRows() && width > 0 {
			break // a statement with RETURNING runs to its end, because each step changes a row
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if closeErr := rows.Close(); err == nil {
		err = closeErr
	}
	return err
}

// bind sets the driver's values from those of an execution.
func (c *sqliteConn) bind(args []any) error {
	c.args = c.args[:0]
	for i, v := range args {
		switch x := v.(type) {
		case int:
			v = int64(x)
		case nil, bool, string, float64, []byte:
		default:
			return fmt.Errorf("cannot bind a value of the Go type %T", v)
		}
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	return nil
}

// sqliteColumns are the columns of a prepared statement.
type sqliteColumns struct {
	resultColumns
	types []sqliteType
}

var noColumns = &sqliteColumns{}

// columnsOf reads the columns of a statement once while the driver keeps it prepared. It clears the
// declared types in the driver, which would parse dates and return year 1 for those it cannot parse.
func (c *sqliteConn) columnsOf(rows *sqlite3.SQLiteRows) *sqliteColumns {
	names := rows.Columns()
	if len(names) == 0 {
		return noColumns
	}
	if known, ok := c.columns[&names[0]]; ok {
		return known
	}
	if len(c.columns) > 2*maxPrepared {
		clear(c.columns)
	}
	found := &sqliteColumns{}
	columns := make([]column, len(names))
	declared := rows.DeclTypes()
	for i, name := range names {
		columns[i] = newSQLiteColumn(name, declared[i])
		found.types = append(found.types, sqliteTypeOf(declared[i]))
		declared[i] = ""
	}
	found.resultColumns = *newResultColumns(columns)
	c.columns[&names[0]] = found
	if len(c.row) < len(names) {
		c.row = make([]driver.Value, len(names))
	}
	return found
}

// sqliteReadTx is a transaction of a reader. A single statement needs no BEGIN, because it reads one
// snapshot of the database anyway.
type sqliteReadTx struct {
	conn  *sqliteConn
	begun bool
}

func (tx *sqliteReadTx) run(ctx context.Context, e *execution) error {
	if !tx.begun && !e.last {
		if err := tx.conn.control(begin); err != nil {
			return err
		}
		tx.begun = true
	}
	return tx.conn.execute(ctx, e)
}

// sqliteToken matches one token. The first group is a comment or space, all others are quoted text, a
// semicolon or anything else.
var sqliteToken = lazyregexp.New("(?s)(--[^\n]*|/\\*.*?(?:\\*/|$)|[ \t\r\n\f]+)|" +
	"'[^']*'?|\"[^\"]*\"?|`[^`]*`?|\\[[^\\]]*\\]?|;|[^-/'\"`\\[; \t\r\n\f]+|.")

// trimTerminator removes the semicolon that ends a statement, and the comments after it. The driver
// would run what follows a semicolon as another statement and return the rows of that one.
func trimTerminator(text string) string {
	first := strings.IndexByte(text, ';')
	switch {
	case first < 0:
		return text
	case strings.Trim(text[first:], "; \t\r\n\f") == "":
		return text[:first]
	}
	end := len(text)
	for _, at := range sqliteToken.FindAllStringSubmatchIndex(text, -1) {
		switch isBlank := at[2] >= 0; {
		case isBlank:
		case text[at[0]] != ';':
			end = len(text)
		case end == len(text):
			end = at[0]
		}
	}
	return text[:end]
}
