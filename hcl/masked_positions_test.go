package hcl_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "hatchel/hcl"
	"hatchel/internal/sampletest"
)

// maskedSource is an expression of a masked value.
type maskedSource struct {
	name, inHCL, inExpr string
	unknown             bool // the load does not know which parts the value has
}

// maskedSources are ways to a masked value in a later block of a tool: in HCL, and in expr where they are the same.
var maskedSources = []maskedSource{
	{"a member of a row", "step.a.row.email", "step.a.row.email", false},
	{"an element of the rows", "step.a.rows[0].email", "step.a.rows[0].email", false},
	{"another name in the statement", "step.a.row.alias", "step.a.row.alias", false},
	{"a part of an expression of the statement", "step.a.row.part", "step.a.row.part", false},
	{"a column of a subquery", "step.a.row.nested", "step.a.row.nested", false},
	{"a function", "lower(step.a.row.email)", "lower(step.a.row.email)", false},
	{"a text around it", `"x $${step.a.row.email}"`, "'x' + step.a.row.email", false},
	{"an alternative", "coalesce(step.a.row.email, \"-\")", "step.a.row.email ?? '-'", false},
	{"a list of it", "join(\",\", step.a.rows[*].email)", "join(map(step.a.rows, .email), ',')", false},
	{"a list without others", "join(\",\", [for r in step.a.rows : r.email])", "first(map(step.a.rows, .email))", false},
	{"an object with it", "{ a = step.a.row.email }.a", "{a: step.a.row.email}.a", false},
	{"objects joined", `merge(step.a.row, { z = "z" }).email`, "merge(step.a.row, {z: 'z'}).email", true},
	{"an object without others", `omit(step.a.row, "id").email`, "omit(step.a.row, 'id').email", true},
	{"an object of some", `pick(step.a.row, "email").email`, "pick(step.a.row, 'email').email", true},
	{"an object without null", "compact(step.a.row).email", "compact(step.a.row).email", true},
	{"a value of its object", `join("", [values(step.a.row)[0]])`, "string(values(step.a.row)[0])", false},
	{"lists joined", "concat(step.a.rows, step.a.rows)[0].email", "concat(step.a.rows, step.a.rows)[0].email", true},
	{"lists in lists", "flatten([step.a.rows])[0].email", "flatten([step.a.rows])[0].email", true},
	{"parts of a list", "chunklist(step.a.rows, 2)[0][0].email", "chunklist(step.a.rows, 2)[0][0].email", true},
	{"the reverse", "reverse(step.a.rows)[0].email", "reverse(step.a.rows)[0].email", true},
	{"JSON and back", "jsondecode(jsonencode(step.a.row)).email", "fromJSON(toJSON(step.a.row)).email", false},
	{"an object of lists", `zipmap(["a"], step.a.rows).a.email`, "zipmap(['a'], step.a.rows).a.email", true},
	{"a chosen list", "coalescelist(step.a.rows, []) [0].email", "coalescelist(step.a.rows, [])[0].email", true},
	{"a slice", "slice(step.a.rows, 0, 1)[0].email", "step.a.rows[0:1][0].email", true},
	{"groups", "", "groupBy(step.a.rows, .id)['1'][0].email", false},
	{"a found element", "", "find(step.a.rows, .id == 1).email", false},
	{"pairs", "", "toPairs(step.a.row)[0][1]", false},
	{"a member by a function", `lookup(step.a.row, "email", "")`, "get(step.a.row, 'email')", true},
	{"a member of a name that a caller chooses", "step.b.body[step.a.row.id]", "step.b.body[step.a.row.id]", false},
	{"a part of it", "substr(step.a.row.email, 0, 3)", "step.a.row.email[0:3]", false},
	{"its number of characters", "tostring(length(step.a.row.email))", "string(len(step.a.row.email))", false},
	{"its row as text", "", "string(step.a.row)", false},
	{"its digest", "sha256(step.a.row.email)", "sha256(step.a.row.email)", false},
	{"all rows as JSON", "jsonencode(step.a.rows)", "toJSON(step.a.rows)", true},
	{"its row as JSON", "jsonencode(step.a.row)", "toJSON(step.a.row)", true},
	{"a body without a type", "step.b.body.deep.email", "step.b.body.deep.email", false},
	{"an element of such a body", "step.b.body.list[0].email", "step.b.body.list[0].email", false},
}

// decidingPositions are blocks of a tool in which a value would decide. % is the value in HCL, and # in expr.
var decidingPositions = map[string]string{
	"when":            "step \"c\" {\n when = \"# == 'a'\"\n http \"other\" { get = \"/\" }\n}\nstep \"d\" {\n http \"other\" { get = \"/\" }\n}",
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
}

// sendingPositions are blocks that send a value. One whose parts are not known is looked at in each call instead.
var sendingPositions = map[string]string{
	"query":        "step \"c\" {\n http \"other\" {\n  get   = \"/\"\n  query = { q = % }\n }\n}",
	"path":         "step \"c\" {\n http \"other\" { get = \"/$${%}\" }\n}",
	"body":         "step \"c\" {\n http \"other\" {\n  post = \"/\"\n  json = { q = % }\n }\n}",
	"parameter":    "step \"c\" {\n sql \"desk\" { query = \"SELECT id FROM t WHERE x = $${%}\" }\n}",
	"argument":     "step \"c\" {\n shell { command = [\"echo\", \"--\", %] }\n}",
	"input":        "step \"c\" {\n shell {\n  command = [\"cat\"]\n  stdin   = %\n }\n}",
	"another tool": "step \"c\" {\n tool \"other\" { a = % }\n}",
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
    expect "no row" { that = "output.row != null" }
  }
  step "b" {
    http "crm" { get = "/x" }
  }
  %s
}
`
	judged := 0
	judge := func(position, block string, sources []maskedSource) {
		for _, s := range sampletest.Of(t, 12, sources) {
			value := s.inHCL
			if strings.Contains(block, "#") {
				value = s.inExpr
			}
			if value == "" {
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
	for position, block := range decidingPositions {
		judge(position, block, maskedSources)
	}
	for position, block := range sendingPositions {
		judge(position, block, slices.DeleteFunc(slices.Clone(maskedSources), func(s maskedSource) bool { return s.unknown }))
	}
	if judged < 200 {
		t.Errorf("only %d were judged", judged)
	}
}
