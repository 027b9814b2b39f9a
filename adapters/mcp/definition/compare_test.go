package definition

import (
	"strings"
	"testing"

	"hatchel/hcl/schema"
)

func TestChangesAreNamedAndJudgedByWhatBlocksSend(t *testing.T) {
	const base = `{"name":"a","description":"D","inputSchema":{"type":"object","required":["title"],"properties":{
		"title":{"type":"string","description":"T"},"n":{"type":"integer","minimum":1},"mode":{"enum":["x","y"]}}},
		"outputSchema":{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]},
		"annotations":{"readOnlyHint":true,"destructiveHint":false}}`
	ten := 10
	title := &schema.Member{Name: "title", Type: &schema.Type{Kind: schema.String, MaxLength: &ten}}
	titleOnly := schema.ObjectOf(title)
	for _, c := range []struct{ old, new, want string }{
		{`"D"`, `"E"`, "description (compatible)"},
		{`"T"`, `"U"`, `description of input "title" (compatible)`},
		{`"properties":{
		"title"`, `"properties":{"assignee":{"type":"string"},"title"`, `input "assignee" added (compatible)`},
		{`["title"],"properties":{`, `["title","who"],"properties":{"who":{"type":"string"},`,
			`input "who" added, which is required`},
		{`,"mode":{"enum":["x","y"]}`, ``, `input "mode" removed (compatible)`},
		{`"minimum":1`, `"minimum":2`, `input "n": integer ≥ 1 → ≥ 2 (compatible)`},
		{`"description":"T"}`, `"description":"T","maxLength":10}`,
			`input "title": unlimited → maxLength 10 (compatible)`},
		{`"description":"T"}`, `"description":"T","maxLength":9}`, `input "title": unlimited → maxLength 9`},
		{`"description":"T"}`, `"description":"T","default":"x"}`, `inputSchema (compatible)`},
		{`"minimum":1`, `"minimum":1,"default":7`, `input "n": default none → 7`},
		{`["x","y"]`, `["x"]`, `input "mode": value removed: "y" (compatible)`},
		{`"required":["title"]`, `"required":["title","n"]`, `input "n": optional → required`},
		{`"required":["title"]`, `"required":[]`, `input "title": required → optional (compatible)`},
		{`{"type":"object","required":["title"]`, `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object",
			"required":["title"]`, "inputSchema"},
		{`"properties":{"id":{"type":"integer"}}`, `"properties":{"id":{"type":"string"}}`,
			`result "id": integer → string`},
		{`"properties":{"id":{"type":"integer"}}`, `"properties":{"id":{"type":"integer"},"more":{}}`,
			`result "more" added (compatible)`},
		{`"required":["id"]}`, `"required":[]}`, `result "id": required → optional`},
		{`"readOnlyHint":true`, `"readOnlyHint":false`, "annotation readOnlyHint: true → false"},
		{`"destructiveHint":false`, `"idempotentHint":true,"destructiveHint":false`,
			"annotation idempotentHint: not said → true (compatible)"},
		{`,"destructiveHint":false`, ``, "annotation destructiveHint: false → not said"},
		{`"annotations":{`, `"annotations":{"evilHint":1,`, "annotation evilHint"},
		{`"annotations":{`, `"annotations":{"title":"x",`, "annotation title (compatible)"},
		{`"name":"a"`, `"name":"a","execution":{"taskSupport":"optional"}`,
			"task support none → optional (compatible)"},
		{`"name":"a"`, `"name":"a","execution":{"taskSupport":"required"}`, "task support none → required"},
		{`"name":"a"`, "\"name\":\"a\",\"title\":\"\u202ex\"", "title (compatible)"},
	} {
		if strings.Count(base, c.old) == 0 {
			t.Fatalf("%s is not in the definition", c.old)
		}
		found := parse(t, strings.Replace(base, c.old, c.new, 1))
		var got []string
		for _, one := range Compare(parse(t, base), found, []*schema.Type{titleOnly}) {
			if one.Compatible {
				one.Text += " (compatible)"
			}
			got = append(got, one.Text)
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s → %s:\n got %s\nwant %s", c.old, c.new, text, c.want)
		}
	}
}
