package test_test

import (
	"strings"
	"testing"
)

// correct are tools and mocks that pass, with the output of each.
var correct = map[string]struct{ config, mocks, output string }{
	"http": {shop + `
    post     = "/orders/${"7"}/lines"
    query    = { expand = "price", dry = false }
    headers  = { X-Tenant = "north" }
    json     = { sku = "a", count = 2, tags = ["x", "y"] }
    response = object({ id = integer })
    retry { attempts = 2 }
  }
}`, `
mock "http" "shop" {
  post    = "/orders/7/lines"
  query   = { expand = "price", dry = "false" }
  headers = { X-Tenant = "north", Authorization = "Bearer (secret)" }
  json    = { sku = "a", count = 2, tags = ["x", "y"] }
  reply { status = 503 }
  reply { json = { id = 7 } }
}`, `"body":{"id":7}`},
	"sql": {`
connection "sqlite" "ledger" {
  file = "ledger.db"
  init = "CREATE TABLE paid (id INTEGER PRIMARY KEY, customer TEXT, total INTEGER)"
}
tool "pay" {
  description = "Tests."
  sql "ledger" {
    exec = [
      "INSERT INTO paid (id, customer, total) VALUES (${2}, ${"Eva"}, ${310})",
      "UPDATE paid SET total = total + ${1} WHERE id = ${1}",
      "SELECT id, customer, total FROM paid WHERE total > 5 ORDER BY id",
    ]
  }
}`, `
mock "sql" "ledger" {
  init = "INSERT INTO paid VALUES (1, 'Ada', 10)"
}`, `"rows":[{"id":1,"customer":"Ada","total":11},{"id":2,"customer":"Eva","total":310}]`},
	"shell": {`
tool "log" {
  description = "Tests."
  shell {
    pipe = [
      { command = ["git", "log", "--author=${"Eva"}", "-n", "5"], ok_codes = [0, 1] },
      ["sort", "-r"],
    ]
    env   = { TZ = "UTC" }
    parse = "lines"
  }
}`, `
mock "shell" {
  command = ["git", "log", "--author=Eva", "-n", "5"]
  env     = { TZ = "UTC" }
  reply {
    stdout = "a\nb\n"
    exit   = 1
  }
}
mock "shell" {
  command = ["sort", "-r"]
  stdin   = "a\nb\n"
  reply { stdout = "b\na\n" }
}`, `"lines":["b","a"]`},
}

func TestATestFindsMistakesInTools(t *testing.T) {
	for name, c := range correct {
		if o := call(t, c.config, c.mocks).mustSucceed(t); !strings.Contains(text(t, o.output), c.output) {
			t.Fatalf("%s: output %s", name, text(t, o.output))
		}
	}
	for _, bug := range []struct{ name, kind, right, wrong string }{
		{"another verb", "http", `post     =`, `put      =`},
		{"another path", "http", `/lines"`, `/line"`},
		{"another id", "http", `${"7"}`, `${"8"}`},
		{"a parameter is missing", "http", `expand = "price", `, ``},
		{"a parameter is misspelled", "http", `expand =`, `expands =`},
		{"a header is missing", "http", `{ X-Tenant = "north" }`, `{}`},
		{"no authentication", "http", `auth { bearer = secret.token }`, ``},
		{"a member of the body is missing", "http", `sku = "a", `, ``},
		{"a number is sent as text", "http", `count = 2`, `count = "2"`},
		{"a list in another order", "http", `["x", "y"]`, `["y", "x"]`},
		{"no retry", "http", `attempts = 2 }`, `attempts = 1 }`},
		{"another type of the response", "http", `id = integer`, `id = string`},
		{"columns are swapped", "sql", `(id, customer, total)`, `(id, total, customer)`},
		{"a statement is missing", "sql", `"UPDATE paid SET total = total + ${1} WHERE id = ${1}",`, ``},
		{"no condition", "sql", ` WHERE id = ${1}`, ``},
		{"another operator", "sql", `total > 5`, `total < 5`},
		{"another order", "sql", `ORDER BY id`, `ORDER BY id DESC`},
		{"another table", "sql", `FROM paid`, `FROM payed`},
		{"another option", "shell", `"--author=`, `"--committer=`},
		{"a variable is missing", "shell", `{ TZ = "UTC" }`, `{}`},
		{"a program of a pipe is missing", "shell", `      ["sort", "-r"],`, ``},
		{"an exit code is not accepted", "shell", `[0, 1]`, `[0]`},
		{"the output is parsed otherwise", "shell", `"lines"`, `"json"`},
	} {
		c := correct[bug.kind]
		config := strings.Replace(c.config, bug.right, bug.wrong, 1)
		if config == c.config {
			t.Fatalf("%s: %q does not occur", bug.name, bug.right)
		}
		o := call(t, config, c.mocks)
		if o.err == nil && len(o.problems) == 0 && strings.Contains(text(t, o.output), c.output) {
			t.Errorf("%s: not found", bug.name)
		}
	}
}

func TestAFailedStatementLeavesNothingBehind(t *testing.T) {
	const config = `
connection "sqlite" "ledger" {
  file = "ledger.db"
  init = "CREATE TABLE paid (id INTEGER PRIMARY KEY)"
}
tool "pay" {
  description = "Tests."
  sql "ledger" { exec = ["INSERT INTO paid VALUES (2)", "INSERT INTO paid VALUES (1)"] }
}`
	o := call(t, config, `
mock "sql" "ledger" { init = "INSERT INTO paid VALUES (1)" }`)
	if o.err == nil || strings.Contains(text(t, o.sent), `"committed":true`) {
		t.Errorf("error %v, sent %s", o.err, text(t, o.sent))
	}
}
