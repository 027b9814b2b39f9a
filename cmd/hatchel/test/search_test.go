package test_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"hatchel/cmd/hatchel/test"
)

const searchedTools = `
connection "postgres" "shop" { url = "postgres://shop.example/x" }
tool "list_overdue" {
  description = "List invoices that are not paid."
  sql "shop" { query = "SELECT 1 AS one" }
}
tool "get_order" {
  description = "Read an order with its items."
  text        = "x"
}
tool "refund_order" {
  description = "Pay back an order."
  text        = "x"
}
policy "finance" {
  tools = ["refund_order"]
  allow = "'finance' in caller.groups"
}
toolset "all" {
  tools = ["*"]
  search {
    areas   = "Orders and invoices."
    results = 1
  }
}
`

// searchTest returns a search test that finds a tool.
func searchTest(question, tool, more string) string {
	return "search_test \"" + question + "\" {\n  toolset = \"all\"\n  finds = [\"" + tool + "\"]\n  " + more + "\n}\n"
}

func TestASearchIsTested(t *testing.T) {
	for _, c := range []struct{ question, tool, more, want string }{
		{"unpaid invoices", "list_overdue", "", ""},
		{"give the money back for an order", "refund_order", `caller { groups = ["finance"] }`, ""},
		{"refund_order", "refund_order", "", `The search finds get_order. No word of the question is in the name, the title, ` +
			`the description or the inputs of "refund_order", or the caller may not see it.`},
		{"an order with items", "refund_order", `caller { groups = ["finance"] }`,
			`The search finds get_order; "refund_order" is at place 2.`},
		{"astronomy", "get_order", "", "The search finds nothing"},
	} {
		s := suiteOf(t, searchedTools+searchTest(c.question, c.tool, c.more))
		r, err := s.Run(t.Context(), test.Options{Parallel: 1, Repeat: 2})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, d := range r.Results[0].Failures {
			got += d.Detail
		}
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, and has to have %q", c.question, got, c.want)
		}
	}
}

// TestTheRecallOfAllSearchesDecides runs a search test that finds its tool and one that does not.
func TestTheRecallOfAllSearchesDecides(t *testing.T) {
	s := suiteOf(t, searchedTools+searchTest("unpaid invoices", "list_overdue", "")+
		searchTest("astronomy", "get_order", "")+`
test "a call" {
  tool = "get_order"
  expect { text = "x" }
}`)
	for _, c := range []struct {
		min   float64
		fails bool
		want  map[string][]string // parts of the reports
	}{
		{0, true, map[string][]string{
			"text": {"FAILED  astronomy", "2 passed, 1 failed, recall 0.50 of 2 searches in "},
			"tap":  {"not ok 2 - astronomy\n# "}, "json": {`"recall": 0.5`, `"found": [`}, "github": {"::error "},
		}},
		{0.5, false, map[string][]string{
			"text": {"MISSED  astronomy", "2 passed, 1 missed, recall 0.50 of 2 searches in "},
			"tap":  {"not ok 2 - astronomy # TODO missed, and --min-recall decides\n# "},
			"json": {`"status": "missed"`, `"missed": 1`}, "github": {"::warning "},
		}},
		{0.6, true, map[string][]string{"text": {"MISSED  astronomy"}}},
	} {
		f := &test.Flags{Options: test.Options{Parallel: 1, Repeat: 1, MinRecall: c.min}}
		for format, parts := range c.want {
			var out, errs bytes.Buffer
			f.Format = format
			err := f.Execute(t.Context(), s, &test.Printer{Out: &out, Sources: s.Sources}, nil, &errs)
			if (err != nil) != c.fails {
				t.Errorf("min-recall %g: %v", c.min, err)
			}
			if c.min == 0.6 && errs.String() != "recall is 0.500, and --min-recall is 0.6\n" {
				t.Errorf("min-recall %g: %q", c.min, errs.String())
			}
			for _, part := range parts {
				if !strings.Contains(out.String(), part) {
					t.Errorf("min-recall %g: %s lacks %q:\n%s", c.min, format, part, out.String())
				}
			}
			if format == "json" && !json.Valid(out.Bytes()) {
				t.Errorf("invalid JSON:\n%s", out.String())
			}
		}
	}
}
