package sql

import (
	"encoding/base64"
	"fmt"
	"maps"
	"strings"

	"hatchel/hcl/mock"
	"hatchel/hcl/schema"
)

// mockedStatement is a statement that mocks answer, with its bound values, which have the types that package sqltext
// binds.
type mockedStatement struct {
	tx       *mockedTransaction
	question *mock.Question
	text     string
	args     []any
	hasRows  bool // the answer has rows
}

// newStatement returns the statement of an execution as the next one of the transaction.
func (tx *mockedTransaction) newStatement(e *execution) *mockedStatement {
	s := &mockedStatement{tx: tx, text: e.text, args: make([]any, len(e.args)),
		hasRows: e.isQuery || e.kind.ReturnsRows}
	for i, v := range e.args {
		s.args[i] = mockedArgument(v)
	}
	s.question = &mock.Question{
		Kind: "sql", Connection: tx.database.connection, Name: mock.OneLine(e.text), ReadOnly: tx.readOnly,
		Sent:    map[string]any{"statement": e.text, "args": s.args, "committed": false},
		Secrets: tx.database.secrets(tx.as),
		Mocked:  tx.mocked, StandIn: tx.database.standIn, Match: s.match, Taped: s.taped, Suggest: s.suggest,
	}
	maps.Copy(s.question.Sent, tx.database.asked(tx.as))
	tx.asked = append(tx.asked, s.question)
	return s
}

// mockedArgument returns a bound value as mocks and conditions read it. Bytes are their base64.
func mockedArgument(v any) any {
	switch v := v.(type) {
	case []byte:
		return base64.StdEncoding.EncodeToString(v)
	case []any:
		return mapList(v, mockedArgument)
	}
	return shownArgument(v)
}

// taped returns the statement as a tape has it.
func (s *mockedStatement) taped() map[string]any {
	taped := s.tx.database.asked(s.tx.as)
	taped["statement"] = s.text
	if len(s.args) > 0 {
		taped["args"] = s.args
	}
	return taped
}

// match compares the statement with a mock: with the whole statement, or with a part of it.
func (s *mockedStatement) match(c *mock.Matcher, m *mock.Mock, whole bool) {
	db := s.tx.database
	c.Part("the connection", m.Connection == db.connection, m.Connection, db.connection)
	if _, ok := m.Request["init"]; ok {
		c.Part("the kind of the connection", false, "init, which only sqlite takes", db.kind)
	}
	if want, ok := m.Request["statement"].(string); ok {
		want, got := mock.OneLine(want), mock.OneLine(s.text)
		isPart := !whole && want != "" && (strings.Contains(got, want) || strings.Contains(c.Hide(got), want))
		c.Part("the statement", isPart || c.LikeText(want, got), want, got)
	}
	if want, ok := m.Request["args"].([]any); ok {
		c.Part("the number of args", len(want) == len(s.args), len(want), len(s.args))
		c.Subset("args", want, s.args)
	}
	matchIdentity(c, m.Request, db.asked(s.tx.as))
}

// suggest returns the mock that answers the statement. A SQLite database whose connection makes its tables is best
// mocked by itself.
func (s *mockedStatement) suggest() *mock.Mock {
	m := &mock.Mock{Connection: s.tx.database.connection}
	switch m.Request = s.taped(); {
	case s.tx.database.hasInit && !s.tx.mocked:
		m.Request = map[string]any{"init": ""}
	case s.hasRows:
		m.Replies = []map[string]any{{"rows": []any{}}}
	default:
		m.Replies = []map[string]any{{"affected": 1}}
	}
	return m
}

// contradiction returns the member of a reply block that no database answers to the statement, and why.
func (s *mockedStatement) contradiction(reply map[string]any) (name, what string) {
	if _, ok := reply["rows"]; ok && !s.hasRows {
		return "rows", "returns none"
	}
	for _, name := range []string{"affected", "last_id"} {
		if _, ok := reply[name]; ok && s.tx.readOnly {
			return name, "changes nothing"
		}
	}
	return "", ""
}

// mockKind is what tests write in place of a database.
func mockKind() *mock.Kind {
	const noRows = "the statement returns no rows: it is an exec without RETURNING"
	const noChange = "the statement changes nothing: it is a query"
	return &mock.Kind{
		Doc: "In a test: a statement, and the answers to it; or with init a SQLite database in memory, which answers " +
			"all statements of the connection.",
		Choice: "what is answered",
		Missing: "What is answered is required: write statement, which may be a part of it, or args, instance, role " +
			"or session; or init or tape.",
		Request: []mock.Argument{
			{Name: "statement", Doc: "The statement or a part of it, such as \"INSERT INTO invoices\". With a * it " +
				"is the whole statement, where * stands for any text. Spaces and line breaks count as one space.",
				Type: mock.Text, Lines: true, Code: true},
			{Name: "init", Doc: "Statements for a SQLite database in memory, which answers all statements itself.",
				Type: mock.Text},
		},
		Details: append([]mock.Argument{{Name: "args", Type: mock.List, Doc: "The parameters of the statement. " +
			"Without statement, the mock answers every statement with them."}}, identityArguments...),
		Answers: []mock.Argument{
			{Name: "rows", Doc: "The rows, as objects.", Type: mock.Rows, Member: "rows", Absent: noRows},
			{Name: "error", Doc: "The message of the database that rejects the statement.", Type: mock.Text},
		},
		Besides: []mock.Argument{
			{Name: "affected", Doc: "How many rows the statement has changed.", Type: mock.Integer, Member: "affected",
				Absent: noChange},
			{Name: "last_id", Doc: "The id of the row that was inserted.", Type: mock.Integer, Member: "last_id",
				Absent: noChange},
			{Name: "code", Doc: "The code of the error: an SQLSTATE, or the number of MySQL and SQLite.",
				Type: mock.Text},
			mock.Delay("How long the answer takes."),
		},
		After: &mock.After{
			Doc:       "A query of a SQLite database that init has made",
			Missing:   "one query of a SQLite database: sql \"ledger\" { query = \"SELECT …\" }",
			Of:        "The database.",
			Arguments: []mock.Argument{{Name: "query", Doc: "The query.", Type: mock.Text}},
			NoStandIn: "no mock with init makes the database %q",
			Unused:    "No statement was executed in the database %q.",
		},
		Output: func(output *schema.Type) *schema.Type {
			if results, ok := output.Lookup("results"); ok {
				return results.Type.Elem
			}
			return output
		},
		Taped: mock.Taped(map[string]*schema.Type{
			"columns": mock.Texts, "cells": schema.ListOf(mock.List), "affected": mock.Integer, "last_id": mock.Integer,
			"error": mock.Text, "code": mock.Text, "state": mock.Text, "name": mock.Text, "hint": mock.Text,
			"constraint": mock.Text, "table": mock.Text, "column": mock.Text, "routine": mock.Text,
		}),
		CheckTaped: checkTaped,
		Unquoted:   unquotedRejection,
		Naming:     []string{"statement"},
	}
}

func checkTaped(reply map[string]any) error {
	columns, _ := reply["columns"].([]any)
	cells, _ := reply["cells"].([]any)
	for i, row := range cells {
		if list, _ := row.([]any); len(list) != len(columns) {
			return fmt.Errorf("response.cells[%d] has %d cells, and there are %d columns", i, len(list), len(columns))
		}
	}
	return nil
}
