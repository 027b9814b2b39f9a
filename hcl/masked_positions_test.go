package hcl_test

import (
	"fmt"
	"strings"
	"testing"

	. "hatchel/hcl"
)

// maskedSources are ways to a masked value in a later block of a tool: in HCL, and in expr where they are the same.
var maskedSources = []struct{ name, inHCL, inExpr string }{
	{"a member of a row", "step.a.row.email", "step.a.row.email"},
	{"an element of the rows", "step.a.rows[0].email", "step.a.rows[0].email"},
	{"another name in the statement", "step.a.row.alias", "step.a.row.alias"},
	{"a part of an expression of the statement", "step.a.row.part", "step.a.row.part"},
	{"a column of a subquery", "step.a.row.nested", "step.a.row.nested"},
	{"a function", "lower(step.a.row.email)", "lower(step.a.row.email)"},
	{"a text around it", `"x $${step.a.row.email}"`, "'x' + step.a.row.email"},
	{"an alternative", "coalesce(step.a.row.email, \"-\")", "step.a.row.email ?? '-'"},
	{"a list of it", "join(\",\", step.a.rows[*].email)", "join(map(step.a.rows, .email), ',')"},
	{"a list without others", "join(\",\", [for r in step.a.rows : r.email])", "first(map(step.a.rows, .email))"},
	{"an object with it", "{ a = step.a.row.email }.a", "{a: step.a.row.email}.a"},
	{"its row as JSON", "jsonencode(step.a.row)", "toJSON(step.a.row)"},
	{"a body without a type", "step.b.body.deep.email", "step.b.body.deep.email"},
	{"an element of such a body", "step.b.body.list[0].email", "step.b.body.list[0].email"},
}

// decidingPositions are blocks of a tool in which a value would decide. % is the value in HCL, and # in expr.
var decidingPositions = map[string]string{
	"when":            "step \"c\" {\n when = \"# == 'a'\"\n http \"other\" { get = \"/\" }\n}\nstep \"d\" {\n http \"other\" { get = \"/\" }\n}",
	"when in HCL":     "step \"c\" {\n when = % == \"a\"\n http \"other\" { get = \"/\" }\n}",
	"expect":          "step \"c\" {\n http \"other\" { get = \"/\" }\n expect \"no\" { that = \"# != ''\" }\n}",
	"comparison":      "result = \"{a: # == 'x'}\"",
	"order":           "result = \"{a: # < 'x'}\"",
	"prefix":          "result = \"{a: # startsWith 'x'}\"",
	"match":           "result = \"{a: # matches 'x'}\"",
	"membership":      "result = \"{a: # in ['x']}\"",
	"condition":       "result = \"{a: # == 'x' ? 1 : 2}\"",
	"length":          "result = \"{a: len(#)}\"",
	"filter":          "result = \"{a: filter(1..3, # == 'x')}\"",
	"any":             "result = \"{a: any(1..3, # == 'x')}\"",
	"count":           "result = \"{a: count(1..3, # == 'x')}\"",
	"condition, HCL":  "text = \"$${% == \"x\" ? 1 : 2}\"",
	"directive":       "text = \"%%{if % == \"x\"}a%%{endif}\"",
	"length, HCL":     "text = \"$${length(%)}\"",
	"contains, HCL":   "text = \"$${strcontains(%, \"x\")}\"",
	"comparison, HCL": "text = \"$${tostring(% == \"x\")}\"",
	"index":           "text = \"$${{ a = 1 }[%]}\"",
	"key":             "text = jsonencode({ (%) = 1 })",
	"query":           "step \"c\" {\n http \"other\" {\n  get   = \"/\"\n  query = { q = % }\n }\n}",
	"path":            "step \"c\" {\n http \"other\" { get = \"/$${%}\" }\n}",
	"body":            "step \"c\" {\n http \"other\" {\n  post = \"/\"\n  json = { q = % }\n }\n}",
	"parameter":       "step \"c\" {\n sql \"desk\" { query = \"SELECT id FROM t WHERE x = $${%}\" }\n}",
	"argument":        "step \"c\" {\n shell { command = [\"echo\", \"--\", %] }\n}",
	"input":           "step \"c\" {\n shell {\n  command = [\"cat\"]\n  stdin   = %\n }\n}",
	"another tool":    "step \"c\" {\n tool \"other\" { a = % }\n}",
}

// A masked value that would decide or be sent is refused at load, however an expression has it, and the message names
// its mask. Nothing else is reported of it.
func TestAMaskedValueDecidesNowhere(t *testing.T) {
	const configuration = `
connection "sqlite" "desk" { file = "desk.db" }
connection "http" "crm" { base_url = "https://crm.example" }
connection "http" "other" { base_url = "https://other.example" }
mask "contact" {
  members = ["email"]
  unless  = "'support' in caller.groups"
}
tool "other" {
  description = "Another one."
  input "a" { type = string }
  text = "${input.a}"
}
tool "t" {
  description = "One."
  step "a" {
    sql "desk" {
      query = "SELECT id, email, email AS alias, lower(email) || 'x' AS part, (SELECT max(email) FROM t) AS nested FROM t"
    }
  }
  step "b" {
    http "crm" { get = "/x" }
  }
  %s
}
`
	judged := 0
	for position, block := range decidingPositions {
		for _, s := range maskedSources {
			if strings.Contains(block, "#") && s.inExpr == "" {
				continue
			}
			body := strings.NewReplacer("%%", "%", "$${", "${", "%", s.inHCL, "#", "("+s.inExpr+")").Replace(block)
			body = strings.ReplaceAll(body, "$${", "${")
			_, diags := loadText(t, fmt.Sprintf(configuration, body), "", Options{})
			found, texts := false, ""
			for _, d := range diags {
				texts += d.Summary + ": " + d.Detail + "\n"
				found = found || strings.HasPrefix(d.Summary, "Masked value") && strings.Contains(d.Detail, `mask "contact"`)
			}
			if judged++; !found {
				t.Errorf("%s of %s is not refused:\n%s\n%s", position, s.name, body, texts)
			}
		}
	}
	if judged < 300 {
		t.Errorf("only %d were judged", judged)
	}
}
