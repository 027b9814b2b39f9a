package console_test

import (
	"net/http"
	"regexp"
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

// pagedTools are two tools with pages, one of which has a format, and one with another sensitive input.
const pagedTools = `console { try = "call" }
events { results = "redacted" }
connection "sqlite" "db" {
  file = "rows.db"
  init = "CREATE TABLE n (id INTEGER PRIMARY KEY); INSERT INTO n VALUES (1), (2), (3), (4), (5);"
}
tool "t" {
  description = "d"
  input "least" { type = optional(integer, 0) }
  page {
    size = 2
    keys = { id = integer }
  }
  sql "db" { query = "SELECT id FROM n WHERE id > ${input.least} %{if page.after != null} AND id > ${page.after.id} %{endif} ORDER BY id LIMIT ${page.limit}" }
}
tool "table" {
  description = "d"
  format = ["csv", "json"]
  page {
    size = 2
    keys = { id = integer }
  }
  sql "db" { query = "SELECT id FROM n %{if page.after != null} WHERE id > ${page.after.id} %{endif} ORDER BY id LIMIT ${page.limit}" }
}
tool "pin" {
  description = "d"
  input "pin" {
    type = optional(string)
    sensitive = true
  }
  page {
    size = 2
    keys = { id = integer }
  }
  sql "db" { query = "SELECT id FROM n WHERE id > 0 AND ${input.pin} IS NULL %{if page.after != null} AND id > ${page.after.id} %{endif} ORDER BY id LIMIT ${page.limit}" }
}`

func TestTheFormAsksForTheNextPage(t *testing.T) {
	v := newSite(t, pagedTools).withTicket()
	next := func(got *reply) *reply {
		form := got.controls("form")
		form.Set("next", attr(got.find("next-page"), "value"))
		return v.post(attr(got.find("next-page"), "formaction"), form)
	}
	form := v.get("/console/tools/t").controls("form")
	form.Set("input.least", "1")
	got := v.post("/console/tools/t/call", form)
	for _, want := range []string{"id 2 3", "id 4 5"} {
		if text := strings.Join(tableIn(got), " "); !strings.Contains(text, want) {
			t.Fatalf("the page has %q, not %q: %s", text, want, textOf(got.find("outcome")))
		}
		if text := textOf(got.find("tokens")); !strings.HasPrefix(text, "≈ ") || strings.Contains(text, "json") {
			t.Errorf("the tokens are %q", text)
		}
		if want == "id 2 3" {
			got = next(got)
		}
	}
	if got.find("next-page") != nil {
		t.Error("there is a button for a page after the last one")
	}

	got = v.post("/console/tools/table/call", v.get("/console/tools/table").controls("form"))
	if text := textOf(got.find("tokens")); !strings.HasSuffix(text, ", csv") {
		t.Errorf("the tokens are %q", text)
	}
	if text := textOf(next(got).find("result")); !strings.Contains(text, "id\n3\n4\n") {
		t.Errorf("the second page of a table is %q", text)
	}
	form = v.get("/console/tools/table").controls("form")
	form.Set("input.format", `"json"`)
	got = v.post("/console/tools/table/call", form)
	if text := textOf(got.find("tokens")); !strings.HasSuffix(text, ", json") || got.find("next-page") == nil {
		t.Errorf("the tokens of JSON are %q", text)
	}
	calls := v.get("/console/tools/t")
	link := regexp.MustCompile(`/console/calls/[^"?]+`).FindString(calls.body)
	if text := textOf(v.get(link).find("tokens")); link != "" && !strings.HasPrefix(text, "≈ ") {
		t.Errorf("the page of the call %s says %q", link, text)
	}

	got = v.post("/console/tools/pin/call", v.get("/console/tools/pin").controls("form"))
	if got.find("result") == nil || got.find("next-page") != nil {
		t.Errorf("a page does not have the other sensitive arguments again: %s", textOf(got.find("outcome")))
	}
}
