package test_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"hatchel/cmd/hatchel/test"
)

const maskedTools = `
connection "postgres" "desk" { url = "postgres://desk.example/x" }
mask "contact" {
  members = ["email", "phone"]
  with    = "partial"
  unless  = "'support' in caller.groups"
}
mask "salary" { members = ["salary"] }
tool "customers" {
  description = "List customers."
  sql "desk" { query = "SELECT id, email, phone, salary FROM customers" }
  result = "{people: map(output.rows, {{mail: {email: .email}, phone: .phone, salary: .salary, id: .id}})}"
}
tool "hello" {
  description = "Greet."
  text        = "hello"
}
`

// maskedTest returns a test of the tool with a row and an expectation.
func maskedTest(name, caller, row, expect string) string {
	return fmt.Sprintf(`
test %q {
  tool = "customers"
  caller { groups = [%q] }
  mock "sql" "desk" {
    statement = "SELECT *"
    reply { rows = [{ %s }] }
  }
  expect { %s }
}`, name, caller, row, expect)
}

// A member is masked if it holds what a mask gave in the call, and nothing else counts: a value that only looks like it
// does not.
func TestAnAnswerIsMasked(t *testing.T) {
	const row = `id = 1, email = "ann@example.com", phone = "+49 30 123456", salary = 5`
	for _, c := range []struct{ name, caller, row, expect, want string }{
		{"names and paths", "sales", row, `masked = ["email", "mail.email", "ph*", "salary"]`, ""},
		{"no mask", "support", row, `masked = ["email"]`,
			`No mask gave what is here:` + "\n" + `       result.people[0].mail.email holds "ann@example.com"`},
		{"looks masked", "support", `id = 1, email = "a***@example.com", phone = "1", salary = 5`,
			`masked = ["email"]`, `holds "a***@example.com"`},
		{"null anyway", "sales", `id = 1, email = null, phone = "1", salary = null`, `masked = ["email"]`,
			`No mask gave the null of result.people[0].mail.email`},
		{"only one null", "sales", `id = 1, email = "ann@example.com", phone = "1", salary = 5`,
			`masked = ["salary"]`, ""},
		{"not there", "sales", row, `masked = ["emial"]`, `matches "emial", or the lists are empty. Did you mean "email"?`},
		{"not masked", "sales", row, `masked = ["id"]`, `result.people[0].id holds 1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := suiteOf(t, maskedTools+maskedTest("t", c.caller, c.row, c.expect))
			out, _ := failures(t, s)
			if out == "" != (c.want == "") || !strings.Contains(out, c.want) {
				t.Errorf("want %q, got\n%s", c.want, out)
			}
		})
	}
}

// The rule that lifts a mask is a branch with two ways.
func TestMasksAreCovered(t *testing.T) {
	const row = `id = 1, email = "ann@example.com", phone = "1", salary = 5`
	s := suiteOf(t, maskedTools+maskedTest("t", "sales", row, `masked = ["email"]`))
	if got := coverageOf(t, s); !strings.Contains(got, `a.hcl:6: mask "contact" is never lifted: 'support' in caller.groups`) ||
		strings.Contains(got, "always") || !strings.Contains(got, "branches 1/2") {
		t.Errorf("got\n%s", got)
	}
	s = suiteOf(t, maskedTools+maskedTest("t", "support", row, `that = "true"`))
	if got := coverageOf(t, s); !strings.Contains(got, `mask "contact" is always lifted`) {
		t.Errorf("got\n%s", got)
	}
}

func coverageOf(t *testing.T, s *test.Suite) string {
	t.Helper()
	out, report := failures(t, s)
	var text bytes.Buffer
	printer := &test.Printer{Out: &text, Sources: s.Sources}
	if err := printer.PrintCoverage(&text, s.Cover(report)); err != nil || out != "" {
		t.Fatal(err, out)
	}
	return text.String()
}
