package toolstest

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl/value"
)

// Seed implements adapters.Mocks.
func (m *Mocks) Seed(db adapters.Database, open func() (adapters.Memory, error)) bool {
	s := m.memoryOf(db.Connection)
	if s == nil {
		return false
	}
	text, _ := s.Request["init"].(string)
	memory, err := open()
	if err == nil {
		s.database = memory
		err = memory.Execute(text)
	}
	if err != nil {
		detail := fmt.Sprintf("The statements of init fail, those of the connection or of the mock: %v.", err)
		_ = m.fail(m.hide(detail, nil), s.Range)
	}
	return true
}

// Query returns the rows of a query of the database in memory of a connection. It is called when the call is over, and
// before the connection is closed.
func (m *Mocks) Query(connection, text string) ([]map[string]any, error) {
	s := m.memoryOf(connection)
	if s == nil || s.database == nil {
		return nil, fmt.Errorf("no mock with init makes the database %q", connection)
	}
	return s.database.Query(text)
}

// memoryOf returns the mock that makes the database of a connection in memory, or nil.
func (m *Mocks) memoryOf(connection string) *state {
	for _, s := range m.mocks {
		if _, ok := s.Request["init"]; ok && s.Kind == "sql" && s.Connection == connection {
			return s
		}
	}
	return nil
}

// Begin implements adapters.Mocks.
func (m *Mocks) Begin(db adapters.Database, readOnly bool) adapters.Transaction {
	tx := &transaction{mocks: m, db: db, readOnly: readOnly}
	if db.Kind == "sqlite" {
		tx.memory = m.memoryOf(db.Connection)
	}
	// A transaction is that of one database, so one with mocks is answered by mocks alone.
	tx.asLive = m.Live() && tx.memory == nil && !slices.ContainsFunc(m.mocks, tx.hasAnswers)
	return tx
}

// Live implements adapters.Transaction.
func (tx *transaction) Live() bool { return tx.asLive && (tx.readOnly || tx.mocks.live.Writes) }

// Executed implements adapters.Transaction.
func (tx *transaction) Executed(s *adapters.Statement, answer *adapters.SQLResult, err error) {
	m := tx.mocks
	if !m.isRecording() {
		return
	}
	x := &exchange{kind: "sql", connection: tx.db.Connection, request: askedStatement(s, arguments(s))}
	name := m.hide(oneLine(s.Text), nil)
	var rejected *adapters.SQLError
	switch {
	case errors.As(err, &rejected):
		x.reply = map[string]any{"error": rejected.Message}
		for member, text := range map[string]string{
			"code": rejected.Code, "state": rejected.State, "name": rejected.Name, "hint": rejected.Hint,
		} {
			if text != "" {
				x.reply[member] = text
			}
		}
		m.record(x)
		return
	case err != nil:
		m.failRecording("%s has failed: %s", name, m.hide(err.Error(), nil))
		return
	case answer == nil:
		m.failRecording("the rows of %s are not complete: they were cut, or are too many for a tape", name)
		return
	}
	x.reply = map[string]any{}
	if answer.Affected != 0 {
		x.reply["affected"] = answer.Affected
	}
	if answer.Columns != nil {
		rows := make([]any, len(answer.Rows))
		for i, row := range answer.Rows {
			rows[i] = row
		}
		x.reply["columns"], x.reply["cells"] = list(answer.Columns), rows
	}
	if answer.LastID != nil {
		x.reply["last_id"] = answer.LastID
	}
	m.record(x)
}

// Unreachable implements adapters.Transaction.
func (tx *transaction) Unreachable(err error) {
	tx.mocks.failRecording("the database %s cannot be reached: %s", tx.db.Connection, tx.mocks.hide(err.Error(), nil))
}

// askedStatement returns a statement as a tape has it.
func askedStatement(s *adapters.Statement, args []any) map[string]any {
	asked := map[string]any{"statement": s.Text}
	if len(args) > 0 {
		asked["args"] = args
	}
	return asked
}

func arguments(s *adapters.Statement) []any {
	args := make([]any, len(s.Args))
	for i, v := range s.Args {
		args[i] = argument(v)
	}
	return args
}

type transaction struct {
	mocks  *Mocks
	db     adapters.Database
	memory *state           // nil if the mocks have the answers
	sent   []map[string]any // by the transaction

	readOnly bool
	asLive   bool // nothing answers in place of the database
}

// Execute implements adapters.Transaction.
func (tx *transaction) Execute(ctx context.Context, s *adapters.Statement) (*adapters.SQLResult, error) {
	m := tx.mocks
	hide := func(text string) string { return m.hide(text, nil) }
	args := arguments(s)
	sent := map[string]any{
		"kind": "sql", "connection": tx.db.Connection, "statement": hide(s.Text), "args": hideValue(args, hide),
		"committed": false,
	}
	tx.sent = append(tx.sent, sent)
	if tx.memory != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.sent = append(m.sent, sent)
		tx.memory.used++
		return nil, nil
	}
	reply, err := m.answer(&question{
		kind: "sql", connection: tx.db.Connection, name: hide(oneLine(s.Text)), sent: sent,
		matches: func(mock *Mock, whole bool) mismatch { return tx.match(mock, s.Text, args, whole, hide) },
		paste:   func() string { return tx.paste(s, args, hide) },
		asked:   func() map[string]any { return askedStatement(s, args) }, readOnly: tx.readOnly, asLive: tx.asLive,
	})
	if err == nil && reply == nil {
		return nil, nil
	}
	if err == nil {
		err = m.wait(ctx, reply)
	}
	if err != nil {
		return nil, err
	}
	if name, what := contradiction(reply.args, s.HasRows, tx.readOnly); name != "" && !reply.taped {
		return nil, m.fail(fmt.Sprintf("the reply has %s, and the statement %s: %s.", name, what, hide(oneLine(s.Text))),
			reply.at)
	}
	if text, ok := reply.args["error"].(string); ok {
		rejected := &adapters.SQLError{Message: text}
		for member, field := range map[string]*string{
			"code": &rejected.Code, "state": &rejected.State, "name": &rejected.Name, "hint": &rejected.Hint,
		} {
			*field, _ = reply.args[member].(string)
		}
		return nil, rejected
	}
	return newSQLResult(reply.args), nil
}

// contradiction returns the member of a reply block that no database answers to a statement, and why.
func contradiction(reply map[string]any, hasRows, readOnly bool) (name, what string) {
	if _, ok := reply["rows"]; ok && !hasRows {
		return "rows", "returns none"
	}
	for _, name := range []string{"affected", "last_id"} {
		if _, ok := reply[name]; ok && readOnly {
			return name, "changes nothing"
		}
	}
	return "", ""
}

// End implements adapters.Transaction.
func (tx *transaction) End(committed bool) {
	tx.mocks.mu.Lock()
	defer tx.mocks.mu.Unlock()
	for _, sent := range tx.sent {
		sent["committed"] = committed
	}
}

// argument returns a bound value as mocks and conditions read it. Bytes are their base64.
func argument(v any) any {
	switch v := v.(type) {
	case []byte:
		return base64.StdEncoding.EncodeToString(v)
	case int64:
		return int(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = argument(e)
		}
		return out
	}
	return v
}

// match compares a statement with a mock: with the whole statement, or with a part of it.
func (tx *transaction) match(m *Mock, text string, args []any, whole bool, hide func(string) string) mismatch {
	c := &matcher{hide: hide}
	c.part("the connection", m.Connection == tx.db.Connection, m.Connection, tx.db.Connection)
	if _, ok := m.Request["init"]; ok {
		c.part("the kind of the connection", false, "init, which only sqlite takes", tx.db.Kind)
	}
	if want, ok := m.Request["statement"].(string); ok {
		want, got := oneLine(want), oneLine(text)
		isPart := !whole && want != "" && (strings.Contains(got, want) || strings.Contains(hide(got), want))
		c.part("the statement", isPart || c.likeText(want, got), want, got)
	}
	if want, ok := m.Request["args"].([]any); ok {
		c.part("the number of args", len(want) == len(args), len(want), len(args))
		c.subset("args", want, args)
	}
	return c.mismatch()
}

// paste returns the mock block that answers the statement. A SQLite database whose connection makes its tables is best
// mocked by itself.
func (tx *transaction) paste(s *adapters.Statement, args []any, hide func(string) string) string {
	b := newBlock("sql", tx.db.Connection)
	if tx.db.HasInit && !slices.ContainsFunc(tx.mocks.mocks, tx.hasAnswers) {
		b.set("init", "")
		return b.text()
	}
	b.set("statement", hide(s.Text))
	if len(args) > 0 {
		b.set("args", hideValue(args, hide))
	}
	if s.HasRows {
		b.nested("reply").set("rows", []any{})
	} else {
		b.nested("reply").set("affected", 1)
	}
	return b.text()
}

// hasAnswers reports whether a mock answers statements of the connection.
func (tx *transaction) hasAnswers(s *state) bool {
	return s.Kind == "sql" && s.Connection == tx.db.Connection && (s.Tape == "" || s.exchange != nil)
}

func newSQLResult(reply map[string]any) *adapters.SQLResult {
	out := &adapters.SQLResult{}
	if columns, ok := reply["columns"].([]any); ok { // of a tape
		out.Columns, _ = textsOf(columns)
		rows, _ := reply["cells"].([]any)
		for _, row := range rows {
			cells, _ := row.([]any)
			out.Rows = append(out.Rows, cells)
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
		out.Columns = slices.Sorted(maps.Keys(names))
	}
	for _, row := range rows {
		object, _ := row.(map[string]any)
		cells := make([]any, len(out.Columns))
		for i, name := range out.Columns {
			cells[i], _ = value.ResolveAll(object[name]) // values of a configuration are decoded
		}
		out.Rows = append(out.Rows, cells)
	}
	out.Affected = len(rows)
	if n, ok := reply["affected"].(int); ok {
		out.Affected = n
	}
	if id, ok := reply["last_id"].(int); ok {
		out.LastID = id
	}
	return out
}
