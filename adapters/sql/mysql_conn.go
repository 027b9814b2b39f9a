package sql

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"time"
)

// mySession is what the driver's connections can do.
type mySession interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.QueryerContext
	driver.ExecerContext
	driver.SessionResetter
	driver.Validator
}

// myConn is one connection to a MySQL or MariaDB server.
type myConn struct {
	raw        mySession
	types      *myTypes
	thread     int64 // the server's number of it
	statements map[string]*myStatement
	uses       int
	access     string        // READ ONLY or READ WRITE: of the session
	most       time.Duration // that a statement may run; 0 is no bound
	limit      time.Duration // of a statement, as the session has it
	broken     bool
}

// myStatement is prepared on one connection.
type myStatement struct {
	stmt    driver.Stmt
	heading *myHeading
}

func (c *myConn) close() error { return c.raw.Close() }

// command runs a statement of ours.
func (c *myConn) command(ctx context.Context, text string) error {
	_, err := c.raw.ExecContext(ctx, text, nil)
	return err
}

// begin starts a transaction. The session has the same access: DROP and its like end the transaction before they run.
func (c *myConn) begin(ctx context.Context, access string) error {
	if err := c.bound(ctx); err != nil {
		return err
	}
	if c.access != access {
		if err := c.command(ctx, "SET SESSION TRANSACTION "+access); err != nil {
			return err
		}
		c.access = access
	}
	return c.command(ctx, "START TRANSACTION "+access)
}

// identify asks for the server's number of the connection.
func (c *myConn) identify(ctx context.Context) error {
	rows, err := c.raw.QueryContext(ctx, "SELECT CONNECTION_ID()", nil)
	if err != nil {
		return err
	}
	var id [1]driver.Value
	if err := rows.Next(id[:]); err != nil {
		return errors.Join(err, rows.Close())
	}
	switch n := id[0].(type) {
	case int64:
		c.thread = n
	case uint64:
		c.thread = int64(n)
	}
	return rows.Close()
}

// prepared prepares a statement unless it is already.
func (c *myConn) prepared(ctx context.Context, text string) (*myStatement, error) {
	if s, ok := c.statements[text]; ok {
		return s, nil
	}
	if len(c.statements) >= statements {
		for old := range c.statements {
			c.forget(old)
			break
		}
	}
	stmt, err := c.raw.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	s := &myStatement{stmt: stmt}
	c.statements[text] = s
	return s, nil
}

func (c *myConn) forget(text string) {
	if s := c.statements[text]; s != nil {
		_ = s.stmt.Close()
		delete(c.statements, text)
	}
}

// myTransaction is a transaction under way on a connection.
type myTransaction struct {
	database *mariaDB
	conn     *myConn
}

func (tx *myTransaction) run(ctx context.Context, e *execution) error {
	if e.once { // without values the text goes as it is: the session takes one statement at a time
		tx.conn.broken = true // it may have set variables and taken locks, which are nobody else's
		rows, err := tx.conn.raw.QueryContext(ctx, e.text, nil)
		if err != nil {
			return err
		}
		return tx.take(ctx, rows, new(myStatement), e)
	}
	s, err := tx.conn.prepared(ctx, e.text)
	if err != nil {
		return err
	}
	args := make([]driver.NamedValue, len(e.args))
	for i, v := range e.args {
		if n, ok := v.(int); ok {
			v = int64(n)
		}
		args[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	if e.rowsWanted {
		rows, err := s.stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
		if err != nil {
			return err
		}
		return tx.take(ctx, rows, s, e)
	}
	result, err := s.stmt.(driver.StmtExecContext).ExecContext(ctx, args)
	if err != nil {
		return err
	}
	e.affected, e.lastID = 0, nil
	if n, err := result.RowsAffected(); err == nil {
		e.affected = int(n)
	}
	if id, err := result.LastInsertId(); err == nil && id != 0 && e.affected > 0 && e.inserts() {
		e.lastID = int(id)
	}
	return nil
}

// take reads the rows. Those of RETURNING are counted to the last. When far more come than are wanted the server is told to stop, and the connection
// is given up, since it cannot be known what that hits.
func (tx *myTransaction) take(ctx context.Context, rows driver.Rows, s *myStatement, e *execution) error {
	names := rows.Columns()
	h := tx.database.types.heading(s, rows, names)
	var err error
	if len(names) > 0 {
		err = e.rows.head(&h.heading)
	}
	cells := make([]driver.Value, len(names))
	seen, beyond := 0, 0
	for err == nil {
		if err = rows.Next(cells); err != nil {
			break
		}
		seen++
		if row := e.rows.take(); row != nil {
			for i, v := range cells {
				row[i] = h.kinds[i].cell(v, &e.rows.size)
			}
			continue
		}
		if beyond++; beyond > overrun && !changesRows[e.verb] {
			tx.conn.broken = true
			tx.database.kill(ctx, tx.conn.thread)
			break
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if closed := rows.Close(); err == nil && !tx.conn.broken {
		err = closed
	}
	e.affected, e.lastID = 0, nil
	if changesRows[e.verb] {
		e.affected = seen
	}
	return err
}
