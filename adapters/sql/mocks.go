package sql

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"hatchel/adapters"
	"hatchel/hcl/mock"
	"hatchel/hcl/template/sqltext"
	"hatchel/hcl/value"
	"hatchel/internal/sqlitefile"
)

// mockedDatabase is a database whose statements are answered by mocks, executed in memory, or executed for real and
// rolled back. It implements database.
type mockedDatabase struct {
	*identifier
	mocks      adapters.Mocks
	connection string
	kind       string     // of the connection, such as "sqlite"
	hasInit    bool       // the connection has statements that make its tables
	standIn    *mock.Mock // the mock that makes memory; nil for none
	memory     database   // of SQLite, in memory; nil for none
	live       database   // the real one; nil if it is never asked
}

func newMockedDatabase(env adapters.Env, dialect sqltext.Dialect) *mockedDatabase {
	m := &mockedDatabase{mocks: env.Mocks, connection: env.ConnectionName}
	for kind, of := range dialects {
		if of == dialect {
			m.kind = kind
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
	m.identifier = newIdentifier(c, env.ConnectionName)
	if !m.mocks.Live(false) {
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
	m.hasInit = c.Init != ""
	for _, of := range m.mocks.Of("sql", m.connection) {
		text, ok := of.Request["init"].(string)
		if !ok {
			continue
		}
		m.standIn = of
		switch err := m.makeMemory(ctx, c, env, text); {
		case errors.Is(err, sqlitefile.ErrNotIncluded):
			_ = m.mocks.Fail(of, fmt.Sprintf("init makes a database of SQLite: %v.", err))
		case err != nil:
			_ = m.mocks.Fail(of, fmt.Sprintf("The statements of init fail, those of the connection or of the "+
				"mock: %v.", err))
		}
		return m, nil
	}
	if m.mocks.Live(false) {
		live, err := openSQLiteFile(ctx, c, env)
		if err != nil {
			return nil, err
		}
		m.live = live
	}
	return m, nil
}

// limit runs what a mock itself asks its database with the timeout of the tool.
func (m *mockedDatabase) limit(ctx context.Context, run func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, m.mocks.Timeout())
	defer cancel()
	err := run(limited)
	if limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("it took longer than %v, the timeout of the tool", m.mocks.Timeout())
	}
	return err
}

// Ping implements adapters.Health.
func (m *mockedDatabase) Ping(context.Context) error { return nil }

func (m *mockedDatabase) describe(ctx context.Context, as identity, text string, writes bool) (statementInfo, error) {
	if m.memory == nil {
		return statementInfo{}, errors.New("a mock cannot describe a statement")
	}
	return m.memory.describe(ctx, as, text, writes)
}

func (m *mockedDatabase) read(ctx context.Context, as identity, use func(transaction) error) error {
	tx := m.begin(as, true)
	switch {
	case tx.isLive:
		err := m.live.read(ctx, as, tx.within(use))
		tx.checkBegun(err)
		return err
	case m.memory != nil:
		return m.memory.read(ctx, as, tx.within(use))
	}
	return use(tx)
}

// errRolledBack ends a transaction of the real database that has succeeded.
var errRolledBack = errors.New("the transaction of a test is rolled back")

func (m *mockedDatabase) write(ctx context.Context, as identity, use func(transaction) error) (err error) {
	tx := m.begin(as, false)
	committed := false
	defer func() {
		for _, q := range tx.asked {
			m.mocks.Set(q, "committed", committed)
		}
	}()
	switch {
	case tx.isLive:
		err = m.live.write(ctx, as, func(real transaction) error {
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
		err = m.memory.write(ctx, as, tx.within(use))
	default:
		err = use(tx)
	}
	committed = err == nil
	return err
}

// mockedTransaction is a transaction of a mockedDatabase.
type mockedTransaction struct {
	database *mockedDatabase
	as       identity
	readOnly bool
	mocked   bool        // mocks have answers, so that the real database is not asked
	isLive   bool        // the real database executes the statements, and rolls the transaction back
	executed transaction // in memory, or of the real database; nil if the mocks have the answers
	asked    []*mock.Question
}

// begin begins a transaction. It is that of one database, so one with mocks is answered by mocks alone.
func (m *mockedDatabase) begin(as identity, readOnly bool) *mockedTransaction {
	tx := &mockedTransaction{database: m, as: as, readOnly: readOnly, mocked: len(m.mocks.Of("sql", m.connection)) > 0}
	tx.isLive = !tx.mocked && m.mocks.Live(!readOnly)
	return tx
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
	s := tx.newStatement(e)
	reply, err := tx.database.mocks.Ask(ctx, s.question)
	switch {
	case err != nil:
		return err
	case reply == nil && tx.isLive:
		return tx.runLive(ctx, s.question, e)
	case reply == nil:
		return tx.executed.run(ctx, e)
	}
	if name, what := s.contradiction(reply.Args); name != "" && !reply.Taped {
		return tx.database.mocks.Fail(reply.Mock, fmt.Sprintf("the reply has %s, and the statement %s: %s.", name, what,
			s.question.Name))
	}
	if _, rejected := reply.Args["error"].(string); rejected {
		return tx.database.engineError(reply)
	}
	if tx.readOnly && e.changesRows() {
		return modelError{errors.New(msgReadOnly)}
	}
	return newMockedResult(reply.Args).give(e)
}

// give makes a result that of an execution.
func (r *mockedResult) give(e *execution) error {
	if e.affected, e.lastID = 0, nil; e.changesRows() {
		e.affected, e.lastID = r.affected, r.lastID
	}
	if len(r.rows) == 0 && e.result.stream == nil {
		return nil
	}
	columns := make([]column, len(r.columns))
	for i, name := range r.columns {
		columns[i].name = name
	}
	if err := e.result.setColumns(newResultColumns(columns)); err != nil {
		return err
	}
	for _, values := range r.rows {
		row := e.result.addRow()
		if row == nil {
			break
		}
		copy(row, values)
	}
	return nil
}

// mockedResult is what a statement gives.
type mockedResult struct {
	columns  []string
	rows     [][]any // values of the language, in the order of the columns
	affected int
	lastID   any // int or nil
}

// newMockedResult returns the result of a reply.
func newMockedResult(reply map[string]any) *mockedResult {
	out := &mockedResult{}
	if columns, ok := reply["columns"].([]any); ok { // of a tape
		out.columns, _ = mock.TextsOf(columns)
		rows, _ := reply["cells"].([]any)
		for _, row := range rows {
			cells, _ := row.([]any)
			out.rows = append(out.rows, cells)
		}
	}
	rows, _ := reply["rows"].([]any)
	names := map[string]bool{}
	for _, row := range rows {
		object, _ := row.(map[string]any)
		for name := range object {
			names[name] = true
		}
	}
	if rows != nil {
		out.columns = slices.Sorted(maps.Keys(names))
	}
	for _, row := range rows {
		object, _ := row.(map[string]any)
		cells := make([]any, len(out.columns))
		for i, name := range out.columns {
			cells[i], _ = value.ResolveAll(object[name]) // values of a configuration are decoded
		}
		out.rows = append(out.rows, cells)
	}
	out.affected = len(rows)
	if n, ok := reply["affected"].(int); ok {
		out.affected = n
	}
	if id, ok := reply["last_id"].(int); ok {
		out.lastID = id
	}
	return out
}

// engineError returns the error of a reply as the engine would report it.
func (m *mockedDatabase) engineError(reply *mock.Reply) error {
	message, code := reply.Text("error"), reply.Text("code")
	number, _ := strconv.ParseUint(code, 10, 16)
	switch dialects[m.kind] {
	case sqltext.PostgreSQL:
		report := &pgconn.PgError{
			Severity: "ERROR", Code: code, Message: message, Hint: reply.Text("hint"), Routine: reply.Text("routine"),
			ConstraintName: reply.Text("constraint"), TableName: reply.Text("table"), ColumnName: reply.Text("column"),
		}
		if report.ConstraintName == "" && report.ColumnName == "" { // of an earlier version
			report.ConstraintName = reply.Text("name")
		}
		if postgresMessages[code] == msgForeignKey { // the values of the key are not on the tape
			const detail = "Key (%s)=() is not present in table %q."
			report.Detail = fmt.Sprintf(detail, report.ColumnName, reply.Text("name"))
		}
		return report
	case sqltext.MySQL:
		report := &mysql.MySQLError{Number: uint16(number), Message: message}
		copy(report.SQLState[:], reply.Text("state"))
		return report
	}
	return &mockedSQLiteError{message, sqliteResult(number)}
}

// mockedSQLiteError is an error that a mock reports in place of SQLite.
type mockedSQLiteError struct {
	text   string
	result sqliteResult
}

func (e *mockedSQLiteError) Error() string { return e.text }
