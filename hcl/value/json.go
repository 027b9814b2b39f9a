package value

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// ErrBytes says that a value holds raw bytes, which JSON has no form for.
var ErrBytes = errors.New("bytes have no form in JSON; encode them with base64encode")

// AppendJSON appends the JSON of v: object keys sorted, no insignificant space, no HTML escapes, invalid UTF-8 replaced by U+FFFD.
// It fails on Bytes, on NaN and infinities; dst is then returned with what was written so far.
func AppendJSON(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case string:
		return AppendString(dst, v), nil
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return dst, fmt.Errorf("%v has no form in JSON", v)
		}
		return append(dst, FormatFloat(v)...), nil
	case json.Number:
		return append(dst, v...), nil
	case []any:
		return appendList(dst, v)
	case map[string]any:
		return appendObject(dst, v)
	case Deferred:
		return v.AppendJSON(dst), nil
	case Bytes:
		return dst, ErrBytes
	}
	return dst, fmt.Errorf("a %T has no form in JSON", v)
}

func appendList(dst []byte, list []any) (_ []byte, err error) {
	dst = append(dst, '[')
	for i, e := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = AppendJSON(dst, e); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

func appendObject(dst []byte, m map[string]any) (_ []byte, err error) {
	dst = append(dst, '{')
	for i, k := range Keys(m) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(AppendString(dst, k), ':')
		if dst, err = AppendJSON(dst, m[k]); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

const hex = "0123456789abcdef"

// AppendString appends s as a JSON string.
func AppendString(dst []byte, s string) []byte {
	return AppendStringBody(append(dst, '"'), s, true)
}

// AppendStringBody appends the inside of a JSON string, and the closing quote if asked: a caller that writes a string in pieces opens it itself.
func AppendStringBody(dst []byte, s string, closing bool) []byte {
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r != utf8.RuneError || n > 1 {
				i += n
				continue
			}
			dst = append(append(dst, s[start:i]...), "\ufffd"...)
			i++
			start = i
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	if closing {
		dst = append(dst, '"')
	}
	return dst
}
