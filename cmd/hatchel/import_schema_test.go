package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/mattn/go-sqlite3"

	"hatchel/cmd/hatchel/catalog"
)

// importDatabase is a database of its own for one test, with the connection "db" in a configuration directory.
type importDatabase struct {
	kind, dir, env string
	*sql.DB
}

// eachImportDatabase opens a database of each kind whose server is there.
func eachImportDatabase(t *testing.T, test func(*testing.T, *importDatabase)) {
	t.Run("sqlite", func(t *testing.T) {
		d := &importDatabase{kind: "sqlite", dir: t.TempDir()}
		d.open(t, "sqlite3", filepath.Join(d.dir, "db.sqlite"))
		d.write(t, "db.hcl", `connection "sqlite" "db" { file = "db.sqlite" }`+"\n")
		test(t, d)
	})
	t.Run("postgres", func(t *testing.T) {
		address := os.Getenv("HATCHEL_TEST_POSTGRES")
		if address == "" {
			t.Skip("HATCHEL_TEST_POSTGRES is not set")
		}
		d := &importDatabase{kind: "postgres", dir: t.TempDir(), env: "DSN=" + address + "&search_path=import_test"}
		d.open(t, "pgx", address+"&search_path=import_test")
		d.exec(t, "DROP SCHEMA IF EXISTS import_test CASCADE", "CREATE SCHEMA import_test")
		t.Cleanup(func() { d.exec(t, "DROP SCHEMA import_test CASCADE") })
		test(t, d)
	})
	t.Run("mysql", func(t *testing.T) {
		address := os.Getenv("HATCHEL_TEST_MYSQL")
		if address == "" {
			t.Skip("HATCHEL_TEST_MYSQL is not set")
		}
		d := &importDatabase{kind: "mysql", dir: t.TempDir(), env: "DSN=" + address}
		d.open(t, "mysql", address)
		test(t, d)
	})
}

func (d *importDatabase) open(t *testing.T, driver, address string) {
	t.Helper()
	db, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	d.DB = db
	t.Cleanup(func() { db.Close() })
	d.write(t, "db.hcl", "secret \"dsn\" { env = \"DSN\" }\nconnection \""+d.kind+"\" \"db\" { url = secret.dsn }\n")
}

func (d *importDatabase) exec(t *testing.T, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := d.ExecContext(context.Background(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// create creates a table and drops it after the test.
func (d *importDatabase) create(t *testing.T, name string, statements ...string) {
	t.Helper()
	d.exec(t, "DROP TABLE IF EXISTS "+name)
	t.Cleanup(func() { d.exec(t, "DROP TABLE IF EXISTS "+name) })
	d.exec(t, statements...)
}

func (d *importDatabase) write(t *testing.T, name, src string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run runs hatchel and returns its output. It fails the test when the exit code is not 0.
func (d *importDatabase) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := d.tryRun(t, args...)
	if err != nil {
		t.Fatalf("hatchel %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (d *importDatabase) tryRun(t *testing.T, args ...string) (string, error) {
	t.Helper()
	hatchel, err := exec.LookPath("hatchel")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), hatchel, args...)
	cmd.Env = append(os.Environ(), d.env)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// mustHold checks that the files are valid for the database, without warning, and formatted.
func (d *importDatabase) mustHold(t *testing.T) {
	t.Helper()
	if out := d.run(t, "validate", d.dir, "--connect"); strings.Contains(out, "warning") {
		t.Errorf("validate --connect warns:\n%s", out)
	}
	d.run(t, "fmt", "--check", d.dir)
}

// createOrders creates the tables of the tests in the dialect of the database.
func (d *importDatabase) createOrders(t *testing.T) {
	t.Helper()
	columns := map[string]string{
		"sqlite": "id INTEGER PRIMARY KEY, status TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'paid')), " +
			"size TEXT CHECK (size IN ('s', 'l')), amount DECIMAL(10,2) NOT NULL, day DATE, scan BLOB, note TEXT",
		"postgres": "id bigserial PRIMARY KEY, status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'paid')), " +
			"size import_size, amount numeric(10,2) NOT NULL, day date, scan bytea, note varchar(80)",
		"mysql": "id bigint AUTO_INCREMENT PRIMARY KEY, status varchar(9) NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'paid')), " +
			"size enum('s','l'), amount decimal(10,2) NOT NULL, day date, scan blob, note varchar(80) COMMENT 'Remark `id` ${x}'",
	}[d.kind]
	if d.kind == "postgres" {
		d.exec(t, "CREATE TYPE import_size AS ENUM ('s', 'l')")
	}
	d.create(t, "import_orders", "CREATE TABLE import_orders ("+columns+")",
		"CREATE INDEX import_day ON import_orders (day, amount)", "CREATE INDEX import_status ON import_orders (status)",
		"CREATE INDEX import_size_index ON import_orders (size)")
	if d.kind == "postgres" {
		d.exec(t, "COMMENT ON COLUMN import_orders.note IS 'Remark `id` ${x}'")
	}
}

func TestToolsOfTablesWork(t *testing.T) {
	eachImportDatabase(t, func(t *testing.T, d *importDatabase) {
		d.createOrders(t)
		report := d.run(t, "import", "schema", "db", "-C", d.dir, "--table", "import_*", "--writes")
		if !strings.Contains(report, "scan has the type") || !strings.Contains(report, "4 tools") {
			t.Errorf("the report is\n%s", report)
		}
		d.mustHold(t)
		src, _ := os.ReadFile(filepath.Join(d.dir, "db_tables.hcl"))
		for _, want := range []string{
			`input "status" { type = optional(string("Only rows with this status", { enum = ["open", "paid"] })) }`,
			`input "size" { type = optional(string("Only rows with this size", { enum = ["s", "l"] })) }`,
			`input "day_from"`, `input "amount_max"`,
		} {
			if !strings.Contains(string(src), want) {
				t.Errorf("db_tables.hcl lacks %s:\n%s", want, src)
			}
		}
		if d.kind != "sqlite" && !strings.Contains(string(src), "Remark 'id' $${x}") {
			t.Errorf("the comment is missing:\n%s", src)
		}
		names, err := catalog.Read(d.dir)
		if err != nil {
			t.Fatal(err)
		}
		tables := names.Connections[d.kind+".db"].Tables
		i := slices.IndexFunc(tables, func(t catalog.Table) bool { return t.Name == "import_orders" })
		if i < 0 || len(tables[i].Columns) != 7 || tables[i].Columns[5].Name != "scan" || tables[i].Columns[0].Type == "" {
			t.Errorf("%s has %v", catalog.FileName, tables)
		}
		call := func(args ...string) string { return d.run(t, append([]string{"call", "-C", d.dir}, args...)...) }
		call("insert_import_orders", "--arg", "amount=10", "--arg", "size=s", "--arg", "day=2026-01-02")
		call("insert_import_orders", "--arg", "amount=20", "--arg", "status=paid", "--arg", "day=2026-01-05")
		call("update_import_orders", "--arg", "id=1", "--arg", "note=late")
		got := call("get_import_orders", "--arg", "id=1")
		for _, want := range []string{`"status"`, "open", "late", "2026-01-02"} {
			if !strings.Contains(got, want) {
				t.Errorf("get_import_orders gives %s, without %s", got, want)
			}
		}
		for _, filter := range []string{"status=paid", "amount_min=15", "day_from=2026-01-03"} {
			if got := call("list_import_orders", "--arg", filter, "--arg", "sort=amount", "--arg", "descending=true"); !strings.Contains(got, "paid") ||
				strings.Contains(got, "late") {
				t.Errorf("list_import_orders %s gives %s", filter, got)
			}
		}
		if out, err := d.tryRun(t, "call", "-C", d.dir, "get_import_orders", "--arg", "id=9"); err == nil || !strings.Contains(out, "there is no row") {
			t.Errorf("a row that does not exist gives %s", out)
		}
	})
}

func TestARepeatedImportOfTablesChangesNothing(t *testing.T) {
	eachImportDatabase(t, func(t *testing.T, d *importDatabase) {
		d.createOrders(t)
		d.run(t, "import", "schema", "db", "-C", d.dir, "--table", "import_*")
		name := filepath.Join(d.dir, "db_tables.hcl")
		before, _ := os.ReadFile(name)
		if out := d.run(t, "import", "schema", "-C", d.dir, "--update"); !strings.Contains(out, "2 unchanged") ||
			!strings.Contains(out, "as in the earlier import: --table=import_*") {
			t.Errorf("the report is\n%s", out)
		}
		if after, _ := os.ReadFile(name); string(after) != string(before) {
			t.Errorf("the file has changed:\n%s", after)
		}
		d.exec(t, "ALTER TABLE import_orders ADD COLUMN extra integer")
		edited := strings.Replace(string(before), "List rows of import_orders.", "List my orders.", 1)
		d.write(t, "db_tables.hcl", edited)
		out, err := d.tryRun(t, "import", "schema", "db", "-C", d.dir, "--table", "import_*", "--update")
		if err == nil || !strings.Contains(out, "1 replaced") || !strings.Contains(out, "1 conflict") {
			t.Errorf("got %v:\n%s", err, out)
		}
		after, _ := os.ReadFile(name)
		next, _ := os.ReadFile(name + ".new")
		if !strings.Contains(string(after), "List my orders.") || !strings.Contains(string(next), "note, extra") {
			t.Errorf("the file is\n%s\nand the new one\n%s", after, next)
		}
	})
}

func TestHostileNamesStayNames(t *testing.T) {
	eachImportDatabase(t, func(t *testing.T, d *importDatabase) {
		quote := func(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
		if d.kind == "mysql" {
			quote = func(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
		}
		columns := []string{`a b`, "${input.x}", "%{if true}", "order", "x?y:z$1", `"; DROP`, "`", "--", "a.b", "SQL", "$${a}", "naïve", "limit"}
		definition := quote("k") + " bigint PRIMARY KEY"
		for _, c := range columns {
			definition += ", " + quote(c) + " integer"
		}
		for _, name := range []string{`import "; x`, "import ${secret.dsn}", "import\nSQL"} {
			d.create(t, quote(name), "CREATE TABLE "+quote(name)+" ("+definition+")",
				"CREATE INDEX "+quote(name+" i")+" ON "+quote(name)+" ("+quote("a.b")+", "+quote("limit")+", "+quote("${input.x}")+")")
		}
		report := d.run(t, "import", "schema", "db", "-C", d.dir, "--table", "import*", "--writes")
		if !strings.Contains(report, "import<U+000A>SQL: table left out") || !strings.Contains(report, `"$${a}" cannot be written`) {
			t.Errorf("the report is\n%s", report)
		}
		d.mustHold(t)
		d.run(t, "call", "-C", d.dir, "insert_import_x", `row={"k":1,"input_x":7,"limit":9}`)
		if got := d.run(t, "call", "-C", d.dir, "list_import_x", "--arg", "limit_2=9", "--arg", "sort=limit"); !strings.Contains(got, `"${input.x}":7`) &&
			!strings.Contains(got, `"${input.x}": 7`) {
			t.Errorf("got %s", got)
		}
	})
}

// A view that cannot be read costs its own tool only.
func TestAnUnreadableViewIsLeftOut(t *testing.T) {
	eachImportDatabase(t, func(t *testing.T, d *importDatabase) {
		d.create(t, "import_orders", "CREATE TABLE import_orders (id integer PRIMARY KEY, note varchar(9))",
			"CREATE INDEX import_note ON import_orders (note)")
		d.create(t, "import_gone", "CREATE TABLE import_gone (id integer PRIMARY KEY)")
		t.Cleanup(func() { d.exec(t, "DROP VIEW IF EXISTS import_broken", "DROP VIEW IF EXISTS import_view") })
		d.exec(t, "CREATE VIEW import_view AS SELECT note FROM import_orders")
		why := "import_gone"
		switch d.kind {
		case "postgres":
			why = "has not been populated"
			d.exec(t, "CREATE MATERIALIZED VIEW import_unfilled AS SELECT id FROM import_gone WITH NO DATA")
			t.Cleanup(func() { d.exec(t, "DROP MATERIALIZED VIEW import_unfilled") })
		case "mysql":
			why = "references invalid table"
			fallthrough
		default:
			d.exec(t, "CREATE VIEW import_broken AS SELECT id FROM import_gone", "DROP TABLE import_gone")
		}
		report := d.run(t, "import", "schema", "db", "-C", d.dir, "--table", "import*")
		if !strings.Contains(report, "table left out: it cannot be read: ") || !strings.Contains(report, why) {
			t.Errorf("the report is\n%s", report)
		}
		d.mustHold(t)
		if got := d.run(t, "list", d.dir); !strings.Contains(got, "list_import_orders") || !strings.Contains(got, "list_import_view") ||
			strings.Contains(got, "broken") || strings.Contains(got, "unfilled") {
			t.Errorf("the tools are\n%s", got)
		}
		if out, err := d.tryRun(t, "import", "schema", "db", "-C", d.dir, "--table", "import_[bu][rn]*"); err == nil ||
			!strings.Contains(out, "nothing was written") {
			t.Errorf("an import of the view alone: %v\n%s", err, out)
		}
	})
}

// A view whose owner may not read its table is listed by the catalog, and cannot be read.
func TestAViewWhoseOwnerHasNoAccessIsLeftOut(t *testing.T) {
	eachImportDatabase(t, func(t *testing.T, d *importDatabase) {
		if d.kind == "sqlite" {
			return // it has no roles
		}
		d.create(t, "import_orders", "CREATE TABLE import_orders (id integer PRIMARY KEY)")
		t.Cleanup(func() { d.exec(t, "DROP VIEW IF EXISTS import_hidden") })
		why := "The user specified as a definer"
		if d.kind == "mysql" {
			d.exec(t, "CREATE DEFINER=import_nobody@localhost VIEW import_hidden AS SELECT id FROM import_orders")
		} else {
			why = "permission denied for table import_orders"
			address := os.Getenv("HATCHEL_TEST_POSTGRES_SUPERUSER")
			if address == "" {
				t.Skip("HATCHEL_TEST_POSTGRES_SUPERUSER is not set")
			}
			super := &importDatabase{kind: d.kind, dir: t.TempDir()}
			super.open(t, "pgx", address+"&search_path=import_test")
			d.exec(t, "CREATE VIEW import_hidden AS SELECT id FROM import_orders")
			super.exec(t, "CREATE ROLE import_owner", "ALTER VIEW import_hidden OWNER TO import_owner",
				"GRANT SELECT ON import_hidden TO hatchel")
			t.Cleanup(func() { super.exec(t, "DROP OWNED BY import_owner", "DROP ROLE import_owner") })
		}
		report := d.run(t, "import", "schema", "db", "-C", d.dir, "--table", "import*")
		if !strings.Contains(report, "import_hidden: table left out: it cannot be read: ") || !strings.Contains(report, why) {
			t.Errorf("the report is\n%s", report)
		}
		d.mustHold(t)
	})
}

func TestImportSchemaSaysWhatIsWrong(t *testing.T) {
	d := &importDatabase{kind: "sqlite", dir: t.TempDir()}
	d.open(t, "sqlite3", filepath.Join(d.dir, "db.sqlite"))
	d.write(t, "db.hcl", "connection \"sqlite\" \"db\" {\n  file = \"db.sqlite\"\n  mode = \"ro\"\n}\nconnection \"sqlite\" \"none\" { file = \"none.sqlite\" }\n")
	for i := range 21 {
		d.exec(t, "CREATE TABLE t"+strings.Repeat("x", i)+" (id INTEGER PRIMARY KEY)")
	}
	for _, test := range []struct{ args, want string }{
		{"ledger", `there is no connection "ledger" to a database; there is sqlite.db, sqlite.none`},
		{"none", "does not exist"},
		{"db --writes", `has mode = "ro"`},
		{"db --table y*", "--table y* matches no table. The tables: t, tx"},
		{"db", "21 tables give 42 tools"},
	} {
		out, err := d.tryRun(t, append([]string{"import", "schema", "-C", d.dir}, strings.Fields(test.args)...)...)
		if err == nil || !strings.Contains(out, test.want) {
			t.Errorf("import schema %s: %v\n%s", test.args, err, out)
		}
	}
	d.run(t, "import", "schema", "sqlite.db", "-C", d.dir, "--all")
}

// Whatever the tables are, what is imported has no finding of lint, and no tool has a credential.
func TestImportedToolsPassLint(t *testing.T) {
	eachImportDatabase(t, func(t *testing.T, d *importDatabase) {
		quote, varchar := `"`, "text"
		if d.kind == "mysql" {
			quote, varchar = "`", "varchar(60)"
		}
		q := func(name string) string { return quote + name + quote }
		types := map[string][]string{
			"sqlite":   {"INTEGER", "TEXT", "REAL", "NUMERIC", "DATE", "DATETIME", "BOOLEAN", "JSON", "BLOB", "VARCHAR(9)", "UUID", ""},
			"postgres": {"bigint", "text", "double precision", "numeric(9,2)", "date", "timestamptz", "boolean", "jsonb", "bytea", "varchar(9)", "uuid", "text[]", "inet", "interval", "point", "time"},
			"mysql":    {"bigint", "text", "double", "decimal(9,2)", "date", "datetime", "boolean", "json", "blob", "varchar(9)", "time", "year", "set('a','b')", "enum('x','y')", "bit(3)"},
		}[d.kind]
		for n, name := range []string{"import_users", "import_Order Items", "import_select", "import_größe", "import_x", "import_" + strings.Repeat("long_", 9)} {
			columns := []string{q("id") + " integer PRIMARY KEY", q("name") + " " + varchar + " NOT NULL",
				q("password_hash") + " " + varchar, q("Api Key") + " " + varchar, q("refresh_token") + " " + varchar + " NOT NULL DEFAULT ''"}
			for i, typ := range types {
				columns = append(columns, q(fmt.Sprintf("%c column_%d of %d", 'a'+i, i, n))+" "+typ)
			}
			d.create(t, q(name), "CREATE TABLE "+q(name)+" ("+strings.Join(columns, ", ")+")")
			for i, typ := range types {
				if slices.Contains([]string{"jsonb", "json", "JSON", "text", "blob", "point", "BLOB", "bytea"}, typ) {
					continue
				}
				d.exec(t, fmt.Sprintf("CREATE INDEX import_index_%d_%d ON %s (%s)", n, i, q(name), q(fmt.Sprintf("%c column_%d of %d", 'a'+i, i, n))))
			}
			d.exec(t, "CREATE UNIQUE INDEX import_key_"+fmt.Sprint(n)+" ON "+q(name)+" ("+q("refresh_token")+")")
		}
		report := d.run(t, "import", "schema", "db", "-C", d.dir, "--table", "import_*", "--writes")
		for _, want := range []string{"credential left out: password_hash", "credential left out: Api Key", "credential left out: refresh_token"} {
			if !strings.Contains(report, want) {
				t.Errorf("the report is\n%s", report)
			}
		}
		d.mustHold(t)
		if out := d.run(t, "lint", d.dir); !strings.Contains(out, "no findings") {
			t.Errorf("lint finds\n%s", out)
		}
		src, _ := os.ReadFile(filepath.Join(d.dir, "db_tables.hcl"))
		for _, column := range []string{"password", "refresh_token", "Api Key", "api_key"} {
			if strings.Contains(string(src), column) {
				t.Errorf("db_tables.hcl has %s", column)
			}
		}
	})
}

func TestMoreThan40ToolsBecomeToolsets(t *testing.T) {
	d := &importDatabase{kind: "sqlite", dir: t.TempDir()}
	d.open(t, "sqlite3", filepath.Join(d.dir, "db.sqlite"))
	d.write(t, "db.hcl", `connection "sqlite" "db" {
  file = "db.sqlite"
  mode = "ro" # agents only read
}
connection "sqlite" "other" { file = "db.sqlite" }
`)
	for i := range 19 {
		d.exec(t, fmt.Sprintf("CREATE TABLE t%02d (id INTEGER PRIMARY KEY, name TEXT)", i))
	}
	d.run(t, "import", "schema", "db", "-C", d.dir) // 38 tools
	d.run(t, "import", "schema", "db", "-C", d.dir, "--update")
	if names, err := catalog.Read(d.dir); err != nil || len(names.Connections["sqlite.other"].Tables) != 19 {
		t.Errorf("the names of another connection are %v, %v", names, err)
	}
	d.write(t, "more.hcl", strings.ReplaceAll("tool \"N_greet\" {\n  description = \"Greet N.\"\n  text        = \"Hello\"\n}\n", "N", "a")+
		strings.ReplaceAll("tool \"N_greet\" {\n  description = \"Greet N.\"\n  text        = \"Hello\"\n}\n", "N", "b")+
		strings.ReplaceAll("tool \"N_greet\" {\n  description = \"Greet N.\"\n  text        = \"Hello\"\n}\n", "N", "c"))
	if out, err := d.tryRun(t, "import", "schema", "db", "-C", d.dir, "--update"); err == nil ||
		!strings.Contains(out, "19 tables give 38 tools, and the directory has 3 others, and agents choose badly among more than 40") {
		t.Errorf("with three others: %s", out)
	}
	if err := os.Remove(filepath.Join(d.dir, "more.hcl")); err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		d.exec(t, fmt.Sprintf("CREATE TABLE u%02d (id INTEGER PRIMARY KEY, name TEXT)", i))
	}
	d.run(t, "import", "schema", "db", "-C", d.dir, "--update", "--all")
	d.run(t, "validate", d.dir, "--connect")
	if out := d.run(t, "lint", d.dir); !strings.Contains(out, "118 tools") || !strings.Contains(out, "no findings") {
		t.Errorf("lint finds\n%s", out)
	}
	if out := d.run(t, "list", d.dir); !strings.Contains(out, "db_3") || strings.Contains(out, "db_4") {
		t.Errorf("the toolsets are\n%s", out)
	}
	out, err := d.tryRun(t, "import", "schema", "db", "-C", d.dir, "--writes")
	if err == nil || !strings.Contains(out, "connection \"sqlite\" \"db_write\" {\n  file = \"db.sqlite\"\n") || !strings.Contains(out, "hatchel import schema db_write -C "+d.dir+" --writes") {
		t.Errorf("writes with a connection that only reads: %s", out)
	}
}
