package examples_test

import (
	"fmt"
	"net/url"
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

// A caller chooses names: each combination is masked, or the call fails.
func TestMasksFollowEachFormOfAStatement(t *testing.T) {
	t.Parallel()
	f := maskedFolder(t)
	var labels []string
	for i := range 200 {
		labels = append(labels, fmt.Sprintf("%q", fmt.Sprint("label", i)))
	}
	f.write("people.hcl", fmt.Sprintf(`
connection "sqlite" "people" {
  file = "people.db"
  init = %q
}
mask "m" { members = ["email"] }
tool "few" {
  description = "People."
  input "c" { type = enum("name", "email") }
  input "n" { type = enum("value", "label") }
  sql "people" { query = "SELECT ${ident(input.c)} AS ${ident(input.n)} FROM people LIMIT 10" }
}
tool "many" {
  description = "People."
  input "c" { type = enum("name", "salary", "email") }
  input "n" { type = enum(%s) }
  sql "people" { query = "SELECT ${ident(input.c)} AS ${ident(input.n)} FROM people LIMIT 10" }
}
tool "words" {
  description = "People."
  sql "people" { query = "SELECT name, 1 AS offset, email AS contact FROM people LIMIT 10" }
}
tool "list" {
  description = "Touch people."
  sql "people" { exec = ["UPDATE people SET name = name", "DELETE FROM people WHERE name = 'x' RETURNING email AS contact"] }
}
`, strings.NewReplacer("CREATE TABLE", "CREATE TABLE IF NOT EXISTS", "INSERT", "INSERT OR IGNORE").Replace(maskedTable("people")),
		strings.Join(labels, ", ")))
	for _, c := range []struct{ call, want string }{
		{"few c=name n=label", `[{"label":"(masked)"}]`}, {"few c=email n=label", `[{"label":"(masked)"}]`},
		{"many c=name n=label0", "label0"}, {"many c=email n=label199", "more forms than can be followed"},
		{"words", `"contact":"(masked)"`}, {"list", `"affected":1`},
	} {
		o := f.run(append([]string{"call"}, strings.Fields(c.call)...)...)
		if text := o.stdout + o.stderr; !strings.Contains(text, c.want) || strings.Contains(text, rawText) {
			t.Errorf("%s: %+v", c.call, o)
		}
	}
}

// A statement of a list that gets a masked value of an earlier one would return it under another name.
func TestMaskedResultsAreNotSentByLaterStatements(t *testing.T) {
	t.Parallel()
	f := maskedFolder(t)
	for _, c := range []struct{ value, want string }{
		{"output.results[0].row.email", `masked by mask "m"`}, {"output.results[0].row.contact", `masked by mask "m"`},
		{"output.results[0].row.name", "no errors"},
	} {
		f.write("people.hcl", fmt.Sprintf(`
connection "sqlite" "people" { file = "people.db" }
mask "m" { members = ["email"] }
tool "t" {
  description = "People."
  sql "people" {
    exec = ["UPDATE people SET name = 'x' RETURNING name, email, lower(email) AS contact",
      "UPDATE people SET note = ${%s} RETURNING note"]
  }
}
`, c.value))
		if o := f.run("validate"); !strings.Contains(o.stdout+o.stderr, c.want) {
			t.Errorf("%s: %+v", c.value, o)
		}
	}
}

// A login that may use a view and not the schema of its tables is served, and so is a partition as its table is.
func TestMasksFollowViewsOverTablesThatTheLoginMayNotRead(t *testing.T) {
	t.Parallel()
	dsn, super := os.Getenv("HATCHEL_TEST_POSTGRES"), os.Getenv("HATCHEL_TEST_POSTGRES_SUPERUSER")
	if super == "" {
		t.Skip("HATCHEL_TEST_POSTGRES_SUPERUSER is not set")
	}
	f := maskedFolder(t)
	name := fmt.Sprintf("masked_%d_%d", os.Getpid(), helpdesks.Add(1))
	admin := f.desk(super)
	mustExec(t, admin, fmt.Sprintf(`CREATE SCHEMA %[1]s_private; CREATE SCHEMA %[1]s;
		CREATE TABLE %[1]s_private."Staff" (id int, email text, low text GENERATED ALWAYS AS (lower(email)) STORED);
		INSERT INTO %[1]s_private."Staff" VALUES (1, '%[2]s@example.com');
		CREATE VIEW %[1]s_private.inner_view AS SELECT id, email AS contact, low FROM %[1]s_private."Staff";
		CREATE VIEW %[1]s.staff AS SELECT id, contact AS reach, low AS l FROM %[1]s_private.inner_view;
		CREATE TABLE %[1]s.orders (id int, email text) PARTITION BY LIST (id);
		CREATE TABLE %[1]s.orders_1 PARTITION OF %[1]s.orders FOR VALUES IN (1);
		INSERT INTO %[1]s.orders VALUES (1, '%[2]s@example.com');
		CREATE ROLE %[1]s LOGIN; GRANT USAGE ON SCHEMA %[1]s TO %[1]s; GRANT SELECT ON ALL TABLES IN SCHEMA %[1]s TO %[1]s`, name, rawText))
	t.Cleanup(func() {
		mustExec(t, admin, fmt.Sprintf("DROP SCHEMA %[1]s CASCADE; DROP SCHEMA %[1]s_private CASCADE; DROP ROLE %[1]s", name))
	})
	address, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	address.User = url.User(name)
	query := address.Query()
	query.Set("search_path", name)
	address.RawQuery = query.Encode()
	f.env = append(f.env, "PEOPLE="+address.String())
	serve := func(members string) {
		f.write("people.hcl", fmt.Sprintf(`
secret "people" { env = "PEOPLE" }
connection "postgres" "people" { url = secret.people }
mask "m" { members = [%s] }
tool "ids" {
  description = "Staff."
  sql "people" { query = "SELECT id FROM staff LIMIT 10" }
}
tool "reach" {
  description = "Staff."
  sql "people" { query = "SELECT reach, l FROM staff LIMIT 10" }
}
tool "orders" {
  description = "Orders."
  sql "people" { query = "SELECT id, email FROM orders_1 LIMIT 10" }
}
tool "activity" {
  description = "Sessions."
  sql "people" { query = "SELECT usename FROM pg_stat_activity LIMIT 1" }
}
`, members))
	}
	for _, c := range []struct{ members, tool, want string }{
		{`"email"`, "ids", `[{"id":1}]`}, {`"email"`, "activity", `"usename":`},
		{`"email"`, "reach", `mask: "staff.reach", "staff.l"`}, {`"email"`, "orders", `"email":"(masked)"`},
		{`"orders.email"`, "orders", `mask: "orders_1.email"`},
		{`"orders.email", "orders_1.email"`, "orders", `"email":"(masked)"`},
		{`"email", "staff.reach", "staff.l"`, "reach", `[{"reach":"(masked)","l":"(masked)"}]`},
	} {
		serve(c.members)
		o := f.run("call", c.tool)
		if text := o.stdout + o.stderr; !strings.Contains(text, c.want) || strings.Contains(strings.ToLower(text), strings.ToLower(rawText)) {
			t.Errorf("%s: %s: %+v", c.members, c.tool, o)
		}
	}
}
