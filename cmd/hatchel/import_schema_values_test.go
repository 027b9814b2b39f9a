package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hatchel/internal/columntest"
)

// toolClient calls the tools of a server over its standard input and output, one at a time.
type toolClient struct {
	in  io.Writer
	out *bufio.Reader
	id  int
}

// serve starts a server of the configuration directory.
func (d *importDatabase) serve(t *testing.T) *toolClient {
	t.Helper()
	hatchel, err := exec.LookPath("hatchel")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), hatchel, "serve", "--stdio", d.dir)
	cmd.Env = append(os.Environ(), d.env)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	c := &toolClient{in: in, out: bufio.NewReader(out)}
	c.ask(t, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
	fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

func (c *toolClient) ask(t *testing.T, method, params string) json.RawMessage {
	t.Helper()
	c.id++
	fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", c.id, method, params)
	for {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			t.Fatalf("%s: %v", params, err)
		}
		var answer struct {
			ID            int
			Result, Error json.RawMessage
		}
		if err := json.Unmarshal(line, &answer); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if answer.ID == c.id {
			return append(answer.Result, answer.Error...)
		}
	}
}

// call calls a tool and returns its text.
func (c *toolClient) call(t *testing.T, tool, arguments string) (text string, failed bool) {
	t.Helper()
	var result struct {
		IsError bool
		Content []struct{ Text string }
	}
	answer := c.ask(t, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments))
	if err := json.Unmarshal(answer, &result); err != nil || len(result.Content) == 0 {
		return string(answer), true
	}
	return result.Content[0].Text, result.IsError
}

// row returns the members of the row with a key.
func (c *toolClient) row(t *testing.T, table string, id int) (row map[string]json.RawMessage) {
	t.Helper()
	text, failed := c.call(t, "get_"+table, fmt.Sprintf(`{"id":%d}`, id))
	if err := json.Unmarshal([]byte(text), &row); err != nil || failed {
		t.Errorf("get_%s %d: %s", table, id, text)
	}
	return row
}

// leftOut are the types that no imported tool has, and others are imported.
var leftOut = []string{"bytea", "round_row", "BINARY(4)", "VARBINARY(9)", "TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB", "GEOMETRY", "POINT"}

// importedRound is a table with a column for each of some types, and with one for a list of each on PostgreSQL.
type importedRound struct {
	name    string
	samples []columntest.Sample
	lists   bool
}

// roundSize is how many types a table has: an imported tool filters by few columns.
const roundSize = 3

// columns returns the names and the definitions of the columns.
func (r importedRound) columns() (names, definitions []string) {
	names, definitions = []string{"id"}, []string{"id int PRIMARY KEY"}
	for n, s := range r.samples {
		names, definitions = append(names, fmt.Sprint("v", n)), append(definitions, fmt.Sprintf("v%d %s", n, s.Type))
		if r.lists {
			names, definitions = append(names, fmt.Sprint("a", n)), append(definitions, fmt.Sprintf("a%d %s[]", n, s.Type))
		}
	}
	return names, definitions
}

// row returns the values of a row with the given number of each value.
func (r importedRound) row(number int) string {
	row := "1"
	for _, s := range r.samples {
		v := s.Values[number%len(s.Values)]
		row += ", " + v
		if r.lists {
			row += fmt.Sprintf(", ARRAY[CAST(%s AS %s), NULL]", v, s.Type)
		}
	}
	return row
}

// rows returns how many rows have each value of each type.
func (r importedRound) rows() (n int) {
	for _, s := range r.samples {
		n = max(n, len(s.Values))
	}
	return n
}

// What an imported tool reads of a column of any type, the tools of its table filter by and write.
func TestImportedToolsTakeWhatTheyRead(t *testing.T) {
	eachImportDatabase(t, func(t *testing.T, d *importDatabase) {
		samples := map[string][]columntest.Sample{"sqlite": columntest.SQLite, "postgres": columntest.Postgres, "mysql": columntest.MySQL}[d.kind]
		if d.kind == "postgres" {
			d.exec(t, columntest.PostgresTypes...)
		}
		d.checkImportedTypes(t, "all", samples)
		src, err := os.ReadFile(filepath.Join(d.dir, "db.hcl"))
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range []string{`integers = "text"`, `decimals = "number"`} {
			if d.kind == "sqlite" && strings.HasPrefix(form, "decimals") {
				continue
			}
			arguments, _ := strings.CutSuffix(string(src), " }\n")
			d.write(t, "db.hcl", strings.Replace(arguments, `"db" { `, "\"db\" {\n", 1)+"\n"+form+"\n}\n")
			var numbers []columntest.Sample
			for _, s := range samples {
				if typ := strings.ToUpper(s.Type); strings.Contains(typ, "INT") || strings.Contains(typ, "NUMERIC") || strings.Contains(typ, "DECIMAL") {
					numbers = append(numbers, s)
				}
			}
			for _, name := range []string{"db_tables.hcl", "hatchel.import.json"} {
				if err := os.Remove(filepath.Join(d.dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			d.checkImportedTypes(t, form[:len("decimals")], numbers)
		}
	})
}

// Values that only a part of the columns of a type can have.
func TestImportedToolsTakeMatricesAndZeroDates(t *testing.T) {
	eachImportDatabase(t, func(t *testing.T, d *importDatabase) {
		switch d.kind {
		case "postgres":
			d.exec(t, "CREATE TABLE import_odd (id int PRIMARY KEY, v float8[][])", "INSERT INTO import_odd VALUES (1, '{{1,NULL},{3.5,NaN}}')")
		case "mysql":
			d.create(t, "import_odd", "CREATE TABLE import_odd (id int PRIMARY KEY, v date, KEY (v))", "INSERT INTO import_odd VALUES (1, '0000-00-00')")
		default:
			return
		}
		d.run(t, "import", "schema", "db", "-C", d.dir, "--table", "import_odd", "--writes")
		c := d.serve(t)
		v := c.row(t, "import_odd", 1)["v"]
		tool, arguments := "update_import_odd", fmt.Sprintf(`{"id":1,"v":%s}`, v)
		if d.kind == "mysql" { // a session of Hatchel writes no zero dates
			tool, arguments = "list_import_odd", fmt.Sprintf(`{"v_to":%s}`, v)
		}
		if text, failed := c.call(t, tool, arguments); failed || d.kind == "mysql" && !strings.Contains(text, `"id":1`) {
			t.Errorf("%s %s: %s", tool, arguments, text)
		}
		if again := c.row(t, "import_odd", 1)["v"]; string(again) != string(v) {
			t.Errorf("%s is read as %s", v, again)
		}
	})
}

// checkImportedTypes imports tables with columns of some types and tries the tools with their values. The names of the
// tables begin with that of the set.
func (d *importDatabase) checkImportedTypes(t *testing.T, set string, samples []columntest.Sample) {
	t.Helper()
	var rounds []importedRound
	for some := range slices.Chunk(samples, roundSize) {
		r := importedRound{fmt.Sprintf("import_%s_%d", set, len(rounds)), nil, d.kind == "postgres"}
		for _, s := range some {
			if d.kind == "sqlite" {
				s.Values = slices.DeleteFunc(slices.Clone(s.Values), func(v string) bool { return !isDeclared(s.Type, v) })
			}
			r.samples = append(r.samples, s)
		}
		rounds = append(rounds, r)
		names, definitions := r.columns()
		d.create(t, r.name, "CREATE TABLE "+r.name+" ("+strings.Join(definitions, ", ")+")")
		if r.lists { // the tool of a view filters by any column
			d.exec(t, "CREATE OR REPLACE VIEW "+r.name+"_view AS SELECT * FROM "+r.name)
			t.Cleanup(func() { d.exec(t, "DROP VIEW "+r.name+"_view CASCADE") })
		}
		for _, name := range names {
			if name[0] == 'v' { // some types cannot have an index
				_, _ = d.ExecContext(t.Context(), fmt.Sprintf("CREATE INDEX %s_%s ON %[1]s (%[2]s)", r.name, name))
			}
		}
	}
	report := d.run(t, "import", "schema", "db", "-C", d.dir, "--table", "import_"+set+"_*", "--writes", "--all")
	if out := d.run(t, "validate", d.dir, "--connect"); strings.Contains(out, "warning") {
		t.Errorf("validate --connect warns:\n%s", out)
	}
	src, err := os.ReadFile(filepath.Join(d.dir, "db_tables.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	c := d.serve(t)
	for _, r := range rounds {
		for n, s := range r.samples {
			if out := fmt.Sprintf("%s: column left out: v%d has the type ", r.name, n); strings.Contains(report, out) != slices.Contains(leftOut, s.Type) {
				t.Errorf("%s: the report is\n%s", s.Type, report)
			}
		}
		_, tool, _ := strings.Cut(string(src), `tool "list_`+r.name+`" {`)
		tool, _, _ = strings.Cut(tool, "\ntool ")
		for number := range r.rows() {
			d.checkImportedRow(t, c, r, number, tool)
		}
	}
}

// isDeclared reports whether a value of SQLite is one that the declared type names. Tools take only those, while a
// column has any.
func isDeclared(typ, v string) bool {
	switch typ {
	case "INTEGER", "BIGINT":
		return !strings.ContainsAny(v, "'.e")
	case "REAL", "NUMERIC", "DECIMAL(10,2)", "FLOAT":
		return !strings.Contains(v, "'")
	case "BOOLEAN", "BOOL":
		return slices.Contains([]string{"0", "1", "TRUE", "1.0"}, v)
	}
	return true
}

// checkImportedRow tries the tools of a table with a row. The text of the tool that lists rows has its filters.
func (d *importDatabase) checkImportedRow(t *testing.T, c *toolClient, r importedRound, number int, lists string) {
	t.Helper()
	d.exec(t, "DELETE FROM "+r.name, "INSERT INTO "+r.name+" VALUES ("+r.row(number)+")")
	read := c.row(t, r.name, 1)
	if delete(read, "id"); len(read) == 0 {
		return // all types are left out
	}
	for name, v := range read {
		for _, suffix := range []string{"", "_min", "_max", "_from", "_to"} {
			if !strings.Contains(lists, `input "`+name+suffix+`" `) {
				continue
			}
			found, failed := c.call(t, "list_"+r.name, fmt.Sprintf(`{"%s%s":%s}`, name, suffix, v))
			if failed || !strings.Contains(found, `"id":1`) {
				t.Errorf("%s is read as %s, and %s%s finds %s", r.row(number), v, name, suffix, found)
			}
		}
	}
	arguments, err := json.Marshal(read)
	if err != nil {
		t.Fatal(err)
	}
	written := fmt.Sprintf(`{"id":2,%s`, arguments[1:])
	if text, failed := c.call(t, "insert_"+r.name, written); failed {
		t.Errorf("insert %s: %s", written, text)
	}
	for _, change := range []string{`{"id":2}`, written} {
		if text, failed := c.call(t, "update_"+r.name, change); failed {
			t.Errorf("update %s: %s", change, text)
		}
		again := c.row(t, r.name, 2)
		for name, v := range read {
			if string(again[name]) != string(v) {
				t.Errorf("%s is read as %s, and after update %s as %s", name, v, change, again[name])
			}
		}
	}
}
