package examples_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// What a view or a computed column of a database makes of a masked column reaches nobody: the call fails, the database
// is asked by validate --connect, and the mask that names the column masks it.
func TestMasksFollowViewsAndComputedColumnsOfDatabases(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sqlite", "postgres", "mysql"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			f := maskedFolder(t)
			stored := map[string]string{"sqlite": "VIRTUAL", "postgres": "STORED", "mysql": "STORED"}[kind]
			definitions := []string{
				"CREATE VIEW %[1]s_v AS SELECT name, email AS contact, salary FROM %[1]s",
				"CREATE VIEW %[1]s_w AS SELECT name, upper(contact) AS reach, 'x' AS other FROM %[1]s_v",
				"ALTER TABLE %[1]s ADD COLUMN handle VARCHAR(100) GENERATED ALWAYS AS (lower(email)) " + stored,
			}
			table, url := "people", `url = "postgres://localhost"`
			switch kind {
			case "sqlite":
				f.write("people.hcl", fmt.Sprintf("connection \"sqlite\" \"people\" {\n  file = \"people.db\"\n  init = %q\n}\n"+
					"tool \"make\" {\n  description = \"Make the database.\"\n"+
					"  sql \"people\" { query = \"SELECT 1 AS one\" }\n}\n", maskedTable(table, definitions...)))
				if o := f.run("call", "make"); o.code != 0 {
					t.Fatalf("%+v", o)
				}
				f.env = append(f.env, "PEOPLE_SQLITE=unused")
				url = `file = "people.db"`
			case "postgres":
				table = maskedPostgres(t, f, definitions...)
			case "mysql":
				table = maskedMySQL(t, f, definitions...)
			}
			if table == "" {
				t.Skip("there is no server")
			}
			if kind != "sqlite" {
				url = "url = secret.people"
			}
			serve := func(members string) {
				f.write("people.hcl", fmt.Sprintf(`
secret "people" { env = "PEOPLE_%[4]s" }
connection "%[1]s" "people" { %[2]s }
mask "m" { members = [%[3]s] }
tool "by_view" {
  description = "People."
  sql "people" { query = "SELECT name, contact FROM %[5]s_v LIMIT 10" }
}
tool "by_views" {
  description = "People."
  sql "people" { query = "SELECT name, reach AS r FROM %[5]s_w LIMIT 10" }
}
tool "by_all_of_views" {
  description = "People."
  sql "people" { query = "SELECT * FROM %[5]s_w LIMIT 10" }
}
tool "computed" {
  description = "People."
  sql "people" { query = "SELECT name, handle FROM %[5]s LIMIT 10" }
}
tool "to_csv" {
  description = "People."
  step "x" {
    sql "people" { query = "SELECT name, handle FROM %[5]s LIMIT 10" }
  }
  step "f" {
    csv {
      directory = "."
      file      = "written.csv"
      rows      = step.x.rows
    }
  }
  text = "done"
}
tool "unmasked" {
  description = "People."
  sql "people" { query = "SELECT name, other FROM %[5]s_w LIMIT 10" }
}
`, kind, url, members, strings.ToUpper(kind), table))
			}
			tools := []string{"by_view", "by_views", "by_all_of_views", "computed", "to_csv"}
			serve(`"email"`)
			validated := f.run("validate", "--connect")
			for _, member := range []string{"_v.contact", "_w.reach", ".handle"} {
				if want := fmt.Sprintf("members of the mask: \"%s%s\"", table, member); !strings.Contains(validated.stdout+validated.stderr, want) {
					t.Errorf("%s is not in %+v", want, validated)
				}
			}
			for _, tool := range tools {
				o := f.run("call", tool)
				if o.code == 0 || !strings.Contains(o.stdout+o.stderr, "would hold what a mask hides") {
					t.Errorf("%s: %+v", tool, o)
				}
				if _, err := os.Stat(f.file("written.csv")); !os.IsNotExist(err) {
					t.Errorf("%s: a file was written: %v", tool, err)
				}
			}
			if o := f.run("call", "unmasked"); o.code != 0 {
				t.Errorf("%+v", o)
			}
			serve(fmt.Sprintf(`"email", "%[1]s_v.contact", "%[1]s_w.reach", "%[1]s.handle"`, table))
			if o := f.run("validate", "--connect"); o.code != 0 {
				t.Errorf("%+v", o)
			}
			for _, tool := range tools {
				o := f.run("call", tool)
				text := o.stdout + o.stderr
				if tool == "to_csv" {
					text += f.read("written.csv")
				}
				if o.code != 0 || !strings.Contains(text, "(masked)") ||
					strings.Contains(strings.ToLower(text), strings.ToLower(rawText)) {
					t.Errorf("%s: %+v", tool, o)
				}
			}
		})
	}
}
