package sql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"hatchel/hcl/template/sqltext"
	"hatchel/internal/backoff"
	"hatchel/internal/lazyregexp"
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
	isMariaDB  bool                                    // otherwise it is MySQL
	settings   string                                  // restores those of the new session
	statements *simplelru.LRU[string, *mysqlStatement] // by text
	prologue   driver.Stmt                             // sets the variables of an identity; nil before the first one
	selected   bool                                    // the database of the url was selected with USE
	used       bool
	executing  bool // a statement of the transaction was sent, or may have been
	broken     bool
}

// mysqlStatement is prepared on one connection.
type mysqlStatement struct {
	stmt             driver.Stmt
	leavesState      bool // it may change the session
	columns          *typedColumns
	names, typeNames []string // of the columns, as the driver reports them
}

func (c *mysqlConn) close() error { return c.raw.Close() }

// exec runs a statement without parameters and rows.
func (c *mysqlConn) exec(ctx context.Context, text string) error {
	_, err := c.raw.ExecContext(ctx, text, nil)
	return err
}

// sqlMode is what the lexer of sqltext depends on: a double quote is a string and a backslash an escape.
const sqlMode = "STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"

// readSession reads the properties of a new session. Its time zone is that of the server, of the URL or of the
// argument time_zone.
func (c *mysqlConn) readSession(ctx context.Context) error {
	if zone := c.database.config.TimeZone; zone != "" {
		if err := c.exec(ctx, "SET time_zone = '"+zone+"'"); err != nil {
			return err
		}
	}
	query := "SELECT CONNECTION_ID(), VERSION(), @@time_zone, @@sql_select_limit, @@foreign_key_checks"
	if c.database.identifier != nil {
		query += ", " + listsVariables
	}
	rows, err := c.raw.QueryContext(ctx, query, nil)
	if err != nil {
		return err
	}
	row := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(row); err != nil {
		return errors.Join(err, rows.Close())
	}
	mode := "'" + sqlMode + "'"
	if len(row) > 5 && textOf(row[5]) == "1" {
		mode = c.database.modeWithoutVariables()
	}
	c.id, c.isMariaDB = textOf(row[0]), strings.Contains(textOf(row[1]), "MariaDB")
	// A statement that reads a table clears the warnings of earlier ones, which quote data.
	c.settings = fmt.Sprintf("SET NAMES utf8mb4, sql_mode = %s, time_zone = '%s', sql_select_limit = %s, "+
		"foreign_key_checks = %s, last_insert_id = (SELECT 0 FROM (SELECT 0) AS cleared)",
		mode, textOf(row[2]), textOf(row[3]), textOf(row[4]))
	return rows.Close()
}

// textOf returns a value of the driver as text.
func textOf(v driver.Value) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(v)
}

// begin starts a transaction of an identity. It first sets what statements and results depend on, because a procedure,
// a trigger or a proxy may have changed it: the lexer of sqltext relies on the mode and the character set. It sets the
// access of the session too, because statements such as DROP end the transaction before they run. A connection on
// which it fails is not used again.
func (c *mysqlConn) begin(ctx context.Context, as identity, access string) error {
	limit, readOnly := c.timeLimit(ctx), 0
	if access == "READ ONLY" {
		readOnly = 1
	}
	var err error
	if c.database.variables != nil {
		err = c.setVariables(ctx, as, readOnly, limit)
	} else {
		seconds := strconv.FormatFloat(limit.Seconds(), 'f', 3, 64)
		milliseconds := strconv.FormatInt(limit.Milliseconds(), 10)
		err = c.exec(ctx, c.accessSettings(strconv.Itoa(readOnly), seconds, milliseconds))
	}
	if err == nil && as.role != "" {
		err = c.become(ctx, as.role)
	}
	if err == nil {
		err = c.exec(ctx, "START TRANSACTION "+access)
	}
	c.broken = c.broken || err != nil
	return err
}

// accessSettings returns a statement that sets the settings of a transaction: those of the session, whether it only
// reads, and how long the server may run a statement, in the unit of MariaDB or of MySQL.
func (c *mysqlConn) accessSettings(readOnly, seconds, milliseconds string) string {
	if c.isMariaDB {
		return c.settings + ", tx_read_only = " + readOnly + ", max_statement_time = " + seconds
	}
	return c.settings + ", transaction_read_only = " + readOnly + ", max_execution_time = " + milliseconds
}

// transact runs use in a transaction of an identity, which is committed if it writes and use returns nil.
func (c *mysqlConn) transact(ctx context.Context, as identity, access string, use func(transaction) error) error {
	c.executing = false
	if err := c.begin(ctx, as, access); err != nil {
		return c.notExecuted(err)
	}
	err := use(c)
	switch {
	case err != nil && access == "READ WRITE" && c.executing:
		if !c.undo(ctx, as.role) {
			return fmt.Errorf("%w: %w", errNotUndone, err)
		}
		return err
	case err != nil || access == "READ ONLY":
		if !c.raw.IsValid() || c.exec(ctx, "ROLLBACK") != nil {
			c.broken = true
		}
		if !c.executing {
			return c.notExecuted(err)
		}
		return err
	}
	if err = c.exec(ctx, "COMMIT"); err == nil {
		return nil
	}
	c.broken = true
	if e := new(mysql.MySQLError); !errors.As(err, &e) || c.isLost(err) {
		return fmt.Errorf("%w: %w", errCommitLost, err)
	}
	return err
}

// errNotUndone is the error of a transaction that has failed and whose changes may stay.
var errNotUndone = errors.New("the changes of the failed transaction may not be undone")

// incompleteRollback is the code of the warning that a rollback leaves changes of tables without transactions.
const incompleteRollback = "1196"

// undo rolls a failed transaction back, and reports whether nothing of it stays. Tables of engines such as MyISAM and
// Aria have no transactions. The server warns of them in the rollback, or in the error that has ended the transaction.
func (c *mysqlConn) undo(ctx context.Context, role string) bool {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxUndoTime)
	defer cancel()
	var before, after bool
	err := driver.ErrBadConn
	if c.raw.IsValid() {
		before, err = c.leavesChanges(bounded)
	}
	if err == nil {
		err = c.exec(bounded, "ROLLBACK")
	}
	if err == nil {
		after, err = c.leavesChanges(bounded)
	}
	if err != nil { // the server rolls back when the connection ends, and warns nobody
		c.broken = true
		before = c.database.mayLackTransactions(bounded, role)
	}
	return !before && !after
}

// maxUndoTime bounds how long a failed call waits for what its rollback says.
const maxUndoTime = 5 * time.Second

// leavesChanges reports whether the last statement has warned that a rollback is not complete.
func (c *mysqlConn) leavesChanges(ctx context.Context) (bool, error) {
	return c.hasWarning(ctx, func(code, _ string) bool { return code == incompleteRollback })
}

// hasWarning reports whether the last statement has a warning that matches.
func (c *mysqlConn) hasWarning(ctx context.Context, matches func(code, message string) bool) (found bool, err error) {
	rows, err := c.raw.QueryContext(ctx, "SHOW WARNINGS", nil)
	if err != nil {
		return false, err
	}
	row := make([]driver.Value, len(rows.Columns()))
	for err = rows.Next(row); err == nil; err = rows.Next(row) {
		found = found || matches(textOf(row[1]), textOf(row[2]))
	}
	if closeErr := rows.Close(); !errors.Is(err, io.EOF) || closeErr != nil {
		return found, errors.Join(err, closeErr)
	}
	return found, nil
}

// anyTableWithoutTransactions finds a table whose changes a rollback leaves, among those that the user can see.
const anyTableWithoutTransactions = "SELECT 1 FROM information_schema.tables t JOIN information_schema.engines e " +
	"ON e.engine = t.engine WHERE e.transactions = 'NO' AND t.table_type = 'BASE TABLE' AND t.table_schema " +
	"NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema') LIMIT 1"

// mayLackTransactions reports whether a table that a role sees may have no transactions, also if the server does not
// say.
func (m *mysqlDatabase) mayLackTransactions(ctx context.Context, role string) bool {
	raw, err := m.connector.Connect(ctx)
	if err != nil {
		return true
	}
	defer raw.Close()
	c := &mysqlConn{database: m, raw: raw.(mysqlDriverConn)}
	if role != "" && c.become(ctx, role) != nil {
		return true
	}
	rows, err := c.raw.QueryContext(ctx, anyTableWithoutTransactions, nil)
	if err != nil {
		return true
	}
	defer rows.Close()
	return !errors.Is(rows.Next(make([]driver.Value, 1)), io.EOF)
}

// isLost reports whether an error says that the connection, or its server, is gone.
func (c *mysqlConn) isLost(err error) bool {
	var e *mysql.MySQLError
	switch {
	case err == nil || errors.Is(err, errCommitLost):
		return false
	case errors.As(err, &e):
		return mysqlMessages[e.Number] == msgLost
	}
	return errors.Is(err, driver.ErrBadConn) || !c.raw.IsValid()
}

// notExecuted marks the error of a step before the first statement of a transaction if another connection may
// succeed: this one is lost, it has variables that an earlier transaction has left, or its server has become a
// replica that takes no changes.
func (c *mysqlConn) notExecuted(err error) error {
	var e *mysql.MySQLError
	if c.isLost(err) || hasLeftVariables(err) || errors.As(err, &e) && readMySQLReport(e).message == msgReadOnlyServer {
		return &notExecutedError{err}
	}
	return err
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
	s := &mysqlStatement{stmt: stmt, leavesState: c.database.leavesSessionState(text)}
	c.statements.Add(text, s)
	return s, nil
}

// describe describes a statement in a transaction that is rolled back.
func (c *mysqlConn) describe(ctx context.Context, text string, writes bool, info *statementInfo) error {
	st, err := c.raw.PrepareContext(ctx, text)
	if err != nil {
		return c.notExecuted(err)
	}
	info.params = st.NumInput()
	if err := st.Close(); err != nil || writes {
		return err
	}
	e := &execution{
		text:    "SELECT * FROM (" + text + "\n) AS t LIMIT 0",
		args:    make([]any, info.params),
		result:  &resultSet{maxRows: 1},
		isQuery: true,
	}
	if err := c.run(ctx, e); err == nil && e.result.columns != nil {
		info.columns = e.result.columns.columns
	}
	c.statements.Remove(e.text)
	return nil
}

// run implements transaction. A server refuses a time with an offset where it stores one. Where it compares one, it
// ignores the offset and warns.
func (c *mysqlConn) run(ctx context.Context, e *execution) error {
	err := c.execute(ctx, e)
	if !slices.ContainsFunc(e.args, mayHaveOffset) {
		return err
	}
	blamed := -1
	blame := func(message string) bool {
		if blamed < 0 && wrongTimeMessage.MatchString(message) {
			blamed = slices.IndexFunc(e.args, func(arg any) bool {
				text, isText := arg.(string)
				return isText && hasOffset(text) && strings.Contains(message, "'"+text+"'")
			})
		}
		return blamed >= 0
	}
	var reported *mysql.MySQLError
	switch {
	case err == nil && !c.broken:
		isWrongTime := func(code, message string) bool { return code == strconv.Itoa(wrongTime) && blame(message) }
		if ignored, err := c.hasWarning(ctx, isWrongTime); err != nil || !ignored {
			return err
		}
	case !errors.As(err, &reported) || reported.Number != wrongTime || !blame(reported.Message):
		return err
	}
	const instead = "it without the offset, in the time zone of the database, such as 2026-01-31T13:45:00"
	return &argumentError{index: blamed, reason: offsetError{"a date or a time", instead}}
}

// wrongTime is the code of the error and of the warning that a text is not a date or a time, or only its beginning is.
const wrongTime = 1292

var wrongTimeMessage = lazyregexp.New(`^(?:Truncated i|I)ncorrect (?:datetime|date|time|timestamp) value: `)

func (c *mysqlConn) execute(ctx context.Context, e *execution) error {
	if e.byCaller { // it has no values, so it is not prepared; the session accepts one statement at a time
		c.broken = true // the statement may have set variables and taken locks
		c.executing = true
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
	c.broken = c.broken || s.leavesState
	first := !c.executing
	c.executing = true
	if e.isQuery || e.kind.ReturnsRows {
		rows, err := s.stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
		if err != nil {
			c.executing = !first || !isUnsent(err)
			return err
		}
		return c.readRows(ctx, rows, s, e)
	}
	result, err := s.stmt.(driver.StmtExecContext).ExecContext(ctx, args)
	if err != nil {
		c.executing = !first || !isUnsent(err)
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

// isUnsent reports whether the driver has sent nothing of a statement, or the server has refused it as a whole
// because it takes no changes.
func isUnsent(err error) bool {
	var e *mysql.MySQLError
	return errors.Is(err, driver.ErrBadConn) || errors.As(err, &e) && readMySQLReport(e).message == msgReadOnlyServer
}

// leavesSessionState reports whether a statement may leave something in the session for the next caller: user
// variables, settings, temporary tables, locks. Procedures and functions of the database may do so. The variables
// that each transaction sets are not left.
func (m *mysqlDatabase) leavesSessionState(text string) bool {
	bare := m.withoutVariables(quotedMySQLText.ReplaceAllString(text, " "))
	return sessionWords.MatchString(bare) || len(functionsOf(text, sqltext.MySQL)) > 0
}

var sessionWords = lazyregexp.New(`(?i)@|^\s*CALL\b|\bTEMPORARY\b`)

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
	maxKillWait     = 10 * time.Second // how long a call waits for the first KILL
	maxKillTime     = 30 * time.Second // how long KILL is repeated
	timeLimitMargin = time.Second      // lets the call end first and report its own error
)

// killBackoff is how often KILL is repeated.
var killBackoff = backoff.Policy{First: 5 * time.Millisecond, Max: time.Second}

// timeLimit returns how long the server may run a statement: until the call ends, and no longer than the timeout of
// the connection; 0 is without a limit. MySQL applies it to queries only.
func (c *mysqlConn) timeLimit(ctx context.Context) time.Duration {
	limit := c.database.config.Timeout
	if deadline, ok := ctx.Deadline(); ok {
		seconds := math.Ceil(max(0, time.Until(deadline)).Seconds())
		left := time.Duration(seconds)*time.Second + timeLimitMargin
		if limit == 0 || left < limit {
			limit = left
		}
	}
	return limit
}

// kill ends a connection on the server together with its statement. It returns once the server has
// accepted a KILL, or after maxKillWait. The KILL is repeated in the background.
func (m *mysqlDatabase) kill(ctx context.Context, id string) {
	accepted, accept := context.WithTimeout(context.WithoutCancel(ctx), maxKillWait)
	defer accept()
	go func() {
		defer accept()
		m.killLoop(id, accept)
	}()
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
	for range killBackoff.Attempts(ctx) {
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
	}
}
