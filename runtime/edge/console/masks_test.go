package console_test

import (
	"fmt"
	"strings"
	"testing"
)

const maskedTools = `
console { try = "call" }
connection "sqlite" "desk" {
  file = "desk.db"
  init = "CREATE TABLE IF NOT EXISTS t AS SELECT 1 AS id, 'ann@example.com' AS email, 5 AS salary"
}
mask "contact" {
  members = ["email"]
  with    = "partial"
  unless  = "'support' in caller.groups"
}
mask "pay" { members = ["salary"] }
tool "people" {
  description = "List people."
  sql "desk" { query = "SELECT id, email, salary FROM t" }
  result = "{people: map(output.rows, {{mail: .email, id: .id, salary: .salary}})}"
}
`

// The page of a tool marks what is masked of its answer, its policies say what a caller sees, and a call what became of
// the masks. The list of tools has the members for every caller, and no page has the value.
func TestMasksAreShown(t *testing.T) {
	s := newSite(t, audited+keysOf("ada:admin", "sam:support")+maskedTools)
	ada := s.signedIn("ada")
	page := ada.get("/console/tools/people")
	want := [][]string{{"Member", "Mask", "Callers see", "Unless", "Source"},
		{"people[].mail", "contact", "partial", "'support' in caller.groups", "a.hcl:"},
		{"people[].salary", "pay", "hidden", "never", "a.hcl:"}}
	got := page.rows("masked")
	for i := range got {
		if last := len(got[i]) - 1; i > 0 {
			got[i][last], _, _ = strings.Cut(got[i][last], ":")
			got[i][last] += ":"
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the members are %q", got)
	}
	if schema := textOf(page.find("schema")); !strings.Contains(strings.Join(strings.Fields(schema), ""),
		`"_meta":{"hatchel/masked":["people[].mail","people[].salary"]}`) {
		t.Errorf("the entry is %s", schema)
	}
	for query, sees := range map[string]string{"": "partial", "?caller=group+support": "shown", "?groups=support": "shown"} {
		if rows := ada.get("/console/policies/tool/people" + query).rows("masks"); len(rows) != 3 || rows[1][2] != sees ||
			rows[2][2] != "hidden" {
			t.Errorf("%q: the masks are %q", query, rows)
		}
	}
	matrix := ada.get("/console/policies?caller=group+support").rows("mask-matrix")
	if want := [][]string{{"Mask", "group support"}, {"contact email", "shown"}, {"pay salary", "hidden"}}; fmt.Sprint(matrix) != fmt.Sprint(want) {
		t.Errorf("the matrix of masks is %q", matrix)
	}
	if rows := ada.get("/console/policies?caller=you").rows("mask-matrix"); len(rows) != 3 || rows[1][1] != "partial" {
		t.Errorf("the person who looks sees %q", rows)
	}
	for _, c := range [][2]string{{"ada", "contact: applied, pay: applied"}, {"sam", "contact: lifted, pay: applied"}} {
		s.callAs(c[0], "people", "{}")
		call := ada.get(callPath.FindString(ada.get("/console/tools/people").body))
		if got := textOf(call.find("masks")); got != c[1] || strings.Contains(call.body, "ann@") {
			t.Errorf("%s: the call shows %q", c[0], got)
		}
	}
}
