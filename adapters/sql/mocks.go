package sql

import (
	"context"
	"crypto/rand"
	"database/sql/driver"
	"encoding/base64"
	"errors"
	"io"
	"net/url"
	"strconv"
	"syscall"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/mattn/go-sqlite3"

	"hatchel/adapters"
	"hatchel/hcl/template/sqltext"
)

// mockedDatabase is a database whose statements are answered by mocks, executed in memory, or executed for real and
// rolled back. It implements database.
type mockedDatabase struct {
	mocks   adapters.Mocks
	info    adapters.Database
	dialect sqltext.Dialect
	memory  *sqliteDatabase // in memory; nil for none
	live    database        // the real one; nil if it is never asked
}

func newMockedDatabase(env adapters.Env, dialect sqltext.Dialect) *mockedDatabase {
	m := &mockedDatabase{mocks: env.Mocks, dialect: dialect}
	m.info.Connection = env.ConnectionName
	for kind, of := range dialects {
		if of == dialect {
			m.info.Kind = kind
		}
	}
	return m
}

// openMockedServer opens the database of a server if the mocks are live.
func openMockedServer(
	ctx context.Context, c *serverConnection, env adapters.Env,
	open func(context.Context, *serverConnection, adapters.Env) (any, error),
) (any, error) {
	m := newMockedDatabase(env, c.dialect)
	if !m.mocks.Live() {
		return m, nil
	}
	env.Mocks = nil
	opened, err := open(ctx, c, env)
	if err != nil {
		return nil, err
	}
	m.live = opened.(database)
	return m, nil
}

// openMockedSQLite makes a database in memory if the mocks declare one. It lives until env.Defer closes its first
// connection. Live mocks without one use the file, which is neither created nor changed by init.
func openMockedSQLite(ctx context.Context, c *sqliteConnection, env adapters.Env) (any, error) {
	m := newMockedDatabase(env, sqltext.SQLite)
	m.info.HasInit = c.Init != ""
	inMemory := m.mocks.Seed(m.info, func() (adapters.Memory, error) {
		m.memory = newSQLiteDatabase(ctx, c, "/"+rand.Text(), env, true)
		first, err := m.memory.openConn(nil, m.memory.dsn("rwc", url.Values{}))
		if err != nil {
			return nil, err
		}
		env.Defer(first.close)
		return seededDatabase{first.raw}, m.memory.runInit(first)
	})
	if !inMemory && m.mocks.Live() {
		s := newSQLiteDatabase(ctx, c, adapters.Absolute(env.Dir, c.File), env, false)
		s.asItIs = true
		m.live = s
	}
	return m, nil
}

// seededDatabase implements adapters.Memory with the first connection to a database in memory.
type seededDatabase struct{ conn *sqlite3.SQLiteConn }

func (s seededDatabase) Execute(statements string) error {
	_, err := s.conn.Exec(statements, nil)
	return err
}

func (s seededDatabase) Query(text string) (out []map[string]any, err error) {
	rows, err := s.conn.Query(text, nil)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns := rows.Columns()
	for {
		cells := make([]driver.Value, len(columns))
		if err := rows.Next(cells); err == io.EOF {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		row := make(map[string]any, len(columns))
		for i, name := range columns {
			switch v := cells[i].(type) {
			case int64:
				row[name] = int(v)
			case []byte:
				row[name] = base64.StdEncoding.EncodeToString(v)
			default:
				row[name] = v
			}
		}
		out = append(out, row)
	}
}

// Ping implements adapters.Health.
func (m *mockedDatabase) Ping(context.Context) error { return nil }

func (m *mockedDatabase) describe(ctx context.Context, text string, writes bool) (statementInfo, error) {
	if m.memory == nil {
		return statementInfo{}, errors.New("a mock cannot describe a statement")
	}
	return m.memory.describe(ctx, text, writes)
}

func (m *mockedDatabase) read(ctx context.Context, use func(transaction) error) error {
	tx := &mockedTransaction{database: m, Transaction: m.mocks.Begin(m.info, true), readOnly: true}
	defer tx.End(false)
	switch {
	case tx.Live():
		err := m.live.read(ctx, tx.within(use))
		tx.checkBegun(err)
		return err
	case m.memory != nil:
		return m.memory.read(ctx, tx.within(use))
	}
	return use(tx)
}

// errRolledBack ends a transaction of the real database that has succeeded.
var errRolledBack = errors.New("the transaction of a test is rolled back")

func (m *mockedDatabase) write(ctx context.Context, use func(transaction) error) (err error) {
	tx := &mockedTransaction{database: m, Transaction: m.mocks.Begin(m.info, false)}
	committed := false
	defer func() { tx.End(committed) }()
	switch {
	case tx.Live():
		err = m.live.write(ctx, func(real transaction) error {
			if err := tx.within(use)(real); err != nil {
				return err
			}
			return errRolledBack
		})
		tx.checkBegun(err)
		if errors.Is(err, errRolledBack) {
			err = nil
		}
	case m.memory != nil:
		err = m.memory.write(ctx, tx.within(use))
	default:
		err = use(tx)
	}
	committed = err == nil
	return err
}

// mockedTransaction is a transaction of a mockedDatabase.
type mockedTransaction struct {
	adapters.Transaction
	database *mockedDatabase
	readOnly bool
	executed transaction // in memory, or of the real database; nil if the mocks have the answers
}

// within returns use for a transaction that is executed.
func (tx *mockedTransaction) within(use func(transaction) error) func(transaction) error {
	return func(executed transaction) error {
		tx.executed = executed
		return use(tx)
	}
}

// run implements transaction.
func (tx *mockedTransaction) run(ctx context.Context, e *execution) error {
	args := make([]any, len(e.args))
	for i, v := range e.args {
		args[i] = untypedList(v)
	}
	s := &adapters.Statement{Text: e.text, Args: args, HasRows: e.isQuery || e.kind.ReturnsRows}
	answer, err := tx.Execute(ctx, s)
	switch {
	case err != nil:
		return tx.database.engineError(err)
	case answer == nil && tx.Live():
		return tx.runLive(ctx, s, e)
	case answer == nil && tx.executed != nil:
		return tx.executed.run(ctx, e)
	case tx.readOnly && e.changesRows():
		return modelError{errors.New(msgReadOnly)}
	}
	if e.affected, e.lastID = 0, nil; e.changesRows() {
		e.affected, e.lastID = answer.Affected, answer.LastID
	}
	if len(answer.Rows) == 0 && e.result.stream == nil {
		return nil
	}
	columns := make([]column, len(answer.Columns))
	for i, name := range answer.Columns {
		columns[i].name = name
	}
	if err := e.result.setColumns(newResultColumns(columns)); err != nil {
		return err
	}
	for _, values := range answer.Rows {
		row := e.result.addRow()
		if row == nil {
			break
		}
		copy(row, values)
	}
	return nil
}

// engineError returns the error of a mock as the engine would report it.
func (m *mockedDatabase) engineError(err error) error {
	var rejected *adapters.SQLError
	if errors.Is(err, syscall.ECONNREFUSED) {
		return &unreachableError{cause: err}
	}
	if !errors.As(err, &rejected) {
		return err
	}
	code, _ := strconv.ParseUint(rejected.Code, 10, 16)
	switch m.dialect {
	case sqltext.PostgreSQL:
		return &pgconn.PgError{Severity: "ERROR", Code: rejected.Code, Message: rejected.Message,
			ConstraintName: rejected.Name, Hint: rejected.Hint}
	case sqltext.MySQL:
		report := &mysql.MySQLError{Number: uint16(code), Message: rejected.Message}
		copy(report.SQLState[:], rejected.State)
		return report
	}
	return &mockedSQLiteError{rejected.Message, sqlite3.Error{
		Code: sqlite3.ErrNo(code & 0xff), ExtendedCode: sqlite3.ErrNoExtended(code),
	}}
}

// mockedSQLiteError is an error of SQLite with another text.
type mockedSQLiteError struct {
	text   string
	engine sqlite3.Error
}

func (e *mockedSQLiteError) Error() string { return e.text }
func (e *mockedSQLiteError) Unwrap() error { return e.engine }
