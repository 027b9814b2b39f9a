package schema

import (
	"strings"
	"testing"
)

func TestMisfitsNameWhatAPinnedSchemaCertainlyRefuses(t *testing.T) {
	for _, c := range []struct{ from, schema, want string }{
		{"integer", `{"type":"integer","minimum":1}`,
			"accepts 0, and the pinned schema requires 1 or more Write { min = 1 }"},
		{`integer("", { min = 0 })`, `{"type":"integer","exclusiveMinimum":0}`,
			"accepts 0, and the pinned schema requires 1 or more Write { min = 1 }"},
		{`integer("", { above = 0 })`, `{"type":"integer","minimum":1}`, ""},
		{`number("", { above = 0 })`, `{"type":"number","exclusiveMinimum":0}`, ""},
		{`number("", { min = 0 })`, `{"type":"number","exclusiveMinimum":0}`,
			"accepts 0, and the pinned schema requires a number above 0 Write { above = 0 }"},
		{"number", `{"type":"number","maximum":-5}`,
			"accepts 0, and the pinned schema requires -5 or less Write { max = -5 }"},
		{"number", `{"type":"number","maximum":100}`,
			"accepts 101, and the pinned schema requires 100 or less Write { max = 100 }"},
		{"number", `{"type":"integer"}`, "accepts fractions, and the pinned schema requires an integer Write integer"},
		{`number("", { multiple_of = 2 })`, `{"type":"integer"}`, ""},
		{`number("", { max = -5 })`, `{"type":"number","minimum":1}`,
			"accepts less, and the pinned schema requires 1 or more Write { min = 1 }"},
		{`integer("", { multiple_of = 10 })`, `{"type":"integer","minimum":-5}`,
			"accepts less, and the pinned schema requires -5 or more Write { min = -5 }"},
		{"integer", `{"type":"number","multipleOf":0.5}`, ""},
		{"integer", `{"type":"integer","multipleOf":5}`,
			"accepts numbers that are not multiples of 5, and the pinned schema refuses them " +
				"Write { multiple_of = 5 }"},
		{`integer("", { multiple_of = 10 })`, `{"type":"integer","multipleOf":5}`, ""},
		{"string", `{"type":"string","maxLength":9}`,
			"accepts more than 9 characters, and the pinned schema allows 9 Write { max_length = 9 }"},
		{`string("", { max_length = 9 })`, `{"type":"string","maxLength":9}`, ""},
		{"string", `{"type":"string","minLength":1}`,
			"accepts fewer than 1 characters, and the pinned schema requires 1 or more Write { min_length = 1 }"},
		{"string", `{"type":"string","pattern":"^[a-z]+$"}`,
			`accepts "", and the pinned schema requires the pattern ^[a-z]+$ Write { pattern = "^[a-z]+$" }`},
		{`string("", { pattern = "^[a-c]+$" })`, `{"type":"string","pattern":"^[a-z]+$"}`, ""},
		{"string", `{"type":"string","format":"date"}`,
			`accepts any text, and the pinned schema requires the format date Write { format = "date" }`},
		{"string", `{"type":"string","enum":["a","b"]}`,
			`accepts any string, and the pinned schema requires one of "a", "b" Write enum("a", "b")`},
		{`enum("a", "c")`, `{"enum":["a","b"]}`,
			`may be "c", which the pinned schema refuses: it must be one of "a", "b", got the string "c"`},
		{`enum("a")`, `{"enum":["a","b"]}`, ""},
		{"string", `{"type":"integer"}`, "is string, and the pinned schema requires integer"},
		{"nullable(string)", `{"type":"string"}`, "may be null, and the pinned schema does not accept null"},
		{"nullable(string)", `{"type":["string","null"]}`, ""},
		{"list(string)", `{"type":"array","items":{"type":"string","maxLength":1}}`,
			"[]: accepts more than 1 characters, and the pinned schema allows 1 Write { max_length = 1 }"},
		{"list(string)", `{"type":"array","uniqueItems":true}`,
			"accepts a list that repeats an item, and the pinned schema refuses it Write set"},
		{"list(string)", `{"type":"array","minItems":1}`,
			"accepts fewer than 1 items, and the pinned schema requires 1 or more Write { min_items = 1 }"},
		{"object({ a = string })", `{"type":"object","required":["b"]}`,
			`has no member "b", and the pinned schema requires it`},
		{"object({ a = optional(string) })", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`,
			".a: is optional, and the pinned schema requires it"},
		{"object({ a = string, c = bool })", `{"type":"object","properties":{"a":{}},"additionalProperties":false}`,
			`.c: is not a member of the pinned schema, which accepts no others: it has "a"`},
		{"object({ a = string })", `{"type":"object","additionalProperties":{"type":"integer"}}`,
			".a: is string, and the pinned schema requires integer"},
		{"string", `{"anyOf":[{"type":"string","maxLength":3},{"type":"integer"}]}`,
			"accepts more than 3 characters, and the pinned schema allows 3 Write { max_length = 3 }"},
		{"bool", `{"anyOf":[{"type":"string"},{"type":"integer"}]}`,
			"is bool, and the pinned schema requires one_of(string, integer)"},
		{"one_of(string, bool)", `{"type":"string"}`, "is bool, and the pinned schema requires string"},
		// what is not known is left to each call
		{"any", `{"type":"integer","minimum":1}`, ""},
		{"string", `{"not":{"const":""}}`, ""},
		{"string", `{"allOf":[{"type":"integer"}]}`, ""},
		{"string", `{"anyOf":[{"type":"string","maxLength":3},{"type":"string","minLength":9}]}`, ""},
		{`string("", { format = "uuid" })`, `{"type":"string","maxLength":3}`, ""},
	} {
		f := readForeign(t, `{"type":"object","properties":{"x":`+c.schema+`}}`)
		to, _ := f.Type().Lookup("x")
		var got []string
		for _, m := range Misfits(typeOf(t, c.from), to.Type, true) {
			text := m.Text
			if m.Path != "" {
				text = m.Path + ": " + text
			}
			if m.Write != "" {
				text += " Write " + m.Write
			}
			got = append(got, text)
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s to %s:\n got %s\nwant %s", c.from, c.schema, text, c.want)
		}
	}
}

func TestOnlyTheKindOfAComputedValueIsKnown(t *testing.T) {
	for _, c := range []struct {
		from, schema string
		fits         bool
	}{
		{"integer", `{"type":"integer","minimum":1}`, true},
		{"number", `{"type":"integer"}`, true},
		{"string", `{"enum":["a"]}`, true},
		{"list(string)", `{"type":"array","maxItems":1}`, true},
		{"string", `{"type":"integer"}`, false},
		{"list(string)", `{"type":"array","items":{"type":"integer"}}`, false},
		{"nullable(string)", `{"type":"string"}`, false},
	} {
		f := readForeign(t, `{"type":"object","properties":{"x":`+c.schema+`}}`)
		to, _ := f.Type().Lookup("x")
		if found := Misfits(typeOf(t, c.from), to.Type, false); (len(found) == 0) != c.fits {
			t.Errorf("%s to %s: %v", c.from, c.schema, found)
		}
	}
}

// TestTypesFitTheirOwnSchema compares types with the schemas that are advertised of them.
func TestTypesFitTheirOwnSchema(t *testing.T) {
	for _, source := range []string{
		"string", "integer", "number", "bool", "any", "list(any)", `set(enum("a", "b"))`, "map(nullable(string))",
		`integer("", { min = 1, below = 10, multiple_of = 2 })`, `number("", { above = 0.5, max = 1e10 })`,
		`string("", { min_length = 1, max_length = 5 })`, `string("", { pattern = "^a+$", format = "email" })`,
		`object({ a = string, b = optional(integer), c = optional(bool, true), d = nullable(list(number)) })`,
		`one_of(string, integer, object({ kind = enum("x"), n = integer }))`,
		`list(object({ a = map(list(string)) }), { min_items = 1, max_items = 3 })`, `enum(1, 2, 3)`,
	} {
		typ := ObjectOf(&Member{Name: "x", Type: typeOf(t, source)}, &Member{Name: "y", Type: typeOf(t, source),
			Optional: true})
		for _, text := range [][]byte{typ.AppendSchema(nil), typ.AppendIdentity(nil), typ.AppendReviewSchema(nil)} {
			if found := Misfits(typ, readForeign(t, string(text)).Type(), true); found != nil {
				t.Errorf("%s to %s: %v", source, text, found)
			}
		}
	}
}
