package sql

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"testing"

	"hatchel/adapters/adaptertest"
	"hatchel/hcl/value"
	"hatchel/internal/columntest"
)

// roundTrips are the columns of one database.
type roundTrips struct {
	db     database // without the checks of a configuration
	source func(inputs, body string) adaptertest.Source
	lists  bool // the database has lists of each type
	table  int
}

func newRoundTrips(t *testing.T, source func(inputs, body string) adaptertest.Source) *roundTrips {
	b := adaptertest.Bind(t, source("", `query = "SELECT 1 AS one"`))
	t.Cleanup(func() { b.Close() })
	return &roundTrips{db: b.Handle("db").(database), source: source}
}

// run executes a statement and returns its first row.
func (r *roundTrips) run(t *testing.T, text string) (row []any, err error) {
	t.Helper()
	err = r.db.write(t.Context(), identity{}, func(tx transaction) error {
		e := &execution{text: text, isQuery: strings.HasPrefix(text, "SELECT"), result: &resultSet{maxRows: 1}}
		err := tx.run(t.Context(), e)
		row = e.result.cells
		return err
	})
	return row, err
}

// check writes each value, reads it, writes what was read into another row, and finds both rows by it. On PostgreSQL it
// does so with a list of the value, too.
func (r *roundTrips) check(t *testing.T, c columntest.Sample) {
	t.Helper()
	r.table++
	table := fmt.Sprintf("round_trip_%d", r.table)
	columns, names, inputs := "v "+c.Type, "v", `input "v" { type = any }`
	bound := "${" + cmp.Or(c.Bind, "input.v") + "}"
	compare := cmp.Or(c.Compare, "%s")
	condition, seed := "v = "+fmt.Sprintf(compare, bound), "%[1]s"
	if r.lists {
		columns, names, inputs = "a "+c.Type+"[], "+columns, "a, v", inputs+"\n"+`input "a" { type = list(any) }`
		list := "${input.a}"
		if c.Bind != "" {
			list = "${[for e in input.a : e == null ? null : " + strings.ReplaceAll(c.Bind, "input.v", "e") + "]}"
		}
		if !c.NoList {
			condition += " AND a = " + fmt.Sprintf(compare, list)
		}
		if strings.Contains(compare, "::") {
			condition += "[]"
		}
		bound, seed = list+", "+bound, "ARRAY[CAST(%[1]s AS "+c.Type+"), NULL], "+seed
	}
	if c.NoEqual {
		condition = "id <> 3"
	}
	for _, text := range []string{"DROP TABLE IF EXISTS " + table, "CREATE TABLE " + table + " (id INTEGER NOT NULL, " + columns + ")"} {
		if _, err := r.run(t, text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	t.Cleanup(func() { _, _ = r.run(t, "DROP TABLE "+table) })
	b := adaptertest.Bind(t, r.source(inputs, `exec = ["INSERT INTO `+table+` (id, `+names+`) VALUES (2, `+bound+`)",
		"SELECT `+names+` FROM `+table+` WHERE id = 2", "DELETE FROM `+table+` WHERE `+condition+`"]`))
	defer b.Close()
	for _, v := range c.Values {
		_, err := r.run(t, "DELETE FROM "+table)
		if err == nil {
			_, err = r.run(t, "INSERT INTO "+table+" (id, "+names+") VALUES (1, "+fmt.Sprintf(seed, v)+")")
		}
		if err != nil {
			t.Errorf("%s: writing %s: %v", c.Type, v, err)
			continue
		}
		read, err := r.run(t, "SELECT "+names+" FROM "+table)
		if err != nil {
			t.Errorf("%s: reading %s: %v", c.Type, v, err)
			continue
		}
		sent := `{"v":` + string(appendCell(nil, read[len(read)-1])) + `}`
		if r.lists {
			sent = `{"a":` + string(appendCell(nil, read[0])) + `,` + sent[1:]
		}
		out, err := b.Do(t.Context(), sent)
		if err != nil {
			t.Errorf("%s: %s is read as %s, which is refused: %v: %v", c.Type, v, sent, err, errors.Unwrap(err))
			continue
		}
		again, err := value.AppendJSON(nil, resultOf(t, out, 1)["row"])
		if string(again) != sent || err != nil {
			t.Errorf("%s: %s is read as %s, and what is written of that as %s, %v", c.Type, v, sent, again, err)
		}
		if found := resultOf(t, out, 2)["affected"]; found != 2 {
			t.Errorf("%s: %s is read as %s, which finds %v of 2 rows", c.Type, v, sent, found)
		}
	}
}

// resultOf returns the output of a statement of a list.
func resultOf(t *testing.T, out map[string]any, n int) map[string]any {
	t.Helper()
	resolved, err := value.Resolve(out["results"])
	if err != nil {
		t.Fatal(err)
	}
	return resolved.([]any)[n].(map[string]any)
}

// typesWithoutInput are those of the catalog that no statement can write.
const typesWithoutInput = "gtsvector pg_brin_bloom_summary pg_brin_minmax_multi_summary pg_dependencies pg_mcv_list pg_ndistinct pg_node_tree"

// TestEveryTypeOfPostgreSQLKeepsItsValues reads the types from the catalog, so a new one has to be added above.
func TestEveryTypeOfPostgreSQLKeepsItsValues(t *testing.T) {
	o := ownDatabase(t)
	for _, text := range columntest.PostgresTypes {
		o.run(t, text)
	}
	rows, err := o.admin.Query(t.Context(), "SELECT typname FROM pg_catalog.pg_type WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype IN ('b', 'r', 'm') AND typcategory <> 'A' AND typrelid = 0")
	if err != nil {
		t.Fatal(err)
	}
	known := typesWithoutInput
	for _, c := range columntest.Postgres {
		known += " " + strings.Trim(c.Type, `"`)
	}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(" "+known+" ", " "+name+" ") {
			t.Errorf("no value of the type %s is tried", name)
		}
	}
	r := newRoundTrips(t, o.source)
	r.lists = true
	for _, c := range columntest.Postgres {
		r.check(t, c)
	}
}

func TestEveryTypeOfMariaDBKeepsItsValues(t *testing.T) {
	r := newRoundTrips(t, connect(t, "mysql").source)
	for _, c := range columntest.MySQL {
		r.check(t, c)
	}
}

func TestEveryTypeOfSQLiteKeepsItsValues(t *testing.T) {
	dir := t.TempDir()
	r := newRoundTrips(t, func(inputs, body string) adaptertest.Source {
		return adaptertest.Source{Set: testSet, Dir: dir, HCL: `
connection "sqlite" "db" { file = "db.sqlite" }
tool "t" {
  description = "A tool."
  ` + inputs + `
  sql "db" {
    ` + body + `
  }
}`}
	})
	for _, c := range columntest.SQLite {
		r.check(t, c)
	}
}
