package schema

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// formats are the formats of JSON Schema 2020-12 that are enforced. The descriptions complete
// "must be …".
var formats = map[string]string{
	"date":                  "a date like 2026-01-31",
	"time":                  "a time with its offset like 15:04:05Z",
	"date-time":             "a date and time with its offset like 2026-01-31T15:04:05Z",
	"duration":              "an ISO 8601 duration like P3DT12H",
	"email":                 "an email address",
	"hostname":              "a host name",
	"ipv4":                  "an IPv4 address",
	"ipv6":                  "an IPv6 address",
	"uuid":                  "a UUID like 123e4567-e89b-12d3-a456-426614174000",
	"uri":                   "an absolute URI like https://example.com/a",
	"uri-reference":         "a URI or a relative reference",
	"uri-template":          "a URI template like /orders/{id}",
	"iri":                   "an absolute IRI",
	"iri-reference":         "an IRI or a relative reference",
	"json-pointer":          "a JSON pointer like /rows/0",
	"relative-json-pointer": "a relative JSON pointer like 1/rows",
	"regex":                 "a regular expression",
}

// plainFormats are the formats whose values have only letters, digits and _ - . :, and the + of an offset.
var plainFormats = []string{"date", "time", "date-time", "uuid", "ipv4", "hostname"}

// maxFormatText is how many bytes a text of a format has, unless it is one of longFormats, which may contain data.
const maxFormatText = 16 << 10

var longFormats = []string{"uri", "uri-reference", "iri", "iri-reference"}

func formatNames() []string { return slices.Sorted(maps.Keys(formats)) }

var errLongFormat = errors.New("too long")

// formatPhrase says what a text of a format must be.
func formatPhrase(name string, long bool) string {
	if long {
		return fmt.Sprintf("must be %s, of at most %d bytes", formats[name], maxFormatText)
	}
	return "must be " + formats[name]
}

// formatTests holds the test of each format, which is that of the JSON Schema library for texts that are not too long.
var formatTests = sync.OnceValue(func() map[string]*jsonschema.Format {
	tests := map[string]*jsonschema.Format{}
	for name := range formats {
		c := newLibraryCompiler()
		c.RegisterFormat(regexFormat)
		library, err := compileResource(c, map[string]any{"format": name})
		if err != nil {
			panic("schema: " + err.Error())
		}
		tests[name] = &jsonschema.Format{Name: name, Validate: func(v any) error {
			if s, ok := v.(string); ok && len(s) > maxFormatText && !slices.Contains(longFormats, name) {
				return errLongFormat
			}
			return library.Format.Validate(v)
		}}
	}
	return tests
})

// regexFormat replaces the library's test of a regular expression by that of a pattern.
var regexFormat = &jsonschema.Format{Name: "regex", Validate: func(v any) error {
	if s, ok := v.(string); ok {
		_, err := NewPattern(s)
		return err
	}
	return nil
}}
