package examples_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// seededBugs are mistakes that people make in tools and that load: the file, what is right, and what is written instead.
var seededBugs = []struct{ name, file, right, wrong string }{
	{"another verb", "orders/orders.hcl", `post      = "/orders"`, `put       = "/orders"`},
	{"another path", "orders/orders.hcl", `get   = "/orders"`, `get   = "/order"`},
	{"a dropped parameter", "orders/orders.hcl", `status = input.status, limit`, `limit`},
	{"another cursor", "orders/orders.hcl", `"cursor"`, `"page"`},
	{"another list", "orders/orders.hcl", `"output.body.orders"`, `"output.body.items"`},
	{"a dropped member", "orders/orders.hcl", `lines = input.lines, `, ``},
	{"no authentication", "orders/orders.hcl", `coalesce(secret.shop_token, "none")`, `"none"`},
	{"no retry", "orders/orders.hcl", `attempts = 3`, `attempts = 1`},
	{"another status", "orders/orders.hcl", `["201"]`, `["200"]`},
	{"another error", "orders/orders.hcl", `error.status == 404`, `error.status == 403`},
	{"a type without pattern", "orders/orders.hcl", `, { pattern = "^[A-Z]{2}-[0-9]{4}$" }`, ``},
	{"swapped columns", "orders/orders.hcl", `(id, date, amount, vendor)`, `(id, date, vendor, amount)`},
	{"a condition that always holds", "orders/orders.hcl", `body.status == 'paid'`, `body.status != 'cancelled'`},
	{"another member in the text", "orders/orders.hcl", `${output.body.total} cents`, `${output.body.id} cents`},
	{"swapped bounds", "invoices/invoices.hcl", `${input.from} AND ${input.to}`, `${input.to} AND ${input.from}`},
	{"another comparison", "invoices/invoices.hcl", `input.from <= input.to`, `input.from != input.to`},
	{"a negated list", "invoices/invoices.hcl", `vendor IN ${`, `vendor NOT IN ${`},
	{"another aggregate", "invoices/invoices.hcl", `vendor, SUM(amount) AS revenue`, `vendor, COUNT(amount) AS revenue`},
	{"an expectation that always holds", "invoices/invoices.hcl", `len(output.rows) > 0`, `len(output.rows) >= 0`},
	{"another year", "invoices/invoices.hcl", `input.year + 1`, `input.year + 0`},
	{"another amount", "payments/payments.hcl", `amount = input.amount`, `amount = input.order`},
	{"no approval", "approvals/approvals.hcl", `input.amount > 100`, `input.amount > 1000`},
	{"a deletion of more", "team/team.hcl", `DELETE FROM invoices WHERE id = `, `DELETE FROM invoices WHERE id >= `},
	{"no rollback", "team/team.hcl", `output.affected == 1`, `output.affected >= 0`},
	{"another person", "team/team.hcl", `paid = ${caller.subject}`, `paid = 'ada'`},
	{"an open policy", "team/policies.hcl", `caller.subject != null`, `true`},
	{"a policy without its rule", "team/policies.hcl", `  deny  = "tool.destructive && 'board' not in caller.groups"`, ``},
	{"a statement of all rows", "desk/tickets.hcl", ` AND status <> 'closed'"`, `"`},
	{"another option", "ops/ops.hcl", `"-nF"`, `"-n"`},
	{"another exit code", "ops/ops.hcl", `ok_codes = [0, 1]`, `ok_codes = [0]`},
	{"half of a transaction", "postgres/postgres.hcl", `output.results[0].affected == len(input.ids)`, `true`},
	{"files that are replaced", "files/files.hcl", `if_exists = "fail"`, `if_exists = "replace"`},
}

func TestTheTestsOfTheExamplesFindSeededBugs(t *testing.T) {
	for _, bug := range seededBugs {
		t.Run(bug.name, func(t *testing.T) {
			t.Parallel()
			dir, file := filepath.Split(bug.file)
			f := example(t, filepath.Clean(dir))
			right := f.read(file)
			wrong := strings.Replace(right, bug.right, bug.wrong, 1)
			if wrong == right {
				t.Fatalf("%q does not occur", bug.right)
			}
			f.write(file, wrong)
			if out := f.run("test", "."); out.code != 1 {
				t.Errorf("exit code %d:\n%s%s", out.code, out.stdout, out.stderr)
			}
		})
	}
}
