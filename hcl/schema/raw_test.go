package schema

import (
	"strings"
	"testing"

	"hatchel/hcl/value"
)

const wholeSchema = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"properties": {
		"id": {"type": "integer", "minimum": 1},
		"kind": {"oneOf": [{"const": "a", "title": "A"}, {"const": "b"}], "type": "string"},
		"note": {"type": ["string", "null"], "default": "none"},
		"line": {"$ref": "#/$defs/line"},
		"tags": {"type": "object", "additionalProperties": {"type": "string"}}
	},
	"required": ["id"],
	"additionalProperties": false,
	"$defs": {"line": {"type": "object", "properties": {"sku": {"type": "string"}}, "required": ["sku"], "additionalProperties": false}}
}`

func whole(t *testing.T, source string) (*Type, bool) {
	t.Helper()
	raw, err := value.Decode([]byte(source))
	if err != nil {
		t.Fatal(err)
	}
	typ, err := FromJSONSchema(raw)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := value.AppendJSON(nil, raw)
	if got := typ.AppendSchema(nil); string(got) != string(want) {
		t.Errorf("advertised as\n%s\ninstead of verbatim\n%s", got, want)
	}
	return typ, typ.library == nil
}

func TestWholeSchemaReadsBackIntoAType(t *testing.T) {
	typ, exact := whole(t, wholeSchema)
	if !exact {
		t.Error("everything in this schema has a form in the language")
	}
	want := `object({ id = integer, kind = optional(enum("a", "b")), line = optional(object({ sku = string })), note = optional(nullable(string), "none"), tags = optional(map(string)) })`
	if got := typ.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	out, violations, _ := typ.Compile().Arguments([]byte(`{"id":1.0}`), Unlimited)
	if len(violations) > 0 || out["id"] != 1 || out["note"] != "none" {
		t.Errorf("got %v, %v", out, violations)
	}
}

func TestWhatTheLanguageCannotSayIsEnforcedAllTheSame(t *testing.T) {
	typ, exact := whole(t, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"},"n":{"type":["string","integer"]},"tree":{"$ref":"#/$defs/tree"}},"dependentRequired":{"a":["b"]},
		"$defs":{"tree":{"type":"object","properties":{"left":{"$ref":"#/$defs/tree"}},"additionalProperties":false}}}`)
	if exact {
		t.Error("dependentRequired has no form in the language")
	}
	v := typ.Compile()
	for arguments, want := range map[string]string{
		`{"a":"x","b":"y","n":1,"other":true,"tree":{"left":{"left":{}}}}`: "",
		`{"a":"x"}`:                  `needs "b" because it has "a"`,
		`{"a":"x","b":null}`:         `needs "b" because it has "a"`,
		`{"n":1.5}`:                  "n: must be integer or string, got number",
		`{"tree":{"left":{"x":1}}}`:  `tree.left: unknown member "x"`,
		`{"a":1,"b":"y"}`:            "a: must be a string, got the number 1",
		`{"n":1e999999999,"a":null}`: "n: is a number with an exponent beyond 1000, which no number may have",
	} {
		_, violations, _ := v.Arguments([]byte(arguments), Unlimited)
		var got []string
		for _, v := range violations {
			got = append(got, v.String())
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%s: got %q, want %q", arguments, got, want)
		}
	}
}

func TestUnusableSchemasAreRefusedInWords(t *testing.T) {
	for source, want := range map[string]string{
		`[]`:                                    "a schema is an object, not a list of 0",
		`{"type":"strin"}`:                      `type: matches none of the alternatives in anyOf: it must be one of "array", "boolean", "integer", "null", "number", "object", "string"`,
		`{"$ref":"#/$defs/nothing"}`:            "a $ref in it refers to nothing",
		`{"$ref":"https://a.test/b"}`:           "it refers to https://a.test/b, and other documents are not loaded",
		`{"properties":{"a":{"minLength":-1}}}`: "properties.a.minLength: must be at least 0",
	} {
		raw, _ := value.Decode([]byte(source))
		typ, err := FromJSONSchema(raw)
		if err == nil || !strings.HasPrefix(err.Error(), want) || typ == nil {
			t.Errorf("%s: got %v, want %q", source, err, want)
		}
	}
}
