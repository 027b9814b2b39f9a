package value

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"hatchel/hcl/jsonscan"
)

// ErrBytes reports that a value contains Bytes, which JSON cannot represent.
var ErrBytes = errors.New("bytes cannot be written as JSON; encode them with base64encode")

// AppendJSON appends v as JSON: keys sorted, no white space, no HTML escapes, invalid UTF-8
// replaced by U+FFFD. For Bytes, NaN and infinities it returns an error and the incomplete output.
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
			return dst, fmt.Errorf("%v cannot be written as JSON", v)
		}
		return append(dst, FormatFloat(v)...), nil
	case json.Number:
		return append(dst, v...), nil
	case []any:
		return appendList(dst, v)
	case map[string]any:
		return appendObject(dst, v)
	case LazyJSON:
		return v.AppendJSON(dst), nil
	case Bytes:
		return dst, ErrBytes
	}
	return dst, fmt.Errorf("a %T cannot be written as JSON", v)
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

// AppendString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte { return jsonscan.AppendString(dst, s) }
