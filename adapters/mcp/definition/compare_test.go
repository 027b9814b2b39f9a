package definition

import (
	"fmt"
	"slices"
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
		{`"type":"object","required":["title"]`, `"$defs":{"x":{}},"type":"object","required":["title"]`,
			"inputSchema (compatible)"},
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

// Of alternatives within alternatives, of which a small definition has more than can be compared, it is said once.
func TestADefinitionWithManyAlternativesIsNotCompatible(t *testing.T) {
	var definitions strings.Builder
	for i := range 30 {
		fmt.Fprintf(&definitions, `"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%[2]d"},{"type":"integer"}]},`, i+1, i)
	}
	const form = `{"name":"a","inputSchema":{"type":"object","properties":{"title":%s,"note":%[1]s},"$defs":{%s"d0":{"type":"boolean"}}}}`
	plain := parse(t, fmt.Sprintf(form, `{"type":"string"}`, ""))
	nested := parse(t, fmt.Sprintf(form, `{"$ref":"#/$defs/d30"}`, definitions.String()))
	sent := []*schema.Type{schema.ObjectOf(&schema.Member{Name: "title", Type: &schema.Type{Kind: schema.String}})}
	for i, pair := range [][2]Definition{{plain, nested}, {nested, plain}} {
		changes := Compare(pair[0], pair[1], sent)
		all := Texts(changes)
		text := strings.Join(all, "; ")
		if len(all) != 2 || len(text) > 500 || !strings.Contains(text, "cannot be compared: the schema has too many alternatives") {
			t.Errorf("%d changes: %s", len(all), text)
		}
		// A plain schema accepts what is sent, whatever the nested one does.
		if slices.ContainsFunc(changes, func(c Change) bool { return !c.Compatible }) != (i == 0) {
			t.Errorf("%+v", changes)
		}
	}
}
