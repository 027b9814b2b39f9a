package console_test

import (
	"net/http"
	"strings"
	"testing"
)

// rowsTool is a tool that returns rows, and in place of them what a text says.
const rowsTool = `console { try = "call" }
tool "t" {
  description = "d"
  input "n" { type = integer }
  max_text = "4MiB"
  result = "{rows: map(1..input.n, {{id: #, name: 'Ada & <' + string(#) + '>', note: \"it's\"}})}"
}`

func TestRowsAreShownAsATableWithTheirJSON(t *testing.T) {
	s := newSite(t, rowsTool)
	v := s.withTicket()
	call := func(n string) *reply {
		form := v.get("/console/tools/t").controls("form")
		form.Set("input.n", n)
		return v.post("/console/tools/t/call", form)
	}
	got := call("2")
	result := textOf(got.find("result"))
	if !containsAll(result, "id", "Ada & <1>", "Ada & <2>", "As JSON", `"name": "Ada & <1>"`) || strings.Count(result, `"name": "Ada & <1>"`) != 1 {
		t.Errorf("%d: %s", got.status, result)
	}
	if table := tableIn(got); len(table) != 3 || table[1] != "1|Ada & <1>|it's" {
		t.Errorf("the table is %q", table)
	}
	got = call("2000")
	if got.status != http.StatusOK || len(got.body) > 256<<10 || !strings.Contains(got.body, "Download all of it") ||
		len(tableIn(got)) < 100 || !strings.Contains(textOf(got.find("result")), "more rows") {
		t.Errorf("%d: a page of %d bytes with %d rows", got.status, len(got.body), len(tableIn(got)))
	}
}

// tableIn returns the rows of the first table of a result.
func tableIn(r *reply) (rows []string) {
	for n := range r.find("result").Descendants() {
		if n.Data == "tr" {
			var cells []string
			for c := range n.ChildNodes() {
				cells = append(cells, textOf(c))
			}
			rows = append(rows, strings.Join(cells, "|"))
		}
	}
	return rows
}
