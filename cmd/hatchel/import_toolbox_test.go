package main

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// toolboxSource returns the arguments of a source of the Toolbox for the database. From then on, d has an empty directory
// and the environment of that source.
func (d *importDatabase) toolboxSource(t *testing.T) string {
	t.Helper()
	if d.kind == "sqlite" {
		source := "    kind: sqlite\n    database: " + filepath.Join(d.dir, "db.sqlite") + "\n"
		d.dir = t.TempDir()
		return source
	}
	if d.kind == "mysql" {
		d.env = "DSN=mysql://" + strings.NewReplacer("tcp(", "", ")", "").Replace(strings.TrimPrefix(d.env, "DSN="))
	}
	u, err := url.Parse(strings.TrimPrefix(d.env, "DSN="))
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	source := "    kind: " + d.kind + "\n    host: " + u.Hostname() + "\n    port: ${DB_PORT:" + u.Port() + "}\n    database: " +
		strings.Trim(u.Path, "/") + "\n    user: " + u.User.Username() + "\n"
	if password != "" {
		source += "    password: ${DB_PASSWORD}\n"
	}
	if d.kind == "postgres" {
		source += "    queryParams: {sslmode: disable, search_path: import_test}\n"
	}
	d.dir, d.env = t.TempDir(), "DB_PASSWORD="+password
	return source
}

func TestAToolboxOfAServerWorks(t *testing.T) {
	t.Parallel()
	eachImportDatabase(t, func(t *testing.T, d *importDatabase) {
		source := d.toolboxSource(t)
		marker := map[string]string{"postgres": "$1::int"}[d.kind]
		if marker == "" {
			marker = "?"
		}
		d.create(t, "toolbox_items", "CREATE TABLE toolbox_items (id integer)")
		d.write(t, "tools.yaml", `sources:
  db:
`+source+`tools:
  execute_sql: {kind: `+d.kind+`-execute-sql, source: db, description: Run SQL.}
  list_tables: {kind: `+d.kind+`-list-tables, source: db}
  insert_item:
    kind: `+d.kind+`-sql
    source: db
    description: Insert an item.
    statement: INSERT INTO toolbox_items (id) VALUES (`+marker+`);
    parameters: [{name: id, type: integer, description: Its number, minValue: 1}]
  get_item:
    kind: `+d.kind+`-sql
    source: db
    description: Get an item.
    statement: |
      SELECT id, '`+"${x.y} {z}"+`' AS text FROM {{.table}} WHERE id = `+marker+`;
    parameters: [{name: id, type: integer}]
    templateParameters: [{name: table, type: string, allowedValues: [toolbox_items]}]
  get_query_plan:
    kind: `+d.kind+`-sql
    source: db
    description: Explain a statement.
    statement: EXPLAIN {{.query}}
    templateParameters: [{name: query, type: string}]
toolsets:
  all: [execute_sql, list_tables, insert_item, get_item, get_query_plan]
`)
		yaml := filepath.Join(d.dir, "tools.yaml")
		report := d.run(t, "import", "toolbox", yaml, "-o", d.dir)
		if !strings.Contains(report, "5 tools") || strings.Contains(report, "left out") {
			t.Errorf("the report is\n%s", report)
		}
		d.mustHold(t)
		call := func(args ...string) string { return d.run(t, append([]string{"call", "-C", d.dir}, args...)...) }
		call("insert_item", "--arg", "id=7")
		if got := call("get_item", "--arg", "id=7", "--arg", "table=toolbox_items"); !strings.Contains(got, "${x.y} {z}") {
			t.Errorf("get_item gives %s", got)
		}
		call("get_query_plan", "--arg", "query=SELECT 1")
		if out, err := d.tryRun(t, "call", "-C", d.dir, "execute_sql", "--arg", "sql=DELETE FROM toolbox_items"); err == nil {
			t.Errorf("execute_sql has written: %s", out)
		}
		before, _ := os.ReadFile(filepath.Join(d.dir, "db_tools.hcl"))
		d.run(t, "import", "toolbox", yaml, "-o", d.dir, "--update")
		if after, _ := os.ReadFile(filepath.Join(d.dir, "db_tools.hcl")); string(after) != string(before) {
			t.Errorf("the second import has changed the file:\n%s", after)
		}
	})
}

// The markers of each database are bound, also those of another one; optional parameters are guarded as usual.
func TestMarkersOfAToolboxAreBoundOnAServer(t *testing.T) {
	eachImportDatabase(t, func(t *testing.T, d *importDatabase) {
		source := d.toolboxSource(t)
		d.create(t, "toolbox_marked", "CREATE TABLE toolbox_marked (id integer, name varchar(20))",
			"INSERT INTO toolbox_marked VALUES (1, 'ada'), (2, 'bob')")
		text := "::text"
		if d.kind != "postgres" {
			text = ""
		}
		const name = "    parameters: [{name: n, type: string, description: A name, required: false}]\n"
		const required = "    parameters: [{name: n, type: string, description: A name}]\n"
		statements := map[string]string{ // by the names of tools; each finds ada
			"numbered":  `name = $1` + "\n" + required,
			"questions": `name = ?` + "\n" + required,
			"named":     `name = :n` + "\n" + required,
			"guarded":   `($1 IS NULL OR name = $1)` + "\n" + name,
			"behind":    `(name = $1 OR $1 IS NULL)` + "\n" + name,
			"cast":      `($1` + text + ` IS NULL OR name LIKE $1)` + "\n" + name,
			"coalesced": `name = COALESCE($1, name)` + "\n" + name,
			"emptied":   `(COALESCE($1, '') = '' OR name = $1)` + "\n" + name,
			"cased":     `CASE WHEN $1 IS NULL THEN 1 = 1 ELSE name = $1 END` + "\n" + name,
			"quoted": `name LIKE '%{{.n}}%'` + "\n    templateParameters: [{name: n, type: string, " +
				"description: A part}]\n",
			"environment": `name = '${ADA:ada}' AND id < ${MAX_ID:2}` + "\n",
		}
		src := "sources:\n  db:\n" + source + "tools:\n"
		for tool, where := range statements {
			src += "  " + tool + ":\n    kind: " + d.kind + "-sql\n    source: db\n    description: Find names.\n" +
				"    statement: \"SELECT name FROM ${TABLE:toolbox_marked} WHERE " + where[:strings.IndexByte(where, '\n')] +
				" ORDER BY id\"\n" + where[strings.IndexByte(where, '\n')+1:]
		}
		src += "  both:\n    kind: " + d.kind + "-sql\n    source: db\n    description: Insert a name and change it.\n" +
			"    statement: |\n      INSERT INTO toolbox_marked VALUES (9, $1);\n      UPDATE toolbox_marked SET name = $2 WHERE id = 9;\n" +
			"    parameters: [{name: n, type: string, description: A}, {name: m, type: string, description: B}]\n"
		d.write(t, "tools.yaml", src)
		report := d.run(t, "import", "toolbox", filepath.Join(d.dir, "tools.yaml"), "-o", d.dir)
		if strings.Contains(report, "left out") || strings.Contains(report, "warning") {
			t.Errorf("the report is\n%s", report)
		}
		d.mustHold(t)
		for tool, where := range statements {
			if strings.Contains(where, "name: n") {
				if got := d.run(t, "call", "-C", d.dir, tool, "--arg", "n=ada"); !strings.Contains(got, `[{"name":"ada"}]`) {
					t.Errorf("%s (%s) gives %s", tool, where, got)
				}
			}
			if strings.Contains(where, "required: false") || tool == "environment" {
				if got := d.run(t, "call", "-C", d.dir, tool); !strings.Contains(got, `{"name":"ada"}`) {
					t.Errorf("%s (%s) without a value gives %s", tool, where, got)
				}
			}
		}
		d.run(t, "call", "-C", d.dir, "both", "--arg", "n=eve", "--arg", "m=eva")
		if got := d.run(t, "call", "-C", d.dir, "numbered", "--arg", "n=eva"); !strings.Contains(got, "eva") {
			t.Errorf("after both statements: %s", got)
		}
	})
}

func TestWhatAToolboxLosesIsReported(t *testing.T) {
	d := &importDatabase{kind: "sqlite", dir: t.TempDir()}
	d.write(t, "tools.yaml", `
sources:
  db: {kind: postgres, host: 127.0.0.1, user: u, password: hunter2secret}
  big: {kind: bigquery}
tools:
  two: {kind: postgres-sql, source: db, description: Two., statement: "SELECT 1; SELECT 2"}
  glued: {kind: postgres-sql, source: db, description: Glued., statement: "SELECT * FROM t_$1", parameters: [{name: a, type: string}]}
  big_sql: {kind: bigquery-sql, source: big, statement: SELECT 1}
  good: {kind: postgres-sql, source: db, description: Good., statement: SELECT 1 AS a}
toolsets: {all: [two, good]}
`)
	report := d.run(t, "import", "toolbox", filepath.Join(d.dir, "tools.yaml"), "-o", d.dir)
	for _, want := range []string{
		"two: tool left out: it has 2 statements", "glued: tool left out", "big_sql: tool left out", "big: source left out",
		"all: fewer tools in a toolset", "DB_PASSWORD", "1 tool;",
	} {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %q:\n%s", want, report)
		}
	}
	names, _ := filepath.Glob(filepath.Join(d.dir, "*"))
	for _, name := range names {
		src, _ := os.ReadFile(name)
		if filepath.Base(name) != "tools.yaml" && strings.Contains(string(src), "hunter2secret") {
			t.Errorf("%s holds the password", name)
		}
	}
	d.env = "DB_PASSWORD=x"
	d.run(t, "validate", d.dir)
}

func TestAToolNeedsNoVariablesOfOtherSources(t *testing.T) {
	d := &importDatabase{kind: "sqlite", dir: t.TempDir()}
	d.write(t, "tools.yaml", `
sources:
  a: {kind: postgres, host: 127.0.0.1, user: "${USER_A}", password: "${PASSWORD_A}"}
  b: {kind: cloud-sql-postgres, database: d}
  c: {kind: http, baseUrl: "${URL_C}"}
tools:
  of_a: {kind: postgres-sql, source: a, description: Of a., statement: SELECT 1 AS a}
  of_b: {kind: postgres-sql, source: b, description: Of b., statement: SELECT 1 AS b}
  of_c: {kind: http, source: c, description: Of c., method: GET, path: /c}
`)
	report := d.run(t, "import", "toolbox", filepath.Join(d.dir, "tools.yaml"), "-o", d.dir)
	if !strings.Contains(report, "3 tools;") || strings.Contains(report, "tool left out") {
		t.Errorf("got\n%s", report)
	}
}
