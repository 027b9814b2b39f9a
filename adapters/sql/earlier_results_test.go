package sql

import (
	"strings"
	"testing"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
)

// forEachDatabase runs a test on every database, with the tables headers and LINES. A later call of bind sees what an
// earlier one has stored.
func forEachDatabase(t *testing.T, test func(t *testing.T, bind func(inputs, body string) *adaptertest.BoundTool)) {
	t.Run("sqlite", func(t *testing.T) {
		first := sqliteSource(t, "", `exec = "CREATE TABLE headers (id INTEGER PRIMARY KEY, name VARCHAR(20) UNIQUE)"`)
		mustCall(t, adaptertest.Bind(t, first), `{}`)
		test(t, func(inputs, body string) *adaptertest.BoundTool {
			s := sqliteSource(t, inputs, strings.ReplaceAll(body, "LINES", "parts"))
			s.Dir = first.Dir
			return adaptertest.Bind(t, s)
		})
	})
	for _, s := range servers {
		t.Run(s.kind, func(t *testing.T) {
			s := connect(t, s.kind)
			s.run(t, "DROP TABLE IF EXISTS lines_of_headers")
			s.run(t, "DROP TABLE IF EXISTS headers")
			s.run(t, "CREATE TABLE headers (id "+s.autoID+", name VARCHAR(20) UNIQUE)")
			s.run(t, "CREATE TABLE lines_of_headers (item INTEGER NOT NULL, n INTEGER)")
			t.Cleanup(func() { s.run(t, "DROP TABLE headers"); s.run(t, "DROP TABLE lines_of_headers") })
			test(t, func(inputs, body string) *adaptertest.BoundTool {
				return s.bind(t, inputs, strings.ReplaceAll(body, "LINES", "lines_of_headers"))
			})
		})
	}
}

// A header row and its lines are stored in one transaction, on every database.
func TestLaterStatementReadsEarlierResults(t *testing.T) {
	forEachDatabase(t, func(t *testing.T, bind func(inputs, body string) *adaptertest.BoundTool) {
		const insert = `exec = [
			"INSERT INTO headers (name) VALUES (${each.value.name}) RETURNING id",
			"INSERT INTO LINES (item, n) VALUES ${[for n in each.value.lines : [output.results[0].row.id, n]]}",
			"UPDATE headers SET name = ${"${each.value.name}${output.results[1].affected}"} WHERE id = ${output.results[0].row.id}",
		]`
		orders := bind(`input "orders" { type = list(object({ name = string, lines = list(integer) })) }`,
			"each = input.orders\n max_rows = 2\n"+insert)
		const arguments = `{"orders":[{"name":"a","lines":[1,2,3]},{"name":"b","lines":[4]}]}`
		mustCall(t, orders, arguments)
		stored := bind("", `query = "SELECT name, n FROM headers, LINES WHERE id = item ORDER BY n"`)
		rows := `{"name":"a3","n":1},{"name":"a3","n":2},{"name":"a3","n":3},{"name":"b1","n":4}`
		if got := mustCall(t, stored, `{}`); !strings.Contains(got, "["+rows+"]") {
			t.Errorf("stored is %s", got)
		}
		if plan, err := orders.Plan(t.Context(), arguments); err != nil || !strings.Contains(plan, adapters.OmittedPrefix) {
			t.Errorf("the plan is %s, %v", plan, err)
		}
		none := bind("", `exec = [
			"INSERT INTO headers (name) SELECT 'c' FROM headers WHERE 1 = 0 RETURNING id",
			"DELETE FROM headers",
			"INSERT INTO LINES (item, n) VALUES (${output.results[0].row.id}, 5)",
		]`)
		wantEqual(t, mustFail(t, none, `{}`), `output.results[0].row is null and has no member "id"`)
		if got := mustCall(t, stored, `{}`); !strings.Contains(got, "["+rows+"]") {
			t.Errorf("the call that failed has changed something: %s", got)
		}
	})
}

// The condition of a statement may decide whether it inserts, updates or returns rows.
func TestRowsOfAConditionalStatementAreCounted(t *testing.T) {
	forEachDatabase(t, func(t *testing.T, bind func(inputs, body string) *adaptertest.BoundTool) {
		toggle := bind(`input "name" { type = string }`, `exec = [
			"DELETE FROM headers WHERE name = ${input.name}",
			"%{ if output.results[0].affected == 0 }INSERT INTO headers (name) VALUES (${input.name})`+
			`%{ if input.name == "b" } RETURNING name%{ endif }%{ else }DELETE FROM LINES WHERE 1 = 0%{ endif }",
		]`)
		for _, c := range []struct{ name, want string }{
			{"a", `"affected":1,`}, {"a", `"affected":0,`}, {"a", `"affected":1,`}, {"b", `"affected":1,`}, {"b", `"affected":0,`},
		} {
			got := mustCall(t, toggle, `{"name":"`+c.name+`"}`)
			if last := got[strings.LastIndex(got, `"affected"`):]; !strings.HasPrefix(last, c.want) {
				t.Errorf("%s: want %s in the last of %s", c.name, c.want, got)
			}
		}
	})
}

func TestLaterStatementNeedsTheIDThatItReads(t *testing.T) {
	first := sqliteSource(t, "", `exec = "CREATE TABLE headers (id INTEGER PRIMARY KEY, name TEXT UNIQUE)"`)
	mustCall(t, adaptertest.Bind(t, first), `{}`)
	s := sqliteSource(t, "", `exec = [
		"INSERT OR IGNORE INTO headers (name) VALUES ('a')",
		"INSERT INTO parts (item, n) VALUES (${output.results[0].last_id}, 1)",
	]`)
	s.Dir = first.Dir
	b := adaptertest.Bind(t, s)
	mustCall(t, b, `{}`)
	wantEqual(t, mustFail(t, b, `{}`), `output.results[0] has no member "last_id"`)
}
