package lint

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"hatchel/adapters/all"
	"hatchel/hcl"
)

const acmeList = `tool "acme_list" {
  description = "List the invoices of the caller."
  sql "db" { query = "SELECT id FROM invoices WHERE tenant = ${caller.claims.tenant} LIMIT 10" }
}
`

// callerFindings returns the findings of caller-filter, each as what marks it and its detail.
func callerFindings(t *testing.T, src string) (found []string) {
	t.Helper()
	config, diags := hcl.Load(fstest.MapFS{"a.hcl": {Data: []byte(src)}}, all.Set().Kinds(),
		hcl.Options{Getenv: func(string) (string, bool) { return "postgres://u@127.0.0.1/d", true }})
	if diags.HasErrors() {
		var out strings.Builder
		diags.Print(&out, config.Sources)
		t.Error(out.String())
		return nil
	}
	for _, f := range Check(config, Options{}).Findings {
		if f.Rule == "caller-filter" {
			found = append(found, src[f.Subject.Start.Byte:f.Subject.End.Byte]+": "+f.Detail)
		}
	}
	return found
}

func connectionOf(kind string) string {
	if kind == "sqlite" {
		return "connection \"sqlite\" \"db\" { file = \"a.db\" }\n"
	}
	return fmt.Sprintf("connection %q \"db\" { url = \"%s://u@127.0.0.1/d\" }\n", kind, kind)
}

// TestASiblingWithoutTheCallerIsFound tries statements beside acmeList.
func TestASiblingWithoutTheCallerIsFound(t *testing.T) {
	tenant := "${caller.claims.tenant}"
	for _, c := range []struct {
		statement string
		kinds     string // empty for all
		found     bool
	}{
		{statement: `query = "SELECT id FROM invoices LIMIT 10"`, found: true},
		{statement: `query = "SELECT id FROM invoices WHERE tenant = 'acme' LIMIT 10"`, found: true},
		{statement: `query = "SELECT id FROM invoices WHERE tenant = ` + tenant + ` LIMIT 10"`},
		{statement: `query = "SELECT id FROM invoices WHERE owner = ${caller.subject} LIMIT 10"`},
		{statement: `query = "SELECT id FROM payments LIMIT 10"`},
		// Names.
		{statement: `query = "select id from Invoices limit 10"`, found: true},
		{statement: `query = "SELECT id FROM public.invoices LIMIT 10"`, found: true},
		{statement: `query = "SELECT id FROM public . \"invoices\" LIMIT 10"`, kinds: "postgres sqlite", found: true},
		{statement: `query = "SELECT id FROM \"Invoices\" LIMIT 10"`, kinds: "postgres"},
		{statement: `query = "SELECT id FROM \"INVOICES\" LIMIT 10"`, kinds: "sqlite", found: true},
		{statement: "query = \"SELECT id FROM `invoices` LIMIT 10\"", kinds: "mysql sqlite", found: true},
		{statement: "query = \"SELECT id FROM `shop`.`Invoices` LIMIT 10\"", kinds: "mysql", found: true},
		{statement: `query = "SELECT id FROM [invoices] LIMIT 10"`, kinds: "sqlite", found: true},
		{statement: `query = "SELECT id FROM /* WHERE tenant = */ invoices -- tenant\nLIMIT 10"`, found: true},
		{statement: `query = "TABLE invoices"`, kinds: "postgres mysql", found: true},
		// The caller is not in a condition.
		{statement: `query = "SELECT ` + tenant + ` AS tenant, id FROM invoices LIMIT 10"`, found: true},
		{statement: `query = "SELECT CASE WHEN tenant = ` + tenant + ` THEN 1 END AS own FROM invoices LIMIT 10"`, found: true},
		{statement: `query = "SELECT count(*) FILTER (WHERE tenant = ` + tenant + `) FROM invoices"`, kinds: "postgres sqlite", found: true},
		{statement: `query = "SELECT id FROM invoices ORDER BY tenant = ` + tenant + ` LIMIT 10"`, found: true},
		{statement: `exec = "UPDATE invoices SET paid_by = ${caller.subject} WHERE id = ${input.id}"`, found: true},
		{statement: `exec = "UPDATE invoices SET paid = 1 WHERE id = ${input.id} AND tenant = ` + tenant + `"`},
		{statement: `exec = "DELETE FROM invoices WHERE id = ${input.id}"`, found: true},
		{statement: `exec = "DELETE FROM invoices WHERE id = ${input.id} AND tenant = ` + tenant + `"`},
		{statement: `exec = "INSERT INTO invoices (id, tenant) VALUES (${input.id}, ${input.name})"`, found: true},
		{statement: `exec = "INSERT INTO invoices (id, tenant) VALUES (${input.id}, ` + tenant + `)"`},
		{statement: `exec = "INSERT INTO archive (id) SELECT id FROM invoices"`, found: true},
		{statement: `exec = "INSERT INTO archive (id, tenant) SELECT id, ` + tenant + ` FROM invoices"`, found: true},
		{statement: `exec = "INSERT INTO archive (id) SELECT id FROM invoices WHERE tenant = ` + tenant + `"`},
		{statement: `exec = ["DELETE FROM invoices WHERE tenant = ` + tenant + `", "DELETE FROM invoices WHERE id = ${input.id}"]`, found: true},
		// What a client says of itself proves nothing.
		{statement: `query = "SELECT id FROM invoices WHERE tenant = ${caller.client.name} LIMIT 10"`, found: true},
		// Joins and parts.
		{statement: `query = "SELECT i.id FROM invoices i JOIN tenants t ON t.id = i.tenant WHERE t.name = ` + tenant + ` LIMIT 10"`},
		{statement: `query = "SELECT i.id FROM tenants t JOIN invoices i ON i.tenant = t.id AND (t.name = ` + tenant + `) LIMIT 10"`},
		{statement: `query = "SELECT i.id FROM customers c, invoices i WHERE c.id = i.customer LIMIT 10"`, found: true},
		{statement: `query = "SELECT id FROM customers WHERE id IN (SELECT customer FROM invoices) LIMIT 10"`, found: true},
		{statement: `query = "SELECT id FROM invoices WHERE customer IN (SELECT id FROM customers WHERE tenant = ` + tenant + `) LIMIT 10"`},
		{statement: `query = "SELECT id, (SELECT name FROM users WHERE id = ${caller.subject}) AS me FROM invoices LIMIT 10"`, found: true},
		{statement: `query = "SELECT id, (SELECT count(*) FROM invoices i WHERE i.customer = c.id) AS n FROM customers c WHERE c.tenant = ` + tenant + ` LIMIT 10"`},
		{statement: `query = "SELECT id FROM (SELECT id, tenant FROM invoices) i WHERE tenant = ` + tenant + ` LIMIT 10"`},
		{statement: `query = "SELECT id FROM payments WHERE tenant = ` + tenant + ` UNION ALL SELECT id FROM invoices"`, found: true},
		{statement: `query = "SELECT id FROM invoices WHERE tenant = ` + tenant + ` UNION ALL SELECT id FROM invoices"`, found: true},
		{statement: `query = "SELECT id FROM (SELECT id, tenant FROM invoices UNION ALL SELECT id, tenant FROM payments) a WHERE tenant = ` + tenant + ` LIMIT 10"`},
		{statement: `query = "SELECT id FROM (SELECT id FROM payments WHERE tenant = ` + tenant + ` UNION ALL SELECT id FROM invoices) a LIMIT 10"`, found: true},
		{statement: `query = "WITH mine AS (SELECT id FROM invoices WHERE tenant = ` + tenant + `) SELECT id FROM mine LIMIT 10"`},
		{statement: `query = "WITH every AS (SELECT id, tenant FROM invoices) SELECT id FROM every WHERE tenant = ` + tenant + ` LIMIT 10"`},
		{statement: `query = "WITH every AS (SELECT id FROM invoices), mine AS (SELECT id FROM payments WHERE tenant = ` + tenant + `) SELECT id FROM every LIMIT 10"`, found: true},
		{statement: `query = "WITH me AS (SELECT ` + tenant + ` AS tenant) SELECT i.id FROM invoices i JOIN me ON me.tenant = i.tenant LIMIT 10"`},
		{statement: `query = "WITH RECURSIVE tree AS (SELECT id FROM invoices WHERE tenant = ` + tenant + ` UNION ALL SELECT i.id FROM invoices i JOIN tree ON i.parent = tree.id) SELECT id FROM tree LIMIT 10"`},
		{statement: `query = "SELECT EXTRACT(YEAR FROM invoices) FROM dates LIMIT 10"`, kinds: "postgres mysql"},
		{statement: `exec = "MERGE INTO invoices i USING drafts d ON d.id = i.id WHEN MATCHED THEN UPDATE SET paid = d.paid"`, kinds: "postgres", found: true},
		{statement: `exec = "MERGE INTO invoices i USING drafts d ON d.id = i.id AND i.tenant = ` + tenant + ` WHEN MATCHED THEN UPDATE SET paid = d.paid"`, kinds: "postgres"},
		{statement: `exec = "MERGE INTO invoices i USING drafts d ON d.id = i.id WHEN MATCHED THEN UPDATE SET paid_by = ${caller.subject}"`, kinds: "postgres", found: true},
		{statement: `exec = "MERGE INTO invoices i USING (VALUES (` + tenant + `)) d (tenant) ON d.tenant = i.tenant WHEN MATCHED THEN DELETE"`, kinds: "postgres"},
		{statement: `exec = "DELETE FROM invoices i USING customers c WHERE c.id = i.customer"`, kinds: "postgres", found: true},
		{statement: `exec = "DELETE FROM invoices i USING customers c WHERE c.id = i.customer AND c.tenant = ` + tenant + `"`, kinds: "postgres"},
		{statement: `exec = "UPDATE invoices i SET paid = 1 FROM customers c WHERE c.id = i.customer"`, kinds: "postgres", found: true},
		{statement: `exec = "UPDATE invoices i JOIN customers c ON c.id = i.customer SET i.paid = 1"`, kinds: "mysql", found: true},
		{statement: `exec = "UPDATE customers c, invoices i SET i.paid = 1 WHERE c.id = i.customer"`, kinds: "mysql", found: true},
		{statement: `exec = "UPDATE customers c, invoices i SET i.paid = 1 WHERE c.id = i.customer AND c.tenant = ` + tenant + `"`, kinds: "mysql"},
		{statement: `query = "SELECT i.id FROM customers c STRAIGHT_JOIN invoices i ON c.id = i.customer LIMIT 10"`, kinds: "mysql", found: true},
		{statement: `query = "SELECT STRAIGHT_JOIN invoices.id FROM payments invoices LIMIT 10"`, kinds: "mysql"},
		{statement: `exec = "INSERT INTO invoices (id) VALUES (${input.id}) ON CONFLICT (id) DO UPDATE SET paid = 1 WHERE invoices.tenant = ` + tenant + `"`, kinds: "postgres sqlite"},
		// Templates.
		{statement: `query = "SELECT id FROM invoices WHERE true %{ if input.name != null }AND tenant = ` + tenant + `%{ endif } LIMIT 10"`},
		{statement: `query = "SELECT id FROM invoices WHERE name IN (%{ for g in caller.groups }${g}, %{ endfor }'') LIMIT 10"`},
		{statement: `query = "SELECT id FROM invoices WHERE name = ANY(${caller.groups}) LIMIT 10"`, kinds: "postgres"},
		{statement: `query = "SELECT id FROM invoices WHERE name LIKE CONCAT(${caller.subject}, '%') LIMIT 10"`},
	} {
		for _, kind := range []string{"postgres", "mysql", "sqlite"} {
			if c.kinds != "" && !strings.Contains(c.kinds, kind) {
				continue
			}
			src := connectionOf(kind) + acmeList + "tool \"sibling\" {\n  description = \"Do something else.\"\n" +
				"  input \"id\" { type = optional(integer(\"Number of the invoice\"), 1) }\n" +
				"  input \"name\" { type = optional(string(\"Name of the customer\"), \"a\") }\n" +
				"  sql \"db\" { " + c.statement + " }\n}\n"
			found := callerFindings(t, src)
			switch {
			case !c.found && len(found) > 0:
				t.Errorf("%s: %s\nis reported: %s", kind, c.statement, found)
			case c.found && len(found) != 1:
				t.Errorf("%s: %s\nhas %d findings: %s", kind, c.statement, len(found), found)
			}
		}
	}
}

// TestCallersAreFollowedThroughAConfiguration tries the places of a configuration that use a table.
func TestCallersAreFollowedThroughAConfiguration(t *testing.T) {
	const list = `tool "list" {
  description = "List the invoices."
  sql "db" { query = "SELECT id FROM invoices LIMIT 10" }
}
`
	const filters = "tool.acme_list filters invoices by caller.claims.tenant; this "
	for name, c := range map[string]struct {
		src  string // beside acmeList
		want []string
	}{
		"the text": {list, []string{`"SELECT id FROM invoices LIMIT 10": ` + filters + "tool does not. Compare a column with " +
			"${caller.claims.tenant}, or have the database choose the rows with session or role of the connection \"db\". If all " +
			"callers may have all rows, write `# lint:allow caller-filter` and why above the statement."}},
		"a comment": {strings.Replace(list, "  sql", "  # lint:allow caller-filter Everybody may see the numbers.\n  sql", 1), nil},
		"a comment at the statement": {`tool "list" {
  description = "List the invoices."
  sql "db" {
    # lint:allow caller-filter Everybody may see the numbers.
    query = "SELECT id FROM invoices LIMIT 10"
  }
}
`, nil},
		"a rule about groups": {strings.Replace(list, "  sql", "  allow = \"'admin' in caller.groups\"\n  sql", 1),
			[]string{"tool does not"}},
		"a prompt": {`prompt "remind" {
  description = "Remind."
  sql "db" { query = "SELECT id FROM invoices LIMIT 10" }
  message "user" { text = "${output.rows[0].id}" }
}
`, []string{"prompt does not"}},
		"a resource": {`resource "all" {
  uri         = "db://invoices"
  description = "All invoices."
  sql "db" { query = "SELECT id FROM invoices LIMIT 10" }
}
`, []string{"resource does not"}},
		"another connection": {strings.Replace(list, `sql "db"`, `sql "other"`, 1) +
			"connection \"postgres\" \"other\" { url = \"postgres://u@127.0.0.1/e\" }\n", nil},
		"a step": {`tool "both" {
  description = "Count."
  step "mine" {
    sql "db" { query = "SELECT count(*) AS n FROM payments WHERE tenant = ${caller.claims.tenant}" }
  }
  step "every" {
    sql "db" { query = "SELECT count(*) AS n FROM payments" }
  }
  text = "${step.mine.row.n} of ${step.every.row.n}"
}
`, []string{"The step mine of tool.both filters payments by caller.claims.tenant; this one does not."}},
		"a step that uses what an earlier one has found for the caller": {`tool "first" {
  description = "Pay the first invoice."
  step "me" {
    sql "db" { query = "SELECT tenant FROM users WHERE name = ${caller.subject}" }
  }
  step "pay" {
    sql "db" { exec = "UPDATE invoices SET paid = true WHERE tenant = ${step.me.rows[0].tenant}" }
  }
  text = "${step.pay.affected}"
}
`, nil},
		"a step that uses what an earlier one has found for anybody": {`tool "first" {
  description = "Pay the first invoice."
  step "one" {
    sql "db" { query = "SELECT tenant FROM users LIMIT 1" }
  }
  step "pay" {
    sql "db" { exec = "UPDATE invoices SET paid = true WHERE tenant = ${step.one.rows[0].tenant}" }
  }
  text = "${step.pay.affected}"
}
`, []string{"tool does not"}},
		"locals": {`locals { quoted = "x" }
tool "mine" {
  description = "List."
  locals { tenant = caller.claims.tenant }
  sql "db" { query = "SELECT id FROM invoices WHERE tenant = ${local.tenant} LIMIT 10" }
}
tool "theirs" {
  description = "List."
  sql "db" { query = "SELECT id FROM invoices WHERE tenant = ${local.quoted} LIMIT 10" }
}
`, []string{"tool does not"}},
		"each": {`tool "mine" {
  description = "Delete."
  sql "db" {
    each = caller.groups
    exec = "DELETE FROM invoices WHERE team = ${each.value}"
  }
}
tool "theirs" {
  description = "Delete."
  input "ids" { type = list(integer("Number"), "Numbers") }
  sql "db" {
    each = input.ids
    exec = "DELETE FROM invoices WHERE id = ${each.value}"
  }
}
`, []string{"tool does not"}},
		"the results of an earlier statement": {`tool "mine" {
  description = "Add."
  sql "db" {
    exec = [
      "INSERT INTO invoices (tenant) VALUES (${caller.claims.tenant}) RETURNING id",
      "UPDATE invoices SET first = true WHERE id = ${output.results[0].row.id}",
    ]
  }
}
`, nil},
		"completions and what approvers see": {`tool "pay" {
  description = "Pay."
  input "id" {
    type = integer("Number")
    complete {
      sql "db" { query = "SELECT id FROM invoices LIMIT 10" }
    }
  }
  approval {
    by      = "operator"
    message = "Pay"
    before "invoice" {
      sql "db" { query = "SELECT id FROM invoices WHERE id = ${input.id}" }
    }
  }
  sql "db" { exec = "UPDATE invoices SET paid = true WHERE id = ${input.id} AND tenant = ${caller.claims.tenant}" }
}
`, []string{"SELECT id FROM invoices LIMIT 10", "WHERE id = ${input.id}"}},
	} {
		t.Run(name, func(t *testing.T) {
			found := callerFindings(t, connectionOf("postgres")+acmeList+c.src)
			if len(found) != len(c.want) {
				t.Fatalf("%d findings: %q", len(found), found)
			}
			for i, want := range c.want {
				if !strings.Contains(found[i], want) {
					t.Errorf("got %s\nwant %s", found[i], want)
				}
			}
		})
	}
}

// TestAStatementOfTheCallerIsFound matters because it may read every table.
func TestAStatementOfTheCallerIsFound(t *testing.T) {
	found := callerFindings(t, `connection "sqlite" "db" {
  file = "a.db"
  mode = "ro"
}
`+acmeList+`tool "ask" {
  description = "Run a statement."
  input "sql" { type = string("Statement") }
  sql "db" { statement = input.sql }
}
`)
	if len(found) != 1 || !strings.Contains(found[0], "filters invoices by caller.claims.tenant; this tool runs any statement. ") ||
		strings.Contains(found[0], "session") {
		t.Errorf("got %q", found)
	}
}

// TestAViewOfTheSchemaHasTheRowsOfItsTables reads the views that init of a connection creates.
func TestAViewOfTheSchemaHasTheRowsOfItsTables(t *testing.T) {
	connection := `connection "sqlite" "db" {
  file = "a.db"
  init = "CREATE TABLE invoices (id); CREATE VIEW IF NOT EXISTS late AS SELECT id, tenant FROM invoices; CREATE VIEW later AS SELECT * FROM late;"
}
`
	sibling := func(condition string) string {
		return `tool "late_list" {
  description = "List."
  sql "db" { query = "SELECT id FROM later ` + condition + ` LIMIT 10" }
}
`
	}
	if found := callerFindings(t, connection+acmeList+sibling("")); len(found) != 1 {
		t.Errorf("got %q", found)
	}
	if found := callerFindings(t, connection+acmeList+sibling("WHERE tenant = ${caller.claims.tenant}")); found != nil {
		t.Errorf("got %q", found)
	}
}

// TestAConnectionWithAnIdentityIsNotReported matters because the database chooses the rows there.
func TestAConnectionWithAnIdentityIsNotReported(t *testing.T) {
	sibling := strings.NewReplacer("acme_list", "list", "WHERE tenant = ${caller.claims.tenant} ", "").Replace(acmeList)
	if found := callerFindings(t, connectionOf("postgres")+acmeList+sibling); len(found) != 1 {
		t.Fatalf("without an identity: %q", found)
	}
	const secrets = "secret \"url\" { env = \"URL\" }\n"
	for _, identity := range []string{
		`url = secret.url
  session = { "app.tenant" = caller.claims.tenant }`,
		`url = secret.url
  role = "tenant"`,
		`instances = { eu = secret.url }
  instance = caller.claims.region`,
	} {
		connection := secrets + "connection \"postgres\" \"db\" {\n  " + identity + "\n}\n"
		if found := callerFindings(t, connection+acmeList+sibling); found != nil {
			t.Errorf("%s: %q", identity, found)
		}
	}
}
