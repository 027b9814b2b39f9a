package schema

import (
	"net/netip"
	"sort"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A format is one value of the format keyword: what it asks for, and the test that is asserted.
type format struct {
	what  string // completes "must be …"
	valid func(string) bool
}

// formats are the formats of JSON Schema 2020-12 that can be asserted.
var formats = map[string]format{
	"date":                  {"a date like 2026-01-31", isDate},
	"time":                  {"a time with its offset like 15:04:05Z", isTime},
	"date-time":             {"a date and time with its offset like 2026-01-31T15:04:05Z", isDateTime},
	"duration":              {"an ISO 8601 duration like P3DT12H", fromLibrary("duration")},
	"email":                 {"an email address", fromLibrary("email")},
	"hostname":              {"a host name", fromLibrary("hostname")},
	"ipv4":                  {"an IPv4 address", isIPv4},
	"ipv6":                  {"an IPv6 address", isIPv6},
	"uuid":                  {"a UUID like 123e4567-e89b-12d3-a456-426614174000", isUUID},
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

// fromLibrary returns the JSON Schema library's own test of a format, made when it is first needed.
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

// libraryFormats are the tests above in the library's form, so that a raw schema asserts the same.
func libraryFormats() []*jsonschema.Format {
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

// two reads two digits, or returns -1.
func two(s string) int {
	if len(s) < 2 || s[0] < '0' || s[0] > '9' || s[1] < '0' || s[1] > '9' {
		return -1
	}
	return int(s[0]-'0')*10 + int(s[1]-'0')
}

var monthDays = [...]int{31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

func isDate(s string) bool {
	if len(s) != 10 || s[4] != '-' || s[7] != '-' {
		return false
	}
	century, year, month, day := two(s), two(s[2:]), two(s[5:]), two(s[8:])
	if century < 0 || year < 0 || month < 1 || month > 12 || day < 1 || day > monthDays[month-1] {
		return false
	}
	leap := year%4 == 0 && (year != 0 || century%4 == 0)
	return month != 2 || day < 29 || leap
}

func isTime(s string) bool {
	if len(s) < 9 || s[2] != ':' || s[5] != ':' {
		return false
	}
	hour, minute, second := two(s), two(s[3:]), two(s[6:])
	if hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60 {
		return false
	}
	rest := s[8:]
	if rest[0] == '.' {
		digits := rest[1:]
		rest = strings.TrimLeft(digits, "0123456789")
		if len(rest) == len(digits) {
			return false
		}
	}
	offset := 0
	if rest != "Z" && rest != "z" {
		if len(rest) != 6 || rest[0] != '+' && rest[0] != '-' || rest[3] != ':' {
			return false
		}
		h, m := two(rest[1:]), two(rest[4:])
		if h < 0 || h > 23 || m < 0 || m > 59 {
			return false
		}
		if offset = h*60 + m; rest[0] == '-' {
			offset = -offset
		}
	}
	// A leap second is the last second of a day in UTC.
	return second < 60 || (hour*60+minute-offset+2*24*60)%(24*60) == 24*60-1
}

func isDateTime(s string) bool {
	return len(s) >= 20 && (s[10] == 'T' || s[10] == 't') && isDate(s[:10]) && isTime(s[11:])
}

func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if c != '-' {
				return false
			}
		} else if !(c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f') {
			return false
		}
	}
	return true
}

func isIPv4(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is4()
}

func isIPv6(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is6() && a.Zone() == ""
}

func isRegex(s string) bool {
	_, err := NewPattern(s)
	return err == nil
}
