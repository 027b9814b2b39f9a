package lint

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"hatchel/adapters/all"
	"hatchel/hcl"
)

// maskFindings returns what the findings of a rule mark.
func maskFindings(t *testing.T, rule, src string) (found []string) {
	t.Helper()
	config, diags := hcl.Load(fstest.MapFS{"a.hcl": {Data: []byte(src)}}, all.Set().Kinds(),
		hcl.Options{Getenv: func(string) (string, bool) { return "postgres://u@127.0.0.1/d", true }})
	if diags.HasErrors() {
		t.Fatalf("%v: %s", diags[0], diags[0].Detail)
	}
	for _, f := range Check(config, Options{}).Findings {
		if f.Rule == rule {
			found = append(found, src[f.Subject.Start.Byte:f.Subject.End.Byte]+": "+f.Detail)
		}
	}
	return found
}

func TestAMaskedColumnThatCallersCompareIsFound(t *testing.T) {
	for _, c := range []struct {
		statement string
		found     bool
		only      string // a kind of database
	}{
		{"SELECT id FROM customers WHERE email = ${input.x}", true, ""},
		{"SELECT id FROM customers WHERE lower(email) LIKE ${\"%${input.x}%\"}", true, ""},
		{"SELECT id FROM customers c WHERE c.email IN (${input.x}, 'b')", true, ""},
		{"SELECT id FROM customers WHERE email BETWEEN 'a' AND ${input.x}", true, ""},
		{"SELECT id FROM customers WHERE ${input.x} BETWEEN 'a' AND email", true, ""},
		{"SELECT id FROM customers WHERE (id, email) = (1, ${input.x})", true, ""},
		{"SELECT id FROM customers GROUP BY id HAVING max(email) < ${input.x}", true, ""},
		{"SELECT o.id FROM orders o JOIN customers c ON c.email = ${input.x}", true, ""},
		{"SELECT id FROM orders WHERE customer IN (SELECT id FROM customers WHERE email > ${input.x})", true, ""},
		{"SELECT id FROM customers ORDER BY email = ${input.x}", true, ""},
		{"WITH c AS (SELECT id, email AS mail FROM customers) SELECT id FROM c WHERE mail = ${input.x}", true, ""},
		{"SELECT id FROM customers WHERE id IN (SELECT customer FROM orders) AND email = ${input.x}", true, ""},
		{"SELECT id FROM customers WHERE ${input.x} = (SELECT max(email) FROM customers)", true, ""},
		{"SELECT id FROM orders WHERE ${input.x} IN (SELECT email FROM customers)", true, ""},
		{"SELECT id FROM customers WHERE email IN (SELECT ${input.x})", true, ""},
		{"SELECT id, CASE WHEN email = ${input.x} THEN 1 ELSE 0 END AS hit FROM customers", true, ""},
		{"SELECT id FROM customers WHERE CASE WHEN id > 1 THEN email = ${input.x} ELSE id = 2 END", true, ""},
		{"SELECT c.id FROM customers c JOIN (SELECT ${input.x} AS v) p ON p.v = c.email", true, ""},
		{"SELECT c.id FROM customers c JOIN (SELECT ${input.x} AS email) p USING (email)", true, ""},
		{"SELECT c.id FROM customers c NATURAL JOIN (SELECT ${input.x} AS email) p", true, ""},
		{"WITH p AS (SELECT ${input.x} AS email) SELECT c.id FROM customers c, p WHERE c.email = p.email", true, ""},
		{"SELECT c.id FROM customers c JOIN (VALUES (${input.x})) AS p(v) ON p.v = c.email", true, ""},
		{"WITH p(v) AS (VALUES (${input.x})) SELECT c.id FROM customers c, p WHERE p.v = c.email", true, ""},
		{"SELECT ${input.x} AS a INTERSECT SELECT email FROM customers", true, ""},
		{"SELECT id, count(*) OVER (ORDER BY email < ${input.x}) AS n FROM customers", true, ""},
		{"WITH p AS (SELECT ${input.x} AS v) SELECT c.id FROM customers c, p WHERE c.id = p.v AND email IS NOT NULL", false, ""},
		{"SELECT ${input.x} AS a UNION ALL SELECT name FROM customers", false, ""},
		{"SELECT id FROM customers WHERE id = ${input.x} AND id IN (SELECT id FROM old WHERE email = 'a')", false, ""},
		{"SELECT id FROM customers WHERE id = ${input.x}", false, ""},
		{"SELECT id FROM customers WHERE email IS NOT NULL AND id = ${input.x}", false, ""},
		{"SELECT id FROM customers WHERE email = ${caller.subject} LIMIT 5", false, ""},
		{"SELECT id FROM customers WHERE email = 'a' AND id = ${input.x}", false, ""},
		{"SELECT id, email FROM customers WHERE id = ${input.x} ORDER BY email", false, ""},
		{"SELECT id, email FROM customers LIMIT ${input.x}", false, ""},
		{"SELECT sum(CASE WHEN email = ${input.x} THEN 1 ELSE 0 END) AS n FROM customers", true, ""},
		{"SELECT sum(email = ${input.x}) AS n FROM customers", true, "sqlite"},
		{"SELECT sum(if(email = ${input.x}, 1, 0)) AS n FROM customers", true, "mysql"},
		{"SELECT count(nullif(email, ${input.x})) AS n FROM customers", true, ""},
		{"SELECT id, nullif(email, ${input.x}) AS n FROM customers", true, ""},
		{"SELECT id, email = ${input.x} AS hit FROM customers", true, ""},
		{"SELECT id FROM customers WHERE CASE email WHEN ${input.x} THEN 1 ELSE 0 END = 1", true, ""},
		{"SELECT id FROM customers WHERE CASE ${input.x} WHEN email THEN 1 ELSE 0 END = 1", true, ""},
		{"SELECT id FROM customers WHERE email = CASE WHEN id = 1 THEN ${input.x} ELSE 'a' END", true, ""},
		{"SELECT id FROM customers ORDER BY CASE email WHEN ${input.x} THEN 0 ELSE 1 END", true, ""},
		{"SELECT sum(CASE email WHEN ${input.x} THEN 1 ELSE 0 END) AS n FROM customers", true, ""},
		{"SELECT id FROM (SELECT id, email = ${input.x} AS hit FROM customers) t WHERE hit", true, ""},
		{"SELECT id, similarity(email, ${input.x}) AS score FROM customers ORDER BY score DESC LIMIT 10", true,
			"postgres"},
		{"SELECT id FROM customers WHERE email IS NOT DISTINCT FROM ${input.x}", true, "postgres"},
		{"SELECT id FROM customers WHERE substring(email FROM 1 FOR 3) = ${input.x}", true, "postgres"},
		{"SELECT id FROM customers WHERE trim(BOTH ' ' FROM email) = ${input.x}", true, "mysql"},
		{"SELECT id FROM customers WHERE email IN (SELECT value FROM json_each(${input.x}))", true, "sqlite"},
		{"SELECT c.id FROM customers c JOIN unnest(${input.l}) AS u(v) ON u.v = c.email", true, "postgres"},
		{"SELECT c.id FROM customers c, jsonb_to_recordset(${input.x}::jsonb) AS u(v text) WHERE u.v = c.email", true,
			"postgres"},
		{"SELECT id FROM customers c WHERE c::text LIKE ${\"%${input.x}%\"}", true, "postgres"},
		{"SELECT id FROM customers c WHERE concat_ws(' ', c.*) LIKE ${input.x}", true, "postgres"},
		{"SELECT id FROM customers WHERE data @> jsonb_build_object('email', ${input.x}::text)", true, "postgres"},
		{"SELECT DISTINCT ON (email = ${input.x}) id FROM customers", true, "postgres"},
		{"SELECT id FROM customers WHERE email = ANY(${input.l})", true, "postgres"},
		{"SELECT id FROM customers WHERE MATCH(email) AGAINST (${input.x})", true, "mysql"},
		{"SELECT id FROM customers WHERE email = ${input.l == null ? caller.subject : input.x}", true, ""},
		{"SELECT id FROM customers WHERE email = ${caller.subject == \"a\" ? caller.subject : input.x}", true, ""},
		{"SELECT id FROM customers WHERE email = ${each.value}", true, ""},
		{"SELECT id FROM customers WHERE email = ${each.key}", false, ""},
		{"SELECT id, email FROM customers ORDER BY email, id = ${input.x} DESC", false, ""},
		{"SELECT count(*) AS n FROM customers GROUP BY email, concat(name, ${input.x})", false, ""},
		{"SELECT DISTINCT ON (id) email, ${input.x} AS q FROM customers", false, "postgres"},
		{"SELECT id, ${input.x} AS q, email FROM customers", false, ""},
		{"SELECT id, coalesce(email, ${input.x}) AS e FROM customers", false, ""},
		{"SELECT CASE WHEN id = ${input.x} THEN email ELSE 'x' END AS e FROM customers", false, ""},
		{"SELECT string_agg(name, ',' ORDER BY email) AS names, ${input.x} AS q FROM customers", false, "postgres"},
		{"SELECT name FROM customers GROUP BY name HAVING count(DISTINCT email) > ${input.x}", false, ""},
		{"SELECT id, row_number() OVER (PARTITION BY email ORDER BY id) AS n FROM customers WHERE id > ${input.x}", false,
			""},
		{"SELECT id FROM customers WHERE email IN (SELECT email FROM news WHERE topic = ${input.x})", false, ""},
		{"SELECT a.id FROM customers a JOIN orders o ON o.email = a.email WHERE a.id = ${input.x}", false, ""},
		{"SELECT a.id, ${input.x} AS q FROM customers a JOIN orders o ON o.email = a.email", false, ""},
		{"SELECT id FROM customers WHERE email IS NULL OR id = ${input.x}", false, ""},
		{"SELECT id FROM customers WHERE email <> '' AND (name LIKE ${input.x} OR id = 2)", false, ""},
		{"SELECT extract(year FROM born) AS y, id FROM customers WHERE id = ${input.x} ORDER BY email", false, "postgres"},
	} {
		for _, kind := range []string{"sqlite", "postgres", "mysql"} {
			if c.only != "" && c.only != kind {
				continue
			}
			each := ""
			switch {
			case strings.Contains(c.statement, "${each.value}"):
				each = "each = coalesce(input.l, [])\n    "
			case strings.Contains(c.statement, "${each.key}"):
				each = "each = [\"a\", \"b\"]\n    "
			}
			found := maskFindings(t, "mask-oracle", connectionOf(kind)+`
mask "m" { members = ["email"] }
tool "t" {
  description = "Find customers by x."
  input "x" { type = string("What to find") }
  input "l" { type = optional(list(string("What to find"))) }
  sql "db" {
    `+each+`query = <<-SQL
      `+c.statement+`
    SQL
  }
}
`)
			if (len(found) > 0) != c.found {
				t.Errorf("%s: %s: %q", kind, c.statement, found)
			}
		}
	}
}

func TestAMemberThatNoOutputHasIsFound(t *testing.T) {
	src := func(mask, statement string) string {
		return connectionOf("sqlite") + "mask \"m\" { members = [" + mask + "] }\ntool \"t\" {\n  description = \"List all customers.\"\n" +
			"  sql \"db\" { query = \"" + statement + "\" }\n}\n"
	}
	got := maskFindings(t, "mask", src(`"emial", "phone", "customers.name"`, "SELECT email, phone, name FROM customers LIMIT 5"))
	want := []string{`mask "m": No output to which mask "m" applies has "emial". Did you mean "email"?`}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := maskFindings(t, "mask", src(`"email", "customer_names.contact"`, "SELECT contact FROM customer_names LIMIT 5")); got != nil {
		t.Errorf("a column that a view may read: %q", got)
	}
	if got := maskFindings(t, "mask", src(`"emial"`, "SELECT * FROM customers LIMIT 5")); got != nil {
		t.Errorf("columns that nobody knows: %q", got)
	}
}
