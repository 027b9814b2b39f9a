package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestToolsForADatabaseWorkAtOnce(t *testing.T) {
	eachImportDatabase(t, func(t *testing.T, d *importDatabase) {
		d.create(t, "init_orders", "CREATE TABLE init_orders (id integer)")
		dir := filepath.Join(t.TempDir(), "new")
		d.run(t, "init", dir, "--from", d.kind)
		if d.kind == "sqlite" {
			d.env = "SQLITE_DATABASE=" + filepath.Join(d.dir, "db.sqlite")
		}
		d.env = strings.Replace(d.env, "DSN=", "DATABASE_URL=", 1)
		d.dir = dir
		d.mustHold(t)
		plan := map[string]string{"mysql": "sql_statement=SELECT 1"}[d.kind]
		if plan == "" {
			plan = "query=SELECT 1"
		}
		arguments := map[string][]string{
			"execute_sql": {"--arg", "sql=SELECT count(*) AS n FROM init_orders"}, "get_query_plan": {"--arg", plan},
			"list_column_cardinality": {"--arg", "table=init_orders"},
		}
		src, err := os.ReadFile(filepath.Join(dir, "tools.hcl"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(src)) {
			name, ok := strings.CutPrefix(line, `tool "`)
			if !ok {
				continue
			}
			name = strings.TrimSuffix(strings.TrimSpace(name), `" {`)
			out := d.run(t, append([]string{"call", "-C", dir, name}, arguments[name]...)...)
			if name == "list_tables" && !strings.Contains(out, "init_orders") {
				t.Errorf("list_tables gives %s", out)
			}
		}
	})
}
