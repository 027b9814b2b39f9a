package sql

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"hatchel/adapters/adaptertest"
	"hatchel/hcl/mock"
	"hatchel/hcl/value"
)

const mockedPayments = `
connection "postgres" "bank" { url = "postgres://bank.invalid/x" }
tool "pay" {
  description = "Pays."
  input "id" { type = integer }
  sql "bank" {
    exec = [
      "UPDATE accounts SET paid = true WHERE id = ${input.id}",
      "INSERT INTO payments (account) VALUES (${input.id}) RETURNING number, at",
    ]
  }
}
`

func TestMocksAnswerStatementsInATransaction(t *testing.T) {
	mocks := &adaptertest.Mocks{}
	mocks.Reply = func(context.Context, *mock.Question) (map[string]any, error) {
		if len(mocks.Asked)%2 == 1 {
			return map[string]any{"affected": 1}, nil
		}
		if len(mocks.Asked) == 4 {
			return map[string]any{"code": "23505", "error": "duplicate key"}, nil
		}
		return map[string]any{"columns": []any{"number", "at"}, "cells": []any{[]any{12, "now"}}, "affected": 1}, nil
	}
	b := adaptertest.Bind(t, adaptertest.Source{Set: testSet, HCL: mockedPayments, Mocks: mocks})
	out, err := b.Do(t.Context(), `{"id": 7}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := toJSON(t, out["results"]); !strings.Contains(got, `"rows":[{"number":12,"at":"now"}]`) {
		t.Errorf("results %s", got)
	}
	sent := mocks.Asked[0].Sent
	if !strings.HasPrefix(sent["statement"].(string), "UPDATE accounts SET paid = true WHERE id = $1") ||
		!reflect.DeepEqual(sent["args"], []any{7}) {
		t.Errorf("sent %+v", sent)
	}
	_, err = b.Do(t.Context(), `{"id": 7}`)
	if err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("error %v", err)
	}
	if !slices.Equal(committed(mocks), []bool{true, true, false, false}) {
		t.Errorf("committed %v", committed(mocks))
	}
}

// committed returns whether the transaction of each statement was committed.
func committed(mocks *adaptertest.Mocks) (all []bool) {
	for _, q := range mocks.Asked {
		all = append(all, q.Sent["committed"] == true)
	}
	return all
}

// mocksWithInit returns a mock that makes a database in memory.
func mocksWithInit(init string) *adaptertest.Mocks {
	return &adaptertest.Mocks{Mocks: []*mock.Mock{{Request: map[string]any{"init": init}}}}
}

const mockedLedger = `
connection "sqlite" "ledger" {
  file = "/not/there/ledger.db"
  init = "CREATE TABLE invoices (id INTEGER PRIMARY KEY, total REAL)"
}
tool "store" {
  description = "Stores."
  input "id" { type = integer }
  sql "ledger" { exec = [
    "INSERT INTO invoices VALUES (${input.id}, 2.5)",
    "INSERT INTO invoices SELECT id, 1 FROM invoices WHERE ${input.id} > 100",
    "SELECT count(*) AS n FROM invoices",
  ] }
}
`

func TestAMockedSQLiteDatabaseIsARealOneInMemory(t *testing.T) {
	mocks := mocksWithInit("INSERT INTO invoices VALUES (1, 10)")
	b := adaptertest.Bind(t, adaptertest.Source{Set: testSet, HCL: mockedLedger, Mocks: mocks})
	if mocks.Failed != nil {
		t.Fatal(mocks.Failed)
	}
	if _, err := b.Do(t.Context(), `{"id": 2}`); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Do(t.Context(), `{"id": 200}`); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("error %v", err)
	}
	out, err := b.Do(t.Context(), `{"id": 3}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := toJSON(t, out["results"]); !strings.Contains(got, `[{"n":3}]`) {
		t.Errorf("results %s: the rejected call was not rolled back, or the first row is missing", got)
	}
	if !slices.Equal(committed(mocks), []bool{true, true, true, false, false, true, true, true}) {
		t.Errorf("committed %v", committed(mocks))
	}
}

func TestReadersAndTheWriterShareTheDatabaseInMemory(t *testing.T) {
	mocks := mocksWithInit("")
	b := adaptertest.Bind(t, adaptertest.Source{Set: testSet, HCL: mockedLedger, Mocks: mocks})
	memory := b.Handle("ledger").(*mockedDatabase).memory
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			err := memory.write(t.Context(), identity{}, func(tx transaction) error {
				return tx.run(t.Context(), newTestExecution("INSERT INTO invoices (total) VALUES (1)"))
			})
			if err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			err := memory.read(t.Context(), identity{}, func(tx transaction) error {
				return tx.run(t.Context(), newTestExecution("SELECT * FROM invoices"))
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	e := newTestExecution("SELECT count(*) AS n FROM invoices")
	if err := memory.read(t.Context(), identity{}, func(tx transaction) error { return tx.run(t.Context(), e) }); err != nil {
		t.Fatal(err)
	}
	if got := toJSON(t, e.result); got != `[{"n":20}]` {
		t.Error(got)
	}
}

func TestADatabaseInMemoryMakesNoFiles(t *testing.T) {
	mocks := mocksWithInit("")
	b := adaptertest.Bind(t, adaptertest.Source{Set: testSet, HCL: mockedLedger, Mocks: mocks})
	memory := b.Handle("ledger").(*mockedDatabase).memory.(*sqliteDatabase)
	for _, text := range []string{"ATTACH DATABASE '/tmp/x.db' AS x", "VACUUM INTO '/tmp/x.db'"} {
		if err := memory.withConn(t.Context(), memory.writer, func(c *sqliteConn) error {
			_, err := c.raw.Exec(text, nil)
			return err
		}); err == nil {
			t.Errorf("%s was executed", text)
		}
	}
}

func TestAMistakeInTheStatementsOfAMockIsReported(t *testing.T) {
	mocks := mocksWithInit("INSERT INTO invoice VALUES (1)")
	adaptertest.Bind(t, adaptertest.Source{Set: testSet, HCL: mockedLedger, Mocks: mocks})
	if len(mocks.Failed) != 1 || !strings.Contains(mocks.Failed[0], "no such table: invoice") {
		t.Errorf("failed %q", mocks.Failed)
	}
}

func newTestExecution(text string) *execution {
	return &execution{text: text, result: &resultSet{maxRows: 100}, isQuery: true, last: true}
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := value.AppendJSON(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
