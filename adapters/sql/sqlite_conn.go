package sql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mattn/go-sqlite3"
)

// liteConn is one connection to a SQLite file, lent to one call at a time. It is a transaction of its writer.
type liteConn struct {
	raw      *sqlite3.SQLiteConn
	headings map[*string]*liteHeading // of prepared statements, by where the driver keeps their names
	args     []driver.NamedValue
	cells    []driver.Value
	broken   bool
	trusted  atomic.Bool // the statement being prepared is our own
	closed   func()

	free, over context.Context // one that never ends, and one that has ended

	immediate, deferred, commit, rollback, changes, stop *sqlite3.SQLiteStmt

	mu   sync.Mutex
	call context.Context // of the call that has the connection; guarded by mu
}

// prepareOwn prepares what runs around the statements of blocks. These are not in the driver's cache, where they could be pushed out.
func (c *liteConn) prepareOwn() error {
	for _, own := range []struct {
		stmt **sqlite3.SQLiteStmt
		text string
	}{
		{&c.immediate, "BEGIN IMMEDIATE"}, {&c.deferred, "BEGIN"}, {&c.commit, "COMMIT"}, {&c.rollback, "ROLLBACK"},
		{&c.changes, "SELECT changes(), last_insert_rowid()"}, {&c.stop, "SELECT 1"},
	} {
		s, err := c.raw.Prepare(own.text)
		if err != nil {
			return err
		}
		*own.stmt = s.(*sqlite3.SQLiteStmt)
	}
	return nil
}

func (c *liteConn) close() error {
	if c.closed != nil {
		c.closed()
	}
	for _, s := range []*sqlite3.SQLiteStmt{c.immediate, c.deferred, c.commit, c.rollback, c.changes, c.stop} {
		if s != nil {
			_ = s.Close() // repeats what its last execution said
		}
	}
	return c.raw.Close()
}

// own runs a statement of ours.
func (c *liteConn) own(s *sqlite3.SQLiteStmt) error {
	c.trusted.Store(true)
	_, err := s.Exec(nil)
	c.trusted.Store(false)
	return err
}

// watch notes whose call has the connection.
func (c *liteConn) watch(ctx context.Context) {
	c.mu.Lock()
	c.call = ctx
	c.mu.Unlock()
}

func (c *liteConn) unwatch() {
	c.mu.Lock()
	c.call = nil
	c.mu.Unlock()
}

// check interrupts the statement under way if its call has ended, and reports whether there is a call. The driver interrupts a connection for a
// context that has ended, so it is given one with a statement that waits for the other; unwatch waits meanwhile, so that no later call is hit.
func (c *liteConn) check() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.call == nil {
		return false
	}
	if c.call.Err() != nil {
		_, _ = c.stop.ExecContext(c.over, nil) // that it was interrupted too says nothing
	}
	return true
}

// run executes a statement and takes its rows. On the writer, changes and the number of a new row are those of the engine.
func (c *liteConn) run(ctx context.Context, e *execution) error {
	if err := c.execute(ctx, e); err != nil {
		return err
	}
	e.affected, e.lastID = 0, nil
	if !changesRows[e.verb] {
		return nil
	}
	rows, err := c.changes.Query(nil)
	if err != nil {
		return err
	}
	defer rows.Close()
	var counted [2]driver.Value
	if err := rows.Next(counted[:]); err != nil {
		return err
	}
	e.affected = int(counted[0].(int64))
	if e.inserts() && e.affected > 0 && !updatesInstead(e.text) {
		e.lastID = int(counted[1].(int64))
	}
	return nil
}

var changesRows = map[string]bool{"INSERT": true, "REPLACE": true, "UPDATE": true, "DELETE": true}

// updatesInstead reports whether an INSERT may have updated a row, of which SQLite does not tell the number.
func updatesInstead(text string) bool {
	upper := strings.ToUpper(text)
	return strings.Contains(upper, "CONFLICT") && strings.Contains(upper, "UPDATE")
}

func (c *liteConn) execute(ctx context.Context, e *execution) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := c.bind(e.args); err != nil {
		return err
	}
	found, err := c.raw.QueryContext(c.free, withoutTail(e.text), c.args) // the watchdog ends it
	if err != nil {
		return err
	}
	rows := found.(*sqlite3.SQLiteRows)
	h := c.heading(rows)
	if len(h.columns) > 0 {
		err = e.rows.head(&h.heading)
	}
	for err == nil {
		if err = rows.Next(c.cells[:len(h.columns)]); err != nil {
			break
		}
		if row := e.rows.take(); row != nil {
			for i, v := range c.cells[:len(row)] {
				row[i] = h.kinds[i].cell(v, &e.rows.size)
			}
		} else if changesRows[e.verb] || len(h.columns) == 0 {
			continue // the rest of RETURNING is done, though nobody sees it
		} else {
			break
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if closed := rows.Close(); err == nil {
		err = closed
	}
	return err
}

// bind makes the driver's values.
func (c *liteConn) bind(args []any) error {
	c.args = c.args[:0]
	for i, v := range args {
		switch x := v.(type) {
		case int:
			v = int64(x)
		case nil, bool, string, float64, []byte:
		default:
			return fmt.Errorf("a value of the Go type %T was bound", v)
		}
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	return nil
}

// liteHeading is what is known of a prepared statement's columns.
type liteHeading struct {
	heading
	kinds []liteKind
}

var noColumns = &liteHeading{}

// heading reads the columns of a statement once for as long as the driver keeps it prepared. The driver turns values of columns that were
// declared as dates into times, and what it cannot read as one into the year 1; so the declared types are taken out of its hands.
func (c *liteConn) heading(rows *sqlite3.SQLiteRows) *liteHeading {
	names := rows.Columns()
	if len(names) == 0 {
		return noColumns
	}
	if h, ok := c.headings[&names[0]]; ok {
		return h
	}
	if len(c.headings) > 2*statements {
		clear(c.headings)
	}
	h := &liteHeading{}
	columns := make([]column, len(names))
	declared := rows.DeclTypes()
	for i, name := range names {
		columns[i] = liteColumn(name, declared[i])
		h.kinds = append(h.kinds, kindOf(declared[i]))
		declared[i] = ""
	}
	h.heading = *newHeading(columns)
	c.headings[&names[0]] = h
	if len(c.cells) < len(names) {
		c.cells = make([]driver.Value, len(names))
	}
	return h
}

// liteRead is a transaction of a reader. One statement alone needs no BEGIN: it sees one state of the database by itself.
type liteRead struct {
	conn  *liteConn
	begun bool
}

func (r *liteRead) run(ctx context.Context, e *execution) error {
	if !r.begun && !e.last {
		if err := r.conn.own(r.conn.deferred); err != nil {
			return err
		}
		r.begun = true
	}
	return r.conn.execute(ctx, e)
}

// describe prepares a statement.
func (s *sqlite) describe(ctx context.Context, text string, writes bool) (d description, err error) {
	pool := s.readers
	if writes {
		pool = s.writer
	}
	err = s.with(ctx, pool, func(c *liteConn) error {
		prepared, err := c.raw.Prepare(text)
		if err != nil {
			return err
		}
		stmt := prepared.(*sqlite3.SQLiteStmt)
		defer stmt.Close()
		d.params = stmt.NumInput()
		rows, err := stmt.QueryContext(ctx, nil) // steps nothing before Next
		if err != nil {
			return err
		}
		defer rows.Close()
		names, declared := rows.Columns(), rows.(*sqlite3.SQLiteRows).DeclTypes()
		for i, name := range names {
			d.columns = append(d.columns, liteColumn(name, declared[i]))
		}
		return nil
	})
	return d, err
}
