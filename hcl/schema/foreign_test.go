package schema

import (
	"fmt"
	"strings"
	"testing"

	"hatchel/hcl/value"
)

// searchSchema is a schema as servers write it.
const searchSchema = `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","additionalProperties":false,
"required":["owner","repo","title"],"properties":{"owner":{"type":"string","description":"Owner of the repository"},
"repo":{"type":"string","description":"Name of the repository"},"title":{"type":"string","minLength":1,"maxLength":256},
"body":{"type":"string","description":"Text in Markdown"},"state":{"type":"string","enum":["open","closed","all"]},
"number":{"type":"integer","minimum":1},"labels":{"type":"array","items":{"type":"string"},"maxItems":10},
"since":{"type":"string","format":"date-time"},"mode":{"anyOf":[{"type":"string"},{"type":"number"}]},
"page":{"type":"integer","exclusiveMinimum":0,"maximum":100,"default":1}}}`

func BenchmarkReadForeign(b *testing.B) {
	for b.Loop() {
		if _, err := ReadForeign(searchSchema); err != nil {
			b.Fatal(err)
		}
	}
}

type steps func(n int) error

func (s steps) Step(n int) error { return s(n) }

func parseJSON(t testing.TB, text string) any {
	t.Helper()
	v, err := value.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func readForeign(t testing.TB, text string) *Foreign {
	t.Helper()
	f, err := ReadForeign(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return f
}

func TestForeignSchemaIsEnforcedAsItsDraftSays(t *testing.T) {
	const tuple = `"type":"object","properties":{"a":{"type":"array","items":[{"type":"string"}],
		"additionalItems":false}}}`
	for _, c := range []struct{ schema, good, bad string }{
		{searchSchema, `{"owner":"a","repo":"b","title":"c","mode":1}`, `{"owner":"a","repo":"b"}`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#",` + tuple, `{"a":["x"]}`, `{"a":["x",1]}`},
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"a":{"type":"array",
			"prefixItems":[{"type":"string"}],"items":false}}}`, `{"a":["x"]}`, `{"a":["x",1]}`},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"integer"}}}`, `{"a":1}`,
			`{"a":"1"}`},
		{`{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{"b":1}`, `{}`},
		{`{"type":"object","properties":{"a":{"type":"string"}}}`, `{}`, `{"a":null}`},
	} {
		f := readForeign(t, c.schema)
		for text, good := range map[string]bool{c.good: true, c.bad: false} {
			violations, err := f.Check(parseJSON(t, text), Unlimited, false)
			if err != nil || (len(violations) == 0) != good {
				t.Errorf("%s for %s: %v, %v", text, c.schema, violations, err)
			}
		}
	}
}

func TestForeignSchemaDeclaresItsMembers(t *testing.T) {
	for schema, declares := range map[string]bool{
		`{"type":"object","properties":{"a":{}}}`:                               true,
		`{"type":"object","properties":{}}`:                                     true,
		`{"type":"object","additionalProperties":false}`:                        true,
		`{"type":"object"}`:                                                     false,
		`{"type":"object","properties":{"a":{}},"additionalProperties":true}`:   false,
		`{"type":"object","additionalProperties":{"type":"string"}}`:            false,
		`{"type":"object","properties":{"a":{}},"allOf":[{"properties":{}}]}`:   false,
		`{"type":"object","properties":{"a":{}},"patternProperties":{"^b":{}}}`: false,
	} {
		if f := readForeign(t, schema); f.Declares("b") == declares {
			t.Errorf("%s: b is known: %t", schema, f.Declares("b"))
		}
	}
}

func TestForeignSchemaThatCannotBeEnforcedIsRefused(t *testing.T) {
	for schema, want := range map[string]string{
		`[]`:                           "a schema is an object",
		`{"$ref":"https://a.example"}`: "other documents are not loaded",
		`{"type":"object","properties":{"a":{"$ref":"other.json"}}}`:               "other documents are not loaded",
		`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`:       "other documents are not loaded",
		`{"type":"object","properties":{"a":{"$ref":"#/nowhere"}}}`:                "refers to nothing",
		`{"$schema":"http://json-schema.org/draft-04/schema#"}`:                    "the drafts that are read",
		`{"$schema":"https://a.example/json-schema.org/2020-12"}`:                  "the drafts that are read",
		`{"type":"object","properties":{"a":{"type":"string","pattern":"(?=a)"}}}`: "lookahead is not available",
		`{"type":"object","properties":{"a":{"type":"text"}}}`:                     "type",
		`{"type":"object","patternProperties":{"(?!a)":{}}}`:                       "(?!a)",
	} {
		_, err := ReadForeign(schema)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", schema, err, want)
		}
	}
}

// TestCheckOfAForeignSchemaIsBoundedInTime uses a schema of each draft that compares everything with everything.
func TestCheckOfAForeignSchemaIsBoundedInTime(t *testing.T) {
	for _, draft := range []string{
		"https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#",
	} {
		part := `{"type":"string","pattern":"^(a|aa|aaa)*b$"}`
		for range 12 {
			part = fmt.Sprintf(`{"anyOf":[%s,%s]}`, part, part)
		}
		f := readForeign(t, fmt.Sprintf(`{"$schema":%q,"type":"object","additionalProperties":%s}`, draft, part))
		v := map[string]any{}
		for i := range 1000 {
			v[fmt.Sprint(i)] = strings.Repeat("a", 1000)
		}
		left := 100_000
		limit := steps(func(n int) error {
			if left -= n; left < 0 {
				return errTimeOver
			}
			return nil
		})
		if _, err := f.Check(v, limit, false); err != errTimeOver {
			t.Errorf("%s: %v", draft, err)
		}
	}
}

// TestPlainSchemasAreValid compares what is taken for certainly valid with the library.
func TestPlainSchemasAreValid(t *testing.T) {
	values := []string{`1`, `-1`,
		`0.5`, `"a"`, `"string"`, `"(?=a)"`, `true`, `null`, `[]`, `["a"]`, `["a","a"]`, `[1]`,
		`[{}]`, `[null]`, `{}`, `{"a":{}}`, `{"a":1}`, `{"a":{"type":"integer"}}`, `{"type":"text"}`}
	plain := 0
	for _, draft := range foreignDrafts {
		name := `"https://json-schema.org/draft/` + draft + `/schema"`
		if strings.HasPrefix(draft, "draft") {
			name = `"http://json-schema.org/` + draft + `/schema#"`
		}
		for _, keyword := range []string{
			"type", "title", "description", "format", "default", "const", "enum", "examples", "minimum",
			"exclusiveMinimum", "minLength", "maxItems", "minProperties", "uniqueItems", "pattern", "items",
			"additionalProperties", "anyOf", "properties", "required", "$defs", "not", "multipleOf", "$id", "$ref",
		} {
			for _, v := range values {
				raw := parseJSON(t, fmt.Sprintf(`{"$schema":%s,%q:%s}`, name, keyword, v))
				if !isPlain(raw) {
					continue
				}
				plain++
				if _, err := compileLibrary(raw); err != nil {
					t.Errorf("%s: %s %s: %v", name, keyword, v, err)
				}
			}
		}
	}
	if plain < 100 {
		t.Errorf("%d schemas are plain", plain)
	}
}
