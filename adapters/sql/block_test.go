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

// sourceOf returns a configuration of one tool over a connection of a kind with these arguments.
func sourceOf(kind, arguments, inputs, body string) adaptertest.Source {
	return adaptertest.Source{Set: testSet, HCL: fmt.Sprintf(`
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

func TestQueryThatWritesIsRejectedAtLoad(t *testing.T) {
	for _, text := range []string{
		"INSERT INTO a (b) VALUES ('x')", "WITH x AS (SELECT 1) DELETE FROM a", "UPDATE a SET b = 'x' RETURNING b", "DELETE FROM a", "REPLACE INTO a VALUES (2)", "TRUNCATE TABLE a",
		"CREATE TEMP TABLE x (a INT)", "DROP TABLE a", "ALTER TABLE a ADD COLUMN b INT", "-- first\ndrop table a",
	} {
		for kind, arguments := range map[string]string{"sqlite": `file = "x.db"`, "postgres": `url = "postgres://h/db"`, "mysql": `url = "mysql://h/db"`} {
			t.Run(kind+"/"+text, func(t *testing.T) {
				got := adaptertest.MustReject(t, sourceOf(kind, arguments, "", fmt.Sprintf("query = %q", text)))
				if !strings.Contains(got, "9:13: ") || !strings.Contains(got, "query only reads, and ") {
					t.Error(got)
				}
			})
		}
	}
}

func TestMistakesAreReportedAtTheArgument(t *testing.T) {
	file := `file = "x.db"`
	readOnly := file + "\n mode = \"ro\""
	text := `input "s" { type = string }`
	for name, c := range map[string]struct {
		source adaptertest.Source
		line   string
		want   string
	}{
		"exec on a read-only connection": {sourceOf("sqlite", readOnly, "", `exec = "DELETE FROM t"`),
			"10:12", `The connection "db" is read-only (mode = "ro").`},
		"statement on a connection that writes": {sourceOf("sqlite", file, text, "statement = input.s"),
			"9:17", `A caller's statement requires a connection with mode = "ro"`},
		"statement that is a list": {sourceOf("sqlite", readOnly, `input "s" { type = list(string) }`, "statement = input.s"),
			"10:17", "statement must be a string, not list(string)."},
		"statement with each": {sourceOf("sqlite", readOnly, text, "each = [1]\n statement = input.s"),
			"10:12", "A caller's statement runs once."},
		"query with a list": {sourceOf("sqlite", file, "", `query = ["SELECT 1", "SELECT 2"]`),
			"9:13", "query takes one statement."},
		"max_rows": {sourceOf("sqlite", file, "", "query = \"SELECT 1\"\n max_rows = 0"),
			"10:13", "max_rows must be at least 1"},
		"transaction control": {sourceOf("sqlite", file, "", `exec = ["BEGIN", "DELETE FROM t", "COMMIT"]`),
			"9:13", "BEGIN is not allowed here: a block already runs as one transaction"},
		"session state": {sourceOf("sqlite", file, "", `exec = "ATTACH 'x' AS y"`),
			"9:12", "ATTACH is not allowed here: calls share connections"},
		"no transaction": {sourceOf("sqlite", file, "", `exec = "VACUUM"`),
			"9:12", "VACUUM is not allowed here: it cannot run in a transaction, and a block runs as one"},
		"transaction control in a branch": {sourceOf("sqlite", file, text, `exec = "%{ if length(input.s) > 1 }COMMIT%{ else }DELETE FROM a%{ endif }"`),
			"9:12", "COMMIT is not allowed here: a block already runs as one transaction"},
		"two statements": {sourceOf("sqlite", file, "", `query = "SELECT 1"`+"\n"+`exec = "DELETE FROM t"`),
			"", "Too many arguments"},
		"mode": {sourceOf("sqlite", file+"\n mode = \"rx\"", "", `query = "SELECT 1"`),
			"4:9", `mode is "ro" or "rw", not "rx".`},
		"database in memory": {sourceOf("sqlite", `file = ":memory:"`, "", `query = "SELECT 1"`),
			"3:10", "A database in memory"},
		"init on a read-only connection": {sourceOf("sqlite", readOnly+"\n init = \"x\"", "", `query = "SELECT 1"`),
			"5:9", `init writes, but mode is "ro".`},
		"max_readers": {sourceOf("sqlite", file+"\n max_readers = 0", "", `query = "SELECT 1"`),
			"4:16", "max_readers must be at least 1"},
		"the former name of max_readers": {sourceOf("sqlite", file+"\n readers = 4", "", `query = "SELECT 1"`),
			"4:2", `"readers" was renamed to "max_readers".`},
		"PostgreSQL URL": {sourceOf("postgres", `url = "postgres://u:hush@h:x/db"`, "", `query = "SELECT 1"`),
			"3:9", "url is not the address of a PostgreSQL database"},
		"MySQL URL": {sourceOf("mysql", `url = "mysql://"`, "", `query = "SELECT 1"`),
			"3:9", "url is not the address of a MySQL database"},
		"a url with a line break at its end": {sourceOf("postgres", `url = "postgres://h/db\n"`, "", `query = "SELECT 1"`),
			"3:9", "url "},
		"a host that cannot exist": {sourceOf("postgres", `url = "postgres://u:p@ho..st/db"`, "", `query = "SELECT 1"`),
			"3:9", "url has a host that cannot exist."},
		"the second host cannot exist": {sourceOf("postgres", `url = "postgres://u:p@a,b%2Cc/db"`, "", `query = "SELECT 1"`),
			"3:9", "url "},
		"an unknown form of time zone": {sourceOf("postgres", "url = \"postgres://h/db\"\ntime_zone = \"+5\"", "", `query = "SELECT 1"`),
			"4:13", "time_zone must be the name of a time zone"},
		"a url of MySQL between blanks": {sourceOf("mysql", `url = " mysql://u:hush@h/db "`, "", `query = "SELECT 1"`),
			"3:9", "url begins or ends with white space."},
		"a file with a blank at its end": {sourceOf("sqlite", `file = "shop.db "`, "", `query = "SELECT 1"`),
			"3:10", "file begins or ends with white space."},
		"decimals": {sourceOf("mysql", "url = \"mysql://h/db\"\n decimals = \"float\"\n max_connections = 0", "", `query = "SELECT 1"`),
			"4:13", `decimals is "text" or "number", not "float".`},
		"implicit commit of MySQL": {sourceOf("mysql", `url = "mysql://h/db"`, "", `exec = ["CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1)"]`),
			"9:13", "MySQL commits everything before CREATE implicitly"},
	} {
		t.Run(name, func(t *testing.T) {
			got := adaptertest.MustReject(t, c.source)
			if !strings.Contains(got, c.line) || !strings.Contains(got, c.want) {
				t.Errorf("got %s\nwant %s: %s", got, c.line, c.want)
			}
			if strings.Contains(got, "hush") {
				t.Errorf("the diagnostic has the password: %s", got)
			}
		})
	}
}

// A load opens nothing: the files that an address names, and those that it leaves to the home directory, may be absent
// or broken.
func TestTheCheckOfAnAddressReadsNoFiles(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	if err := os.Mkdir(filepath.Join(home, ".postgresql"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"postgresql.crt", "postgresql.key", "root.crt"} {
		if err := os.WriteFile(filepath.Join(home, ".postgresql", name), []byte("broken"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for text, valid := range map[string]bool{
		"postgres://h/db": true,
		"postgres://u:p@a:1,b:2/db?sslmode=verify-full":                  true,
		"postgresql://u@h/db?sslcert=/no/c&sslkey=/no/k&sslrootcert=/no": true,
		"host=h dbname=db": true,
		"host=h sslmode=require sslkey=/no/k sslcert=/no/c": true,
		"postgres://h/db?sslmode=some":                      false,
		"host=h sslmode=some":                               false,
		"postgres://h:x/db":                                 false,
		"h":                                                 false,
	} {
		if err := checkPostgresURL(text); (err == nil) != valid {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestEffectsFollowFromTheStatement(t *testing.T) {
	for body, want := range map[string]string{
		`query = "SELECT 1"`:                                                            "reads",
		`exec = "INSERT INTO t (a) VALUES (1)"`:                                         "writes",
		`exec = "INSERT INTO t (a) VALUES ('DELETE') -- UPDATE"`:                        "writes",
		`exec = "INSERT INTO t (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 2"`:     "may lose data",
		`exec = "INSERT OR REPLACE INTO t (a) VALUES (1)"`:                              "may lose data",
		`exec = "DELETE FROM t"`:                                                        "may lose data",
		`exec = "UPDATE t SET a = 1"`:                                                   "may lose data",
		`exec = ["INSERT INTO t (a) VALUES (1)", "DROP TABLE t"]`:                       "may lose data",
		`exec = "CREATE TABLE t (a INTEGER REFERENCES u(a) ON DELETE CASCADE)"`:         "writes",
		`exec = "WITH x AS (SELECT 1 AS a) DELETE FROM t WHERE a IN (SELECT a FROM x)"`: "may lose data",
	} {
		t.Run(body, func(t *testing.T) {
			tool := adaptertest.Bind(t, sourceOf("sqlite", `file = "x.db"`, "", body)).Tool
			got := "writes"
			switch {
			case tool.ReadOnly:
				got = "reads"
			case tool.Destructive:
				got = "may lose data"
			}
			wantEqual(t, got, want)
		})
	}
}

func TestPlanShowsStatementsAndValues(t *testing.T) {
	list := `input "l" { type = list(string) }`
	each := "each = input.l\n exec = \"INSERT INTO items (name) VALUES (${each.value})\""
	plan := func(t *testing.T, inputs, body, arguments string) string {
		t.Helper()
		plan, err := adaptertest.Bind(t, sqliteSource(t, inputs, body)).Plan(t.Context(), arguments)
		if err != nil {
			t.Fatal(err)
		}
		return plan
	}
	t.Run("of a query", func(t *testing.T) {
		got := plan(t, idInput, `query = "SELECT name FROM items WHERE id = ${input.id} AND name <> ${"a'b"}"`, `{"id":1}`)
		wantEqual(t, got, "a read-only query on shop\nSELECT name FROM items WHERE id = ? AND name <> ?\n  1: 1\n  2: \"a'b\"\n")
	})
	t.Run("of the first elements of each", func(t *testing.T) {
		got := plan(t, list, each, `{"l":["`+strings.Repeat(`a","`, 24)+`z"]}`)
		if !strings.HasPrefix(got, "one transaction on shop\nfor 0:\n") || !strings.HasSuffix(got, adapters.OmittedPrefix+"the same for 5 more elements]\n") {
			t.Error(got)
		}
	})
	t.Run("truncates long values", func(t *testing.T) {
		got := plan(t, list, each, `{"l":["`+strings.Repeat("a", 1998)+`bcd"]}`)
		if !strings.HasSuffix(got, "ab… "+adapters.OmittedPrefix+"3 more bytes]\n") {
			t.Error(got)
		}
	})
}

func TestProbeOfSQLite(t *testing.T) {
	for name, c := range map[string]struct{ query, rows, detail string }{
		"returns the columns": {"SELECT id, at FROM items WHERE id = ${input.id}", "list(object({ id = any, at = any }))", ""},
		"reports an unknown column": {"SELECT nam FROM items WHERE id = ${input.id}", "",
			"The database rejects the statement: no such column: nam."},
		"takes branches of one condition together": {
			"SELECT id%{if input.id != 1}, at AS x%{endif} FROM items %{if (input.id!=1)}ORDER BY x%{endif}", "", "",
		},
		"takes either a branch or its negation": {
			"SELECT id%{if !(input.id == 1)}, at AS x%{endif} FROM items ORDER BY %{if input.id == 1} id %{else} x %{endif}", "", "",
		},
		"reports a branch of the negation": {
			"SELECT id%{if input.id == 1}, at AS x%{endif} FROM items %{if input.id != 1}ORDER BY x%{endif}", "",
			"The database rejects the statement with every condition false, loops and lists empty: no such column: x.",
		},
		"reports a write": {"PRAGMA user_version = 5", "", "The database rejects the statement: " + msgReadOnly + "."},
	} {
		t.Run(name, func(t *testing.T) {
			b := adaptertest.Bind(t, sqliteSource(t, idInput, fmt.Sprintf("query = %q", c.query)))
			rows, err := b.Action.(adapters.Prober).Probe(t.Context())
			if err == nil && rows == nil {
				return // the columns depend on the call
			}
			if err == nil {
				wantEqual(t, rows.String(), c.rows)
				return
			}
			wantEqual(t, b.Tool.Steps[0].Backend.Diagnose(err)[0].Detail, c.detail)
		})
	}
}

func TestCallerStatementOnSQLite(t *testing.T) {
	creator := adaptertest.Bind(t, sqliteSource(t, "", `query = "SELECT 1 AS a"`))
	mustCall(t, creator, `{}`)
	s := sourceOf("sqlite", "file = \"shop.db\"\n mode = \"ro\"", `input "sql" { type = string }`, "statement = input.sql\n max_rows = 2")
	s.Dir = creator.Dir
	b := adaptertest.Bind(t, s)
	for text, want := range map[string]string{
		"SELECT id FROM items ORDER BY id; -- all": `{"row":{"id":1},"rows":[{"id":1},{"id":2}],"truncated":false}`,
		"PRAGMA table_info(parts)": `{"row":{"cid":0,"name":"item","type":"INTEGER","notnull":0,"dflt_value":null,"pk":0},"rows":[` +
			`{"cid":0,"name":"item","type":"INTEGER","notnull":0,"dflt_value":null,"pk":0},` +
			`{"cid":1,"name":"n","type":"INTEGER","notnull":0,"dflt_value":null,"pk":0}],"truncated":false}`,
	} {
		t.Run("reads/"+text, func(t *testing.T) { wantEqual(t, mustCall(t, b, sqlArgument(t, text)), want) })
	}
	newFile := filepath.Join(s.Dir, "new.db")
	for _, text := range []string{
		"", "SELECT 1; SELECT 2", "DELETE FROM items", "ATTACH '" + newFile + "' AS x", "PRAGMA user_version = 3", "PRAGMA query_only = off",
		"SELECT load_extension('x')", "SELECT ?", "SELECT :a", "VACUUM INTO '/tmp/x'", "WITH x AS (SELECT 1) INSERT INTO parts SELECT 1, 1 FROM x",
		"SELECT * FROM pragma_journal_mode('delete')", "BEGIN", "SELECT 1 UNION", "SELECT zeroblob(1000000000)", "WITH RECURSIVE c(x) AS (SELECT 1",
	} {
		t.Run("is rejected/"+text, func(t *testing.T) { mustFail(t, b, sqlArgument(t, text)) })
	}
	t.Run("ATTACH creates no file", func(t *testing.T) {
		if _, err := os.Stat(newFile); err == nil {
			t.Error("the file exists")
		}
	})
	t.Run("its mistakes are quoted to the caller", func(t *testing.T) {
		wantEqual(t, mustFail(t, b, sqlArgument(t, "SELECT missing FROM items")), "the statement was rejected: no such column: missing")
	})
}

func TestSemicolonAndCommentsMayFollowAStatement(t *testing.T) {
	b := adaptertest.Bind(t, sqliteSource(t, "", `query = "SELECT ';--' AS a /* ; */; -- done; ' "`))
	wantEqual(t, mustCall(t, b, `{}`), oneRow(`{"a":";--"}`))
}

func TestLargeResultIsTruncated(t *testing.T) {
	b := adaptertest.Bind(t, sqliteSource(t, "", `query = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 40) SELECT hex(zeroblob(500000)) AS s FROM c"`))
	out, err := b.Do(t.Context(), `{}`)
	if err != nil {
		t.Fatal(err)
	}
	if n := out["rows"].(*resultSet).rows; n != 17 || out["truncated"] != true {
		t.Errorf("%d rows, truncated is %v", n, out["truncated"])
	}
}
