package schema

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"hatchel/hcl/value"
)

// quickValues are values of each kind, and near the bounds of random schemas.
var quickValues = []string{`null`, `true`, `""`, `"ab"`, `"äöü"`, `"open"`, `0`, `1`, `-1`, `2.0`, `2.5`, `1e3`,
	`12345678901234567890`, `9223372036854775807`, `[]`, `[1]`, `["a","b","c"]`, `[null]`, `{}`, `{"a":1}`,
	`{"a":"ab","b":[1]}`, `{"b":{"a":2},"c":null}`}

// randomSchema returns a schema with keywords that a quickCheck knows, and with some that it does not.
func randomSchema(r *rand.Rand, depth int) map[string]any {
	m := map[string]any{}
	count := func() any { return r.IntN(4) }
	keywords := map[string]func() any{
		"type": func() any {
			return []any{"string", "number", "integer", "boolean", "null", "array", "object"}[r.IntN(7)]
		},
		"enum":          func() any { return []any{"open", "ab"} },
		"minimum":       func() any { return []any{r.IntN(3) - 1, 1.0, 0.5}[r.IntN(3)] },
		"maximum":       func() any { return r.IntN(3) },
		"minLength":     count,
		"maxLength":     count,
		"minItems":      count,
		"maxItems":      count,
		"minProperties": count,
		"maxProperties": count,
		"required":      func() any { return []any{"a"} },
		"uniqueItems":   func() any { return true },
		"pattern":       func() any { return "^a" },
		"description":   func() any { return "Text" },
	}
	if depth > 0 {
		below := func() any {
			if n := r.IntN(6); n < 2 {
				return n == 0
			}
			return randomSchema(r, depth-1)
		}
		keywords["items"], keywords["additionalProperties"] = below, below
		keywords["properties"] = func() any { return map[string]any{"a": below(), "b": below()} }
	}
	for _, name := range slices.Sorted(maps.Keys(keywords)) {
		if r.IntN(5) == 0 {
			m[name] = keywords[name]()
		}
	}
	return m
}

// TestWhatIsAcceptedQuicklyIsAcceptedByTheLibrary compares the two for values in an object, for random schemas.
func TestWhatIsAcceptedQuicklyIsAcceptedByTheLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	accepted, refused := 0, 0
	for range 150 {
		doc := map[string]any{"type": "object", "properties": map[string]any{"v": randomSchema(r, 2)}}
		text, err := value.AppendJSON(nil, doc)
		if err != nil {
			t.Fatal(err)
		}
		f := readForeign(t, string(text))
		for _, one := range quickValues {
			v := parseJSON(t, fmt.Sprintf(`{"v":%s}`, one))
			violations := f.library.validate(v, &checkTime{limit: Unlimited}, false)
			switch quick := f.quick().accepts(v); {
			case quick && len(violations) > 0:
				t.Fatalf("%s accepts %v quickly: %v", text, v, violations)
			case quick:
				accepted++
			default:
				refused++
			}
		}
	}
	if accepted < 500 || refused < 500 {
		t.Errorf("%d values are accepted quickly, and %d are not", accepted, refused)
	}
}

func TestCommonSchemasAreCheckedQuickly(t *testing.T) {
	for schema, text := range map[string]string{
		searchSchema: `{"owner":"a","repo":"b","title":"c","state":"open","number":3,"labels":["x"]}`,
		`{"type":"object","properties":{"id":{"type":"integer","minimum":1}},"required":["id"]}`: `{"id":100,"more":[1.5]}`,
		`{"type":"object","additionalProperties":{"type":"object","items":false}}`:               `{"a":{"b":null}}`,
	} {
		if f := readForeign(t, schema); !f.quick().accepts(parseJSON(t, text)) {
			t.Errorf("%s is for the library of %s", text, schema)
		}
	}
}

func BenchmarkForeignCheck(b *testing.B) {
	f := readForeign(b, `{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}`)
	v := parseJSON(b, `{"id":7}`)
	b.ReportAllocs()
	for b.Loop() {
		if violations, _ := f.Check(v, Unlimited, false); violations != nil {
			b.Fatal(violations)
		}
	}
}
