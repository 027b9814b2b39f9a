package toolstest

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"

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
func (m *Mocks) Begin(db adapters.Database, _ bool) adapters.Transaction {
	tx := &transaction{mocks: m, db: db}
	if db.Kind == "sqlite" {
		tx.memory = m.memoryOf(db.Connection)
	}
	return tx
}

type transaction struct {
	mocks  *Mocks
	db     adapters.Database
	memory *state           // nil if the mocks have the answers
	sent   []map[string]any // by the transaction
}

// Execute implements adapters.Transaction.
func (tx *transaction) Execute(ctx context.Context, s *adapters.Statement) (*adapters.SQLResult, error) {
	m := tx.mocks
	hide := func(text string) string { return m.hide(text, nil) }
	args := make([]any, len(s.Args))
	for i, v := range s.Args {
		args[i] = argument(v)
	}
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
		matches: func(mock *Mock) mismatch { return tx.match(mock, s.Text, args, hide) },
		paste:   func() string { return tx.paste(s, args, hide) },
	})
	if err == nil {
		err = m.wait(ctx, reply)
	}
	if err != nil {
		return nil, err
	}
	if text, ok := reply.args["error"].(string); ok {
		code, _ := reply.args["code"].(string)
		return nil, &adapters.SQLError{Code: code, Message: text}
	}
	return newSQLResult(reply.args), nil
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

// match compares a statement with a mock.
func (tx *transaction) match(m *Mock, text string, args []any, hide func(string) string) mismatch {
	c := &matcher{hide: hide}
	c.part("the connection", m.Connection == tx.db.Connection, m.Connection, tx.db.Connection)
	if _, ok := m.Request["init"]; ok {
		c.part("the kind of the connection", false, "init, which only sqlite takes", tx.db.Kind)
	}
	if want, ok := m.Request["statement"].(string); ok {
		c.part("the statement", c.likeText(oneLine(want), oneLine(text)), oneLine(want), oneLine(text))
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
	return s.Kind == "sql" && s.Connection == tx.db.Connection
}

func newSQLResult(reply map[string]any) *adapters.SQLResult {
	out := &adapters.SQLResult{}
	rows, _ := reply["rows"].([]any)
	names := map[string]bool{}
	for _, row := range rows {
		object, _ := row.(map[string]any)
		for name := range object {
			names[name] = true
		}
	}
	out.Columns = slices.Sorted(maps.Keys(names))
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
