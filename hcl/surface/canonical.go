package surface

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"hatchel/hcl/value"
)

// canonical returns v as canonical JSON (RFC 8785), except that a number whose value a double cannot
// hold keeps its digits.
func canonical(v any) []byte { return appendCanonical(nil, toJSON(v)) }

// toJSON returns v as maps, lists and scalars; numbers keep their digits.
func toJSON(v any) (out any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic("surface: " + err.Error())
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		panic("surface: " + err.Error())
	}
	return out
}

func appendCanonical(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case string:
		return appendString(dst, v)
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendCanonical(dst, e)
		}
		return append(dst, ']')
	case map[string]any:
		dst = append(dst, '{')
		for i, name := range sortedKeys(v) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, name), ':')
			dst = appendCanonical(dst, v[name])
		}
		return append(dst, '}')
	}
	return append(dst, numberText(v)...)
}

// numberText returns a number as ECMAScript prints it, if a double has its value.
func numberText(v any) string {
	if f, ok := value.Float(v); ok && value.Compare(f, v) == 0 {
		if text, err := json.Marshal(f); err == nil {
			return string(text)
		}
	}
	return fmt.Sprint(v)
}

// sortedKeys returns the keys in the order of their UTF-16 code units.
func sortedKeys(m map[string]any) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
	})
}

func appendString(dst []byte, s string) []byte {
	const short = "btn\x00fr" // the escapes of U+0008 to U+000D
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r >= 8 && r <= 13 && r != 11:
			dst = append(dst, '\\', short[r-8])
		case r < 0x20:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}
