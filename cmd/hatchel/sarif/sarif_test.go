package sarif

import (
	"bytes"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"hatchel/hcl/diag"
)

// schemaFile is the schema of the standard, without its descriptions.
const schemaFile = "testdata/sarif-2.1.0.json"

func at(file string, line, column, length int) diag.Range {
	return diag.Range{File: file, Start: diag.Pos{Line: line, Column: column}, End: diag.Pos{Line: line, Column: column + length}}
}

func written(t *testing.T, findings ...Finding) string {
	t.Helper()
	tool := Tool{Name: "hatchel", Version: "v1.2.3", Rules: []Rule{{ID: "hidden-text", Text: "A text has characters that nobody sees."}}}
	var out bytes.Buffer
	if err := Write(&out, tool, findings); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestALogSatisfiesTheSchemaOfTheStandard(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	for name, findings := range map[string][]Finding{
		"nothing found": nil,
		"a place":       {{"hidden-text", Error, "U+200B", at("tools/orders.hcl", 3, 5, 4)}},
		"no place":      {{"budget", Warning, "≈ 30000 tokens", diag.Range{}}},
		"a file":        {{"unreadable", Error, "It cannot be read.", diag.Range{File: "tools/a b.hcl"}}},
		"an odd name":   {{"x", Note, "", at("/tmp/50% <ü>?#.hcl", 1, 1, 1)}, {"x", Note, "", at("a:b.hcl", 1, 1, 1)}},
	} {
		text := written(t, findings...)
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(doc); err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

func TestAFindingNamesItsRuleItsFileAndItsSpan(t *testing.T) {
	got := written(t, Finding{"hidden-text", Error, "U+200B", at("tools/50% off.hcl", 3, 5, 4)}, Finding{"thin", Warning, "Say more.", diag.Range{}})
	for _, want := range []string{
		`"ruleId": "hidden-text",
          "ruleIndex": 0,
          "level": "error"`,
		`"uri": "tools/50%25%20off.hcl"`,
		`"startLine": 3,
                  "startColumn": 5,
                  "endLine": 3,
                  "endColumn": 9`,
		`"ruleId": "thin",
          "ruleIndex": 1,
          "level": "warning"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %s\n%s", want, got)
		}
	}
}

func TestALogWithoutFindingsHasAnEmptyList(t *testing.T) {
	if got := written(t); !strings.Contains(got, `"results": []`) {
		t.Error(got)
	}
}

func TestAMessageHasNoLink(t *testing.T) {
	got := written(t, Finding{"thin", Warning, "[click](https://evil.example)", diag.Range{}})
	if !strings.Contains(got, `"[click\\](https://evil.example)"`) {
		t.Error(got)
	}
}
