package sql

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// mysqlDriverConn is the interface of the driver's connections.
type mysqlDriverConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.QueryerContext
	driver.ExecerContext
	driver.SessionResetter
	driver.Validator
}

// mysqlConn is one connection to a MySQL or MariaDB server.
type mysqlConn struct {
	database   *mysqlDatabase
	raw        mysqlDriverConn
	id         int64                                   // of the connection on the server
	statements *simplelru.LRU[string, *mysqlStatement] // by text
	used       bool
	access     string        // of the session: READ ONLY or READ WRITE
	limit      time.Duration // of a statement, as set in the session
	broken     bool
}

// mysqlStatement is prepared on one connection.
type mysqlStatement struct {
	stmt             driver.Stmt
	columns          *typedColumns
	names, typeNames []string // of the columns, as the driver reports them
}

func (c *mysqlConn) close() error { return c.raw.Close() }

// exec runs a statement without parameters and rows.
func (c *mysqlConn) exec(ctx context.Context, text string) error {
	_, err := c.raw.ExecContext(ctx, text, nil)
	return err
}

// begin starts a transaction. It sets the access of the session too, because statements such as DROP end
// the transaction before they run.
func (c *mysqlConn) begin(ctx context.Context, access string) error {
	if err := c.setTimeLimit(ctx); err != nil {
		return err
	}
	if c.access != access {
		if err := c.exec(ctx, "SET SESSION TRANSACTION "+access); err != nil {
			return err
		}
		c.access = access
	}
	return c.exec(ctx, "START TRANSACTION "+access)
}

// readID reads the server's id of the connection.
func (c *mysqlConn) readID(ctx context.Context) error {
	rows, err := c.raw.QueryContext(ctx, "SELECT CONNECTION_ID()", nil)
	if err != nil {
		return err
	}
	var row [1]driver.Value
	if err := rows.Next(row[:]); err != nil {
		return errors.Join(err, rows.Close())
	}
	switch id := row[0].(type) {
	case int64:
		c.id = id
	case uint64:
		c.id = int64(id)
	}
	return rows.Close()
}

// prepare returns the prepared statement of a text.
func (c *mysqlConn) prepare(ctx context.Context, text string) (*mysqlStatement, error) {
	if s, ok := c.statements.Get(text); ok {
		return s, nil
	}
	stmt, err := c.raw.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	s := &mysqlStatement{stmt: stmt}
	c.statements.Add(text, s)
	return s, nil
}

// run implements transaction.
func (c *mysqlConn) run(ctx context.Context, e *execution) error {
	if e.byCaller { // it has no values, so it is not prepared; the session accepts one statement at a time
		c.broken = true // the statement may have set variables and taken locks
		rows, err := c.raw.QueryContext(ctx, e.text, nil)
		if err != nil {
			return err
		}
		return c.readRows(ctx, rows, new(mysqlStatement), e)
	}
	s, err := c.prepare(ctx, e.text)
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
	if e.wantsRows {
		rows, err := s.stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
		if err != nil {
			return err
		}
		return c.readRows(ctx, rows, s, e)
	}
	result, err := s.stmt.(driver.StmtExecContext).ExecContext(ctx, args)
	if err != nil {
		return err
	}
	e.affected, e.lastID = 0, nil
	if n, err := result.RowsAffected(); err == nil {
		e.affected = int(n)
	}
	if id, err := result.LastInsertId(); err == nil && id != 0 && e.affected > 0 && e.insertsRow() {
		e.lastID = int(id)
	}
	return nil
}

// readRows reads rows up to the limits of the result, and counts all rows of RETURNING. If many more
// rows follow, it kills the connection and marks it as broken, because the kill may hit a later
// statement.
func (c *mysqlConn) readRows(ctx context.Context, rows driver.Rows, s *mysqlStatement, e *execution) error {
	names := rows.Columns()
	columns := c.database.columnsOf(s, rows, names)
	var err error
	if len(names) > 0 {
		err = e.result.setColumns(&columns.resultColumns)
	}
	values := make([]driver.Value, len(names))
	total, skipped := 0, 0
	for err == nil {
		if err = rows.Next(values); err != nil {
			break
		}
		total++
		if row := e.result.addRow(); row != nil {
			for i, v := range values {
				row[i] = convertMySQL(v, columns.types[i], &e.result.size)
			}
			continue
		}
		if skipped++; skipped > maxDrainedRows && !changesRows[e.verb] {
			c.broken = true
			c.database.kill(ctx, c.id)
			break
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if closeErr := rows.Close(); err == nil && !c.broken {
		err = closeErr
	}
	e.affected, e.lastID = 0, nil
	if changesRows[e.verb] {
		e.affected = total
	}
	return err
}
