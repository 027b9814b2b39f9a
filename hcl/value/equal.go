package value

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// Equal reports whether a and b are the same JSON value. Numbers compare by their exact values. A
// Deferred that cannot be decoded equals nothing.
func Equal(a, b any) bool {
	switch x := a.(type) { // the common cases, without a call
	case string:
		if y, ok := b.(string); ok {
			return x == y
		}
	case int:
		if y, ok := b.(int); ok {
			return x == y
		}
	}
	a, errA := Resolve(a)
	b, errB := Resolve(b)
	if errA != nil || errB != nil {
		return false
	}
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, Equal)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, Equal)
	case Bytes:
		b, ok := b.(Bytes)
		return ok && string(a) == string(b)
	case int, float64, json.Number:
		return IsNumber(b) && IsFinite(a) && IsFinite(b) && Compare(a, b) == 0
	}
	switch b.(type) {
	case []any, map[string]any, Bytes:
		return false // these cannot be compared with ==
	}
	return a == b
}

// AppendKey appends a text that two values share exactly if they are Equal.
func AppendKey(dst []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return appendCounted(append(dst, 's'), v)
	case int:
		return strconv.AppendInt(dst, int64(v), 10)
	case float64, json.Number:
		d := DecimalOf(v)
		if i, ok := d.Int(); ok {
			return strconv.AppendInt(dst, int64(i), 10)
		}
		dst = append(dst, 'n')
		if d.Negative {
			dst = append(dst, '-')
		}
		return strconv.AppendInt(append(append(dst, d.Digits...), 'e'), int64(d.Exp), 10)
	case []any:
		dst = append(dst, '[')
		for _, e := range v {
			dst = append(AppendKey(dst, e), ',')
		}
		return append(dst, ']')
	case map[string]any:
		dst = append(dst, '{')
		for _, k := range Keys(v) {
			dst = append(AppendKey(appendCounted(dst, k), v[k]), ',')
		}
		return append(dst, '}')
	case bool:
		return strconv.AppendBool(dst, v)
	case Bytes:
		return appendCounted(append(dst, 'b'), string(v))
	case LazyJSON:
		decoded, err := v.Value()
		if err != nil {
			return appendCounted(append(dst, 'd'), string(v.AppendJSON(nil)))
		}
		return AppendKey(dst, decoded)
	}
	return append(dst, "null"...)
}

// appendCounted appends text after its length, so that no other text can extend it.
func appendCounted(dst []byte, text string) []byte {
	return append(append(strconv.AppendInt(dst, int64(len(text)), 10), ':'), text...)
}
