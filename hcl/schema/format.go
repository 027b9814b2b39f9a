package schema

import (
	"sort"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A format is one value of the format keyword: its description and its test.
type format struct {
	what  string // completes "must be …"
	valid func(string) bool
}

// formats are the formats of JSON Schema 2020-12 that are enforced.
var formats = map[string]format{
	"date":                  {"a date like 2026-01-31", fromLibrary("date")},
	"time":                  {"a time with its offset like 15:04:05Z", fromLibrary("time")},
	"date-time":             {"a date and time with its offset like 2026-01-31T15:04:05Z", fromLibrary("date-time")},
	"duration":              {"an ISO 8601 duration like P3DT12H", fromLibrary("duration")},
	"email":                 {"an email address", fromLibrary("email")},
	"hostname":              {"a host name", fromLibrary("hostname")},
	"ipv4":                  {"an IPv4 address", fromLibrary("ipv4")},
	"ipv6":                  {"an IPv6 address", fromLibrary("ipv6")},
	"uuid":                  {"a UUID like 123e4567-e89b-12d3-a456-426614174000", fromLibrary("uuid")},
	"uri":                   {"an absolute URI like https://example.com/a", fromLibrary("uri")},
	"uri-reference":         {"a URI or a relative reference", fromLibrary("uri-reference")},
	"uri-template":          {"a URI template like /orders/{id}", fromLibrary("uri-template")},
	"iri":                   {"an absolute IRI", fromLibrary("iri")},
	"iri-reference":         {"an IRI or a relative reference", fromLibrary("iri-reference")},
	"json-pointer":          {"a JSON pointer like /rows/0", fromLibrary("json-pointer")},
	"relative-json-pointer": {"a relative JSON pointer like 1/rows", fromLibrary("relative-json-pointer")},
	"regex":                 {"a regular expression", isRegex},
}

func formatNames() []string {
	names := make([]string, 0, len(formats))
	for n := range formats {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// fromLibrary returns the JSON Schema library's test of a format, which is created on first use.
func fromLibrary(name string) func(string) bool {
	test := sync.OnceValue(func() *jsonschema.Format {
		c := jsonschema.NewCompiler()
		c.AssertFormat()
		if err := c.AddResource("format.json", map[string]any{"format": name}); err != nil {
			panic("schema: " + err.Error())
		}
		return c.MustCompile("format.json").Format
	})
	return func(s string) bool { return test().Validate(s) == nil }
}

// customFormats adapts the tests above to the library, so that a raw schema enforces the same
// formats.
func customFormats() []*jsonschema.Format {
	var out []*jsonschema.Format
	for _, name := range formatNames() {
		test := formats[name].valid
		out = append(out, &jsonschema.Format{Name: name, Validate: func(v any) error {
			if s, ok := v.(string); ok && !test(s) {
				return jsonschema.LocalizableError("invalid")
			}
			return nil
		}})
	}
	return out
}

func isRegex(s string) bool {
	_, err := NewPattern(s)
	return err == nil
}
