package sql

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
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
	var sent []*adapters.Statement
	mocks := &adaptertest.Mocks{Statement: func(s *adapters.Statement) (*adapters.SQLResult, error) {
		sent = append(sent, s)
		if len(sent)%2 == 1 {
			return &adapters.SQLResult{Affected: 1}, nil
		}
		if len(sent) == 4 {
			return nil, &adapters.SQLError{Code: "23505", Message: "duplicate key"}
		}
		return &adapters.SQLResult{Columns: []string{"number", "at"}, Rows: [][]any{{12, "now"}}, Affected: 1}, nil
	}}
	b := adaptertest.Bind(t, adaptertest.Source{Set: testSet, HCL: mockedPayments, Mocks: mocks})
	out, err := b.Do(t.Context(), `{"id": 7}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := toJSON(t, out["results"]); !strings.Contains(got, `"rows":[{"number":12,"at":"now"}]`) {
		t.Errorf("results %s", got)
	}
	if !strings.HasPrefix(sent[0].Text, "UPDATE accounts SET paid = true WHERE id = $1") ||
		!reflect.DeepEqual(sent[0].Args, []any{7}) {
		t.Errorf("sent %+v", sent[0])
	}
	_, err = b.Do(t.Context(), `{"id": 7}`)
	if err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("error %v", err)
	}
	if !slices.Equal(mocks.Ended, []bool{true, false}) {
		t.Errorf("committed %v", mocks.Ended)
	}
}

func TestAMockedServerMayRefuseConnections(t *testing.T) {
	mocks := &adaptertest.Mocks{Statement: func(*adapters.Statement) (*adapters.SQLResult, error) {
		return nil, syscall.ECONNREFUSED
	}}
	b := adaptertest.Bind(t, adaptertest.Source{Set: testSet, HCL: mockedPayments, Mocks: mocks})
	_, err := b.Do(t.Context(), `{"id": 7}`)
	if err == nil || !strings.Contains(err.Error(), `the database "bank" is unavailable`) {
		t.Errorf("error %v", err)
	}
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
	init := "INSERT INTO invoices VALUES (1, 10)"
	mocks := &adaptertest.Mocks{Init: &init, Statement: func(*adapters.Statement) (*adapters.SQLResult, error) {
		return nil, nil
	}}
	b := adaptertest.Bind(t, adaptertest.Source{Set: testSet, HCL: mockedLedger, Mocks: mocks})
	if mocks.InitError != nil {
		t.Fatal(mocks.InitError)
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
	if !slices.Equal(mocks.Ended, []bool{true, false, true}) {
		t.Errorf("committed %v", mocks.Ended)
	}
}

func TestReadersAndTheWriterShareTheDatabaseInMemory(t *testing.T) {
	init := ""
	mocks := &adaptertest.Mocks{Init: &init}
	b := adaptertest.Bind(t, adaptertest.Source{Set: testSet, HCL: mockedLedger, Mocks: mocks})
	memory := b.Handle("ledger").(*mockedDatabase).memory
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			err := memory.write(t.Context(), func(tx transaction) error {
				return tx.run(t.Context(), newTestExecution("INSERT INTO invoices (total) VALUES (1)"))
			})
			if err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			err := memory.read(t.Context(), func(tx transaction) error {
				return tx.run(t.Context(), newTestExecution("SELECT * FROM invoices"))
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	e := newTestExecution("SELECT count(*) AS n FROM invoices")
	if err := memory.read(t.Context(), func(tx transaction) error { return tx.run(t.Context(), e) }); err != nil {
		t.Fatal(err)
	}
	if got := toJSON(t, e.result); got != `[{"n":20}]` {
		t.Error(got)
	}
}

func TestADatabaseInMemoryMakesNoFiles(t *testing.T) {
	init := ""
	mocks := &adaptertest.Mocks{Init: &init}
	b := adaptertest.Bind(t, adaptertest.Source{Set: testSet, HCL: mockedLedger, Mocks: mocks})
	memory := b.Handle("ledger").(*mockedDatabase).memory
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
	init := "INSERT INTO invoice VALUES (1)"
	mocks := &adaptertest.Mocks{Init: &init}
	adaptertest.Bind(t, adaptertest.Source{Set: testSet, HCL: mockedLedger, Mocks: mocks})
	if mocks.InitError == nil || mocks.InitError.Error() != "no such table: invoice" {
		t.Errorf("error %v", mocks.InitError)
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
