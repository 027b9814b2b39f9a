package value

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendCanonical appends v as canonical JSON (RFC 8785), except that a number whose value a double
// cannot hold keeps its digits. A value that was decoded from the appended text has the same
// canonical form. v must contain neither Bytes nor a LazyJSON.
func AppendCanonical(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case string:
		return AppendCanonicalString(dst, v)
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendCanonical(dst, e)
		}
		return append(dst, ']')
	case map[string]any:
		dst = append(dst, '{')
		for i, name := range CanonicalKeys(v) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(AppendCanonicalString(dst, name), ':')
			dst = AppendCanonical(dst, v[name])
		}
		return append(dst, '}')
	}
	return append(dst, canonicalNumber(v)...)
}

// canonicalNumber returns a number as ECMAScript prints it, if a double has its value.
func canonicalNumber(v any) string {
	f, ok := Float(v)
	if !ok || Compare(f, v) != 0 {
		return fmt.Sprint(v)
	}
	if f == 0 {
		return "0" // also of the negative zero
	}
	text, err := json.Marshal(f)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// CanonicalKeys returns the keys of an object in the order of their UTF-16 code units, as RFC 8785 does.
func CanonicalKeys(m map[string]any) []string {
	keys := slices.Collect(maps.Keys(m))
	slices.SortFunc(keys, compareUTF16)
	return keys
}

// compareUTF16 compares texts by their UTF-16 code units. That is the order of their bytes unless one of them has a
// character beyond the basic plane.
func compareUTF16(a, b string) int {
	for i := 0; i < len(a) && i < len(b); i++ {
		if a[i] != b[i] {
			if a[i] < 0xee || b[i] < 0xee {
				break
			}
			return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		}
	}
	return strings.Compare(a, b)
}

// AppendCanonicalString appends s as a JSON string with no other escapes than RFC 8785 has.
// Invalid UTF-8 becomes U+FFFD.
func AppendCanonicalString(dst []byte, s string) []byte {
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
