package sql

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
)

// of is a configuration of one tool over a connection of a kind, with its arguments.
func of(kind, arguments, inputs, body string) adaptertest.Source {
	return adaptertest.Source{Set: set, HCL: fmt.Sprintf(`
connection %q "db" {
  %s
}
tool "t" {
  description = "A tool."
  %s
  sql "db" {
    %s
  }
}`, kind, arguments, inputs, body)}
}

func TestAQueryThatChangesSomethingIsRefusedWhenItIsLoaded(t *testing.T) {
	for _, text := range []string{
		"INSERT INTO a (b) VALUES ('x')", "WITH x AS (SELECT 1) DELETE FROM a", "UPDATE a SET b = 'x' RETURNING b", "DELETE FROM a", "REPLACE INTO a VALUES (2)", "TRUNCATE TABLE a",
		"CREATE TEMP TABLE x (a INT)", "DROP TABLE a", "ALTER TABLE a ADD COLUMN b INT", "-- first\ndrop table a",
	} {
		for kind, arguments := range map[string]string{"sqlite": `file = "x.db"`, "postgres": `url = "postgres://h/db"`, "mysql": `url = "mysql://h/db"`} {
			if got := adaptertest.Refusal(t, of(kind, arguments, "", fmt.Sprintf("query = %q", text))); !strings.Contains(got, "9:13: Backend refused: A query only reads, and ") {
				t.Errorf("%s on %s: %s", text, kind, got)
			}
		}
	}
}

func TestMistakesAreToldAtTheArgument(t *testing.T) {
	file := `file = "x.db"`
	text := `input "s" { type = string }`
	for _, c := range []struct {
		source adaptertest.Source
		want   string
	}{
		{of("sqlite", file+"\n mode = \"ro\"", "", `exec = "DELETE FROM t"`), `10:12: Backend refused: The connection "db" has mode = "ro"`},
		{of("sqlite", file, text, "statement = input.s"), `9:17: Backend refused: A caller's own statement runs only on a connection with mode = "ro"`},
		{of("sqlite", file+"\n mode = \"ro\"", `input "s" { type = list(string) }`, "statement = input.s"), "A statement is a text, and this is list(string)."},
		{of("sqlite", file+"\n mode = \"ro\"", text, "each = [1]\n statement = input.s"), "A caller's own statement runs once"},
		{of("sqlite", file, "", `query = ["SELECT 1", "SELECT 2"]`), "A query is one statement."},
		{of("sqlite", file, "", "query = \"SELECT 1\"\n max_rows = 0"), "max_rows is at least 1."},
		{of("sqlite", file, "", `exec = ["BEGIN", "DELETE FROM t", "COMMIT"]`), "9:13: Backend refused: BEGIN does not belong here: what a block runs is one transaction already"},
		{of("sqlite", file, "", `exec = "ATTACH 'x' AS y"`), "ATTACH does not belong here: connections are shared"},
		{of("sqlite", file, "", `query = "SELECT 1"`+"\n"+`exec = "DELETE FROM t"`), "Too many arguments"},
		{of("sqlite", file+"\n mode = \"rx\"", "", `query = "SELECT 1"`), `4:9: Invalid connection: mode is "ro" or "rw", and this is "rx".`},
		{of("sqlite", `file = ":memory:"`, "", `query = "SELECT 1"`), "A database in memory"},
		{of("sqlite", file+"\n mode = \"ro\"\n init = \"x\"", "", `query = "SELECT 1"`), "init changes the database"},
		{of("sqlite", file+"\n readers = 0", "", `query = "SELECT 1"`), "readers is at least 1."},
		{of("postgres", `url = "postgres://u:hush@h:x/db"`, "", `query = "SELECT 1"`), "url is no address of a PostgreSQL database."},
		{of("mysql", `url = "mysql://"`, "", `query = "SELECT 1"`), "url is no address of a MySQL database."},
		{of("mysql", "url = \"mysql://h/db\"\n decimals = \"float\"\n max_connections = 0", "", `query = "SELECT 1"`), `decimals is "text" or "number"`},
		{of("mysql", `url = "mysql://h/db"`, "", `exec = ["CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1)"]`), "MySQL makes everything before CREATE final"},
	} {
		got := adaptertest.Refusal(t, c.source)
		if !strings.Contains(got, c.want) || strings.Contains(got, "hush") {
			t.Errorf("%s\ngot  %s\nwant %s", c.source.HCL, got, c.want)
		}
	}
}

func TestFactsSayWhatAStatementDoes(t *testing.T) {
	for text, want := range map[string]string{
		`query = "SELECT 1"`:                                                            "reads",
		`exec = "INSERT INTO t (a) VALUES (1)"`:                                         "writes",
		`exec = "INSERT INTO t (a) VALUES ('DELETE') -- UPDATE"`:                        "writes",
		`exec = "INSERT INTO t (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 2"`:     "loses",
		`exec = "INSERT OR REPLACE INTO t (a) VALUES (1)"`:                              "loses",
		`exec = "DELETE FROM t"`:                                                        "loses",
		`exec = "UPDATE t SET a = 1"`:                                                   "loses",
		`exec = ["INSERT INTO t (a) VALUES (1)", "DROP TABLE t"]`:                       "loses",
		`exec = "CREATE TABLE t (a INTEGER REFERENCES u(a) ON DELETE CASCADE)"`:         "writes",
		`exec = "WITH x AS (SELECT 1 AS a) DELETE FROM t WHERE a IN (SELECT a FROM x)"`: "loses",
	} {
		f := adaptertest.Bind(t, of("sqlite", `file = "x.db"`, "", text)).Tool
		got := "writes"
		switch {
		case f.ReadOnly:
			got = "reads"
		case f.Destructive:
			got = "loses"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestPlanShowsTheTextAndItsValues(t *testing.T) {
	b := adaptertest.Bind(t, lite(t, idInput, `query = "SELECT name FROM items WHERE id = ${input.id} AND name <> ${"a'b"}"`))
	plan, err := b.Plan(t.Context(), `{"id":1}`)
	if err != nil {
		t.Fatal(err)
	}
	wants(t, plan, "a read-only query on shop\nSELECT name FROM items WHERE id = ? AND name <> ?\n  1: 1\n  2: \"a'b\"\n")
	b = adaptertest.Bind(t, lite(t, `input "l" { type = list(string) }`, "each = input.l\n exec = \"INSERT INTO items (name) VALUES (${each.value})\""))
	if plan, err = b.Plan(t.Context(), `{"l":["`+strings.Repeat(`a","`, 24)+`z"]}`); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(plan, "one transaction on shop\nfor 0:\n") || !strings.HasSuffix(plan, adapters.NotShown+"the same for 5 elements more]\n") {
		t.Error(plan)
	}
	if plan, err = b.Plan(t.Context(), `{"l":["`+strings.Repeat("a", 1998)+`bcd"]}`); err != nil || !strings.HasSuffix(plan, "ab… "+adapters.NotShown+"3 bytes more]\n") {
		t.Error(plan, err)
	}
}

func TestProbeOfSQLiteTellsColumnsAndMistakes(t *testing.T) {
	b := adaptertest.Bind(t, lite(t, idInput, `query = "SELECT id, at FROM items WHERE id = ${input.id}"`))
	rows, err := b.Action.(adapters.Prober).Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wants(t, rows.String(), "list(object({ id = any, at = any }))")
	b = adaptertest.Bind(t, lite(t, idInput, `query = "SELECT nam FROM items WHERE id = ${input.id}"`))
	_, err = b.Action.(adapters.Prober).Probe(t.Context())
	wants(t, b.Tool.Steps[0].Backend.Diagnose(err)[0].Detail, "The database refuses the statement: no such column: nam.")
	b = adaptertest.Bind(t, lite(t, "", `query = "PRAGMA user_version = 5"`))
	_, err = b.Action.(adapters.Prober).Probe(t.Context())
	wants(t, b.Tool.Steps[0].Backend.Diagnose(err)[0].Detail, "The database refuses the statement: "+saidReadOnly+".")
}

func TestCallersStatementOnAFileOnlyReads(t *testing.T) {
	dir := adaptertest.Bind(t, lite(t, "", `query = "SELECT 1 AS a"`))
	do(t, dir, `{}`)
	s := of("sqlite", "file = \"shop.db\"\n mode = \"ro\"", `input "sql" { type = string }`, "statement = input.sql\n max_rows = 2")
	s.Dir = dir.Dir
	b := adaptertest.Bind(t, s)
	wants(t, do(t, b, `{"sql":"SELECT id FROM items ORDER BY id; -- all"}`), `{"row":{"id":1},"rows":[{"id":1},{"id":2}],"truncated":false}`)
	wants(t, do(t, b, `{"sql":"PRAGMA table_info(parts)"}`), `{"row":{"cid":0,"name":"item","type":"INTEGER","notnull":0,"dflt_value":null,"pk":0},"rows":[{"cid":0,"name":"item","type":"INTEGER","notnull":0,"dflt_value":null,"pk":0},{"cid":1,"name":"n","type":"INTEGER","notnull":0,"dflt_value":null,"pk":0}],"truncated":false}`)
	for _, text := range []string{
		"", "SELECT 1; SELECT 2", "DELETE FROM items", "ATTACH '" + filepath.Join(dir.Dir, "new.db") + "' AS x", "PRAGMA user_version = 3", "PRAGMA query_only = off", "SELECT load_extension('x')", "SELECT ?", "SELECT :a", "VACUUM INTO '/tmp/x'",
		"WITH x AS (SELECT 1) INSERT INTO parts SELECT 1, 1 FROM x", "SELECT * FROM pragma_journal_mode('delete')", "BEGIN", "SELECT 1 UNION", "SELECT zeroblob(1000000000)", "WITH RECURSIVE c(x) AS (SELECT 1", "SELECT missing FROM items",
	} {
		refused(t, b, fmt.Sprintf(`{"sql":%q}`, text))
	}
	if _, err := os.Stat(filepath.Join(dir.Dir, "new.db")); err == nil {
		t.Error("ATTACH made a file")
	}
	wants(t, refused(t, b, `{"sql":"SELECT missing FROM items"}`), "the statement is refused: no such column: missing")
}

func TestSemicolonAndCommentBehindAStatement(t *testing.T) {
	b := adaptertest.Bind(t, lite(t, "", `query = "SELECT ';--' AS a /* ; */; -- done; ' "`))
	wants(t, do(t, b, `{}`), `{"row":{"a":";--"},"rows":[{"a":";--"}],"truncated":false}`)
}

func TestRowsAreCutAtTheirSize(t *testing.T) {
	b := adaptertest.Bind(t, lite(t, "", `query = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 40) SELECT hex(zeroblob(500000)) AS s FROM c"`))
	out, err := b.Do(t.Context(), `{}`)
	if err != nil {
		t.Fatal(err)
	}
	if n := out["rows"].(*table).rows; n != 17 || out["truncated"] != true {
		t.Errorf("%d rows, truncated is %v", n, out["truncated"])
	}
}
