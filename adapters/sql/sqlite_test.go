package sql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
	"hatchel/hcl/value"
)

var testSet = adapters.Set{Adapters: []adapters.Adapter{Adapter()}, Connectors: Connectors()}

const schemaSQL = `
CREATE TABLE IF NOT EXISTS items (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price NUMERIC CHECK (price >= 0), code TEXT UNIQUE, at DATETIME, on_day DATE, done BOOLEAN, doc JSON, raw BLOB);
INSERT OR IGNORE INTO items VALUES (1, 'pen', 120, 'p', '2026-01-14 10:00:00', '2026-01-14', 1, '{"b":1,"a":[1.50]}', x'00ff'), (2, 'ink', 1.5, 'i', 'not a time', '', 0, 'no json', NULL);
CREATE TABLE IF NOT EXISTS parts (item INTEGER REFERENCES items(id), n INTEGER);`

// sqliteSource returns a configuration of one tool over a SQLite file initialised with schemaSQL.
func sqliteSource(t testing.TB, inputs, body string) adaptertest.Source {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "schema.sql"), []byte(schemaSQL), 0o600); err != nil {
		t.Fatal(err)
	}
	return adaptertest.Source{Set: testSet, Dir: dir, HCL: fmt.Sprintf(`
connection "sqlite" "shop" {
  file = "shop.db"
  init = %s
}
tool "t" {
  description = "A tool."
  %s
  sql "shop" {
    %s
  }
}`, heredoc(schemaSQL), inputs, body)}
}

func heredoc(s string) string { return "<<-EOT\n" + strings.TrimSpace(s) + "\nEOT\n" }

// mustCall makes a call and returns its output as JSON.
func mustCall(t testing.TB, b *adaptertest.BoundTool, arguments string) string {
	t.Helper()
	out, err := b.Do(t.Context(), arguments)
	if err != nil {
		var f *adapters.Fault
		if errors.As(err, &f) {
			t.Fatalf("%s: %v", f.Message, f.Cause)
		}
		t.Fatal(err)
	}
	text, err := value.AppendJSON(nil, out)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// mustFail makes a call that fails and returns the message of its fault.
func mustFail(t testing.TB, b *adaptertest.BoundTool, arguments string) string {
	t.Helper()
	out, err := b.Do(t.Context(), arguments)
	var f *adapters.Fault
	if !errors.As(err, &f) {
		t.Fatalf("the call did not fail with a fault: %v, %v", out, err)
	}
	adaptertest.CheckFault(t, f)
	return f.Message
}

func wantEqual(t testing.TB, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// sqlArgument returns the arguments of a call whose input "sql" is a text.
func sqlArgument(t testing.TB, text string) string {
	t.Helper()
	arguments, err := json.Marshal(map[string]string{"sql": text})
	if err != nil {
		t.Fatal(err)
	}
	return string(arguments)
}

const idInput = `input "id" { type = integer }`

// oneRow returns the JSON output of a query that returns one row.
func oneRow(row string) string { return `{"row":` + row + `,"rows":[` + row + `],"truncated":false}` }

func TestQueryConvertsValuesByDeclaredType(t *testing.T) {
	b := adaptertest.Bind(t, sqliteSource(t, idInput, `query = "SELECT * FROM items WHERE id = ${input.id}"`))
	for name, c := range map[string]struct{ arguments, want string }{
		"values of the declared types are converted": {`{"id":1}`, oneRow(`{"id":1,"name":"pen","price":120,"code":"p",` +
			`"at":"2026-01-14 10:00:00","on_day":"2026-01-14","done":true,"doc":{"a":[1.5],"b":1},"raw":"AP8="}`)},
		"other values are returned as stored": {`{"id":2}`, oneRow(`{"id":2,"name":"ink","price":1.5,"code":"i",` +
			`"at":"not a time","on_day":"","done":false,"doc":"no json","raw":null}`)},
		"no row is null": {`{"id":3}`, `{"row":null,"rows":[],"truncated":false}`},
	} {
		t.Run(name, func(t *testing.T) { wantEqual(t, mustCall(t, b, c.arguments), c.want) })
	}
}

func TestRowsAreCountedWithoutDecodingThem(t *testing.T) {
	out, err := adaptertest.Bind(t, sqliteSource(t, "", `query = "SELECT * FROM items"`)).Do(t.Context(), `{}`)
	if err != nil {
		t.Fatal(err)
	}
	rows := out["rows"].(*resultSet)
	if n := rows.Rows(); n != 2 || rows.decoded.Load() != nil {
		t.Errorf("%d rows, decoded %v", n, rows.decoded.Load())
	}
}

func TestSQLiteKeepsTheAdapterContract(t *testing.T) {
	t.Run("query", func(t *testing.T) {
		adaptertest.Run(t, adaptertest.Case{
			Source:    sqliteSource(t, `input "n" { type = integer }`, `query = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < ${input.n}) SELECT count(*) AS n FROM c"`),
			ValidCall: `{"n":3}`, BlockingCall: `{"n":100000000000}`,
		})
	})
	t.Run("exec", func(t *testing.T) {
		adaptertest.Run(t, adaptertest.Case{
			Source:    sqliteSource(t, `input "name" { type = nullable(string) }`, `exec = "INSERT INTO items (name) VALUES (${input.name})"`),
			ValidCall: `{"name":"x"}`, FailingCalls: map[string]string{"null": `{"name":null}`}, Secrets: []string{"shop.db"},
		})
	})
}

func TestExecReturnsAffectedRowsAndLastID(t *testing.T) {
	b := adaptertest.Bind(t, sqliteSource(t, `input "name" { type = string }`, `exec = "INSERT INTO items (id, name) VALUES (10, ${input.name}) ON CONFLICT DO NOTHING"`))
	wantEqual(t, mustCall(t, b, `{"name":"x"}`), `{"affected":1,"last_id":10}`)
	wantEqual(t, mustCall(t, b, `{"name":"x"}`), `{"affected":0,"last_id":null}`)
}

func TestReturningReturnsRows(t *testing.T) {
	b := adaptertest.Bind(t, sqliteSource(t, "", `exec = "UPDATE items SET price = price + 1 RETURNING id, price, at"`))
	wantEqual(t, mustCall(t, b, `{}`), `{"affected":2,"last_id":null,"row":{"id":1,"price":121,"at":"2026-01-14 10:00:00"},"rows":[{"id":1,"price":121,"at":"2026-01-14 10:00:00"},{"id":2,"price":2.5,"at":"not a time"}],"truncated":false}`)
}

func TestExecListIsOneTransaction(t *testing.T) {
	b := adaptertest.Bind(t, sqliteSource(t, idInput, `exec = ["UPDATE items SET name = 'changed'", "INSERT INTO parts (item, n) VALUES (${input.id}, 1) RETURNING n"]`))
	wantEqual(t, mustFail(t, b, `{"id":77}`), msgForeignKey)
	wantEqual(t, mustCall(t, b, `{"id":1}`), `{"results":[{"affected":2,"last_id":null,"row":null,"rows":[],"truncated":false},{"affected":1,"last_id":1,"row":{"n":1},"rows":[{"n":1}],"truncated":false}]}`)
}

func TestEachRunsOncePerElementInOneTransaction(t *testing.T) {
	b := adaptertest.Bind(t, sqliteSource(t, `input "rows" { type = list(object({ id = integer, name = string })) }`,
		"each = input.rows\n exec = \"INSERT INTO items (id, name) VALUES (${each.value.id}, ${each.value.name})\""))
	wantEqual(t, mustCall(t, b, `{"rows":[{"id":10,"name":"a"},{"id":11,"name":"b"}]}`), `{"affected":2,"last_id":11}`)
	wantEqual(t, mustFail(t, b, `{"rows":[{"id":12,"name":"a"},{"id":11,"name":"b"}]}`), "a row with the same items.id already exists")
	wantEqual(t, mustCall(t, b, `{"rows":[]}`), `{"affected":0,"last_id":null}`)
	wantEqual(t, mustCall(t, b, `{"rows":[{"id":12,"name":"a"}]}`), `{"affected":1,"last_id":12}`)
}

func TestQueryWithEachReturnsTheRowsOfAllElements(t *testing.T) {
	b := adaptertest.Bind(t, sqliteSource(t, `input "ids" { type = list(integer) }`, "each = input.ids\n query = \"SELECT ${each.key} AS k, name FROM items WHERE id = ${each.value}\""))
	wantEqual(t, mustCall(t, b, `{"ids":[2,1,5]}`), `{"row":{"k":0,"name":"ink"},"rows":[{"k":0,"name":"ink"},{"k":1,"name":"pen"}],"truncated":false}`)
}

func TestMaxRowsTruncatesOnlyLongerResults(t *testing.T) {
	for maxRows, want := range map[int]string{
		1: `{"row":{"id":1},"rows":[{"id":1}],"truncated":true}`,
		2: `{"row":{"id":1},"rows":[{"id":1},{"id":2}],"truncated":false}`,
	} {
		t.Run(fmt.Sprint(maxRows), func(t *testing.T) {
			b := adaptertest.Bind(t, sqliteSource(t, "", fmt.Sprintf("query = \"SELECT id FROM items ORDER BY id\"\n max_rows = %d", maxRows)))
			wantEqual(t, mustCall(t, b, `{}`), want)
		})
	}
}

func TestQueryCannotWrite(t *testing.T) {
	for _, text := range []string{
		"PRAGMA user_version = 5", "PRAGMA query_only = 0", "REINDEX", "ANALYZE", "PRAGMA journal_mode = DELETE", "PRAGMA writable_schema = 1",
	} {
		t.Run(text, func(t *testing.T) {
			b := adaptertest.Bind(t, sqliteSource(t, "", `query = "`+text+`"`))
			wantEqual(t, mustFail(t, b, `{}`), msgReadOnly)
		})
	}
}

func TestRejectedOutputIsRolledBack(t *testing.T) {
	b := adaptertest.Bind(t, sqliteSource(t, "", `exec = "DELETE FROM items"`))
	call, err := b.Call(t.Context(), `{}`)
	if err != nil {
		t.Fatal(err)
	}
	rejected := &adapters.Fault{Message: "two rows are too many"}
	call.CheckOutput = func(out any) error {
		if n := out.(map[string]any)["affected"]; n != 2 {
			t.Errorf("affected is %v", n)
		}
		return rejected
	}
	if _, err := b.Action.Do(t.Context(), call); !errors.Is(err, rejected) {
		t.Fatalf("got %v", err)
	}
	wantEqual(t, mustCall(t, b, `{}`), `{"affected":2,"last_id":null}`)
}

func TestHostileTextIsBoundUnchanged(t *testing.T) {
	b := adaptertest.Bind(t, sqliteSource(t, `input "s" { type = string }`, `query = "SELECT ${input.s} AS s, length(CAST(${input.s} AS BLOB)) AS n"`))
	for _, s := range hostileTexts {
		arguments, err := json.Marshal(map[string]string{"s": s})
		if err != nil {
			t.Fatal(err)
		}
		out, err := b.Do(t.Context(), string(arguments))
		if err != nil {
			t.Fatal(err)
		}
		row, err := value.Resolve(out["row"])
		if err != nil {
			t.Fatal(err)
		}
		if got := row.(map[string]any); got["s"] != s || got["n"] != len(s) {
			t.Errorf("%q arrived as %v", s, got)
		}
	}
}

var hostileTexts = []string{"", "'", `"`, "`", "\\", "'; DROP TABLE items; --", "?", "$1", ":a", "\x00", "a\x00b", "%s", "\u202e", "é", "e\u0301", "\U0001f600", "NULL", "1", "0x00", "{a}", strings.Repeat("'", 1000), "*/ --", "\r\n"}

func TestRepeatedColumnNamesAreNumbered(t *testing.T) {
	b := adaptertest.Bind(t, sqliteSource(t, "", `query = "SELECT 1 AS a, 2 AS a, 3 AS a_2, 4 AS a"`))
	wantEqual(t, mustCall(t, b, `{}`), oneRow(`{"a":1,"a_3":2,"a_2":3,"a_4":4}`))
}

func TestPreparedStatementSeesAChangedSchema(t *testing.T) {
	s := sqliteSource(t, "", `query = "SELECT * FROM parts"`)
	reader := adaptertest.Bind(t, s)
	mustCall(t, reader, `{}`)
	s.HCL = strings.Replace(s.HCL, `query = "SELECT * FROM parts"`, `exec = ["ALTER TABLE parts RENAME COLUMN n TO m", "ALTER TABLE parts ADD COLUMN x DATETIME", "INSERT INTO parts VALUES (1, 2, '2026-01-14 10:00:00')"]`, 1)
	mustCall(t, adaptertest.Bind(t, s), `{}`)
	wantEqual(t, mustCall(t, reader, `{}`), oneRow(`{"item":1,"m":2,"x":"2026-01-14 10:00:00"}`))
}

func TestMissingDirectoryIsReported(t *testing.T) {
	s := sqliteSource(t, "", `query = "SELECT 1 AS a"`)
	s.HCL = strings.Replace(s.HCL, `"shop.db"`, `"no/such/shop.db"`, 1)
	b := adaptertest.Bind(t, s)
	t.Run("to the model without its path", func(t *testing.T) {
		wantEqual(t, mustFail(t, b, `{}`), `the database "shop" is unavailable`)
	})
	t.Run("to the operator by Ping", func(t *testing.T) {
		err := b.Handle("shop").(adapters.Health).Ping(t.Context())
		if err == nil || !strings.Contains(err.Error(), "does not exist, so no database can be created in it") {
			t.Errorf("Ping returned %v", err)
		}
	})
}

func TestFileNameMayHaveURLCharacters(t *testing.T) {
	s := sqliteSource(t, "", `query = "SELECT count(*) AS n FROM items"`)
	s.HCL = strings.Replace(s.HCL, `"shop.db"`, `"a b?c#d%41&mode=ro.db"`, 1)
	mustCall(t, adaptertest.Bind(t, s), `{}`)
	if _, err := os.Stat(filepath.Join(s.Dir, "a b?c#d%41&mode=ro.db")); err != nil {
		t.Error(err)
	}
}

func TestWriterWaitsForAnotherProcessUntilTheCallEnds(t *testing.T) {
	s := sqliteSource(t, "", `exec = "DELETE FROM items"`)
	b := adaptertest.Bind(t, s)
	mustCall(t, b, `{}`)
	other := adaptertest.Bind(t, s)
	database := other.Handle("shop").(database)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := database.write(t.Context(), identity{}, func(transaction) error {
		start := time.Now()
		_, err := b.Do(ctx, `{}`)
		if err == nil || time.Since(start) > adaptertest.MaxCancelDelay {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	mustCall(t, b, `{}`)
}

// The driver reads the error of a statement from its connection, so nothing else may run there: an interrupted statement
// would end as one that has worked.
func TestInterruptedStatementFails(t *testing.T) {
	const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x), 'n' FROM c"
	var calling sync.WaitGroup
	for range 8 { // more than there are processors
		b := adaptertest.Bind(t, sqliteSource(t, "", "exec = \"INSERT INTO items (id, name) "+endless+"\""))
		calling.Go(func() {
			for range 25 {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
				out, err := b.Do(ctx, `{}`)
				cancel()
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v, %v", out, err)
				}
			}
		})
	}
	calling.Wait()
}
