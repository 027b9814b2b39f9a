package sql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"hatchel/internal/ctxtime"
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
	id         string                                  // of the connection on the server
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
	if err := c.setAccess(ctx, access); err != nil {
		return err
	}
	return c.exec(ctx, "START TRANSACTION "+access)
}

// setAccess sets what the next transactions of the session may do. Also a statement that is prepared outside of a
// transaction is refused by it.
func (c *mysqlConn) setAccess(ctx context.Context, access string) error {
	if c.access == access {
		return nil
	}
	if err := c.exec(ctx, "SET SESSION TRANSACTION "+access); err != nil {
		return err
	}
	c.access = access
	return nil
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
	c.id = fmt.Sprint(row[0])
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
	if e.isQuery || e.kind.ReturnsRows {
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
	if id, err := result.LastInsertId(); err == nil && id != 0 && e.affected > 0 && e.kind.Inserts() {
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
		if skipped++; skipped > maxDrainedRows && !e.changesRows() {
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
	if e.changesRows() {
		e.affected = total
	}
	return err
}

// A server can ignore a KILL that arrives after a statement was sent and before it begins. So each
// statement also has a time limit on the server, and KILL is repeated until the connection is gone.
const (
	maxKillWait      = 10 * time.Second // how long a call waits for the first KILL
	maxKillTime      = 30 * time.Second // how long KILL is repeated
	maxKillPause     = time.Second
	timeLimitMargin  = time.Second // lets the call end first and report its own error
	initialKillPause = 5 * time.Millisecond
)

// setTimeLimit limits how long the server runs a statement: until the call ends, and no longer than the
// timeout of the connection. The remaining time is rounded up to seconds, so that the limit rarely
// changes. MariaDB and MySQL use different variables; MySQL applies the limit to queries only.
func (c *mysqlConn) setTimeLimit(ctx context.Context) error {
	limit := c.database.config.Timeout
	if deadline, ok := ctx.Deadline(); ok {
		seconds := math.Ceil(max(0, time.Until(deadline)).Seconds())
		left := time.Duration(seconds)*time.Second + timeLimitMargin
		if limit == 0 || left < limit {
			limit = left
		}
	}
	if limit == c.limit {
		return nil
	}
	err := c.exec(ctx, "SET max_statement_time = "+strconv.FormatFloat(limit.Seconds(), 'f', 3, 64))
	if e := new(mysql.MySQLError); errors.As(err, &e) && e.Number == unknownSystemVariable {
		err = c.exec(ctx, "SET max_execution_time = "+strconv.FormatInt(limit.Milliseconds(), 10))
	}
	if err == nil {
		c.limit = limit
	}
	return err
}

// kill ends a connection on the server together with its statement. It returns once the server has
// accepted a KILL, or after maxKillWait. The KILL is repeated in the background.
func (m *mysqlDatabase) kill(ctx context.Context, id string) {
	accepted, accept := context.WithTimeout(context.WithoutCancel(ctx), maxKillWait)
	defer accept()
	m.kills.Go(func() {
		defer accept()
		m.killLoop(id, accept)
	})
	<-accepted.Done()
}

// killLoop repeats KILL until the connection is gone or maxKillTime is over, and calls accepted after
// every KILL that the server accepts.
func (m *mysqlDatabase) killLoop(id string, accepted func()) {
	ctx, cancel := context.WithTimeout(m.readiness.ctx, maxKillTime)
	defer cancel()
	var c *mysqlConn // nil while the server cannot be reached
	defer func() {
		if c != nil {
			_ = c.close()
		}
	}()
	for pause := initialKillPause; ; pause = min(2*pause, maxKillPause) {
		if c == nil {
			if raw, err := m.connector.Connect(ctx); err == nil {
				c = &mysqlConn{raw: raw.(mysqlDriverConn)}
			}
		}
		if c != nil {
			err := c.exec(ctx, "KILL "+id)
			switch e := new(mysql.MySQLError); {
			case errors.As(err, &e):
				return // the connection is gone, or the server does not permit the KILL
			case err != nil:
				_ = c.close()
				c = nil
			default:
				accepted()
			}
		}
		if ctxtime.Sleep(ctx, pause) != nil {
			return
		}
	}
}
