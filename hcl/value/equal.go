package value

import (
	"encoding/json"
	"strconv"
)

// Equal reports whether a and b are the same JSON value. Numbers compare by their exact values. A
// LazyJSON that cannot be decoded equals nothing.
func Equal(a, b any) bool {
	equal, _ := EqualSteps(a, b, nil)
	return equal
}

// EqualSteps is Equal within a budget.
func EqualSteps(a, b any, step Step) (bool, error) {
	switch x := a.(type) { // the common cases, without a call
	case string:
		if y, ok := b.(string); ok {
			const quick = 4096 // bytes that are compared as fast as an element is read
			if len(x) != len(y) || len(x) <= quick {
				return x == y, nil
			}
			return x == y, step.Take(len(x) / quick)
		}
	case int:
		if y, ok := b.(int); ok {
			return x == y, nil
		}
	}
	a, errA := Resolve(a)
	b, errB := Resolve(b)
	if errA != nil || errB != nil {
		return false, nil
	}
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false, nil
		}
		return equalLists(a, b, step)
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false, nil
		}
		return equalObjects(a, b, step)
	case Bytes:
		b, ok := b.(Bytes)
		return ok && string(a) == string(b), nil
	case int, float64, json.Number:
		return IsNumber(b) && IsFinite(a) && IsFinite(b) && Compare(a, b) == 0, nil
	}
	switch b.(type) {
	case []any, map[string]any, Bytes:
		return false, nil // these cannot be compared with ==
	}
	return a == b, nil
}

func equalLists(a, b []any, step Step) (bool, error) {
	for i, e := range a {
		if err := step.Take(Elements(e)); err != nil {
			return false, err
		}
		if equal, err := EqualSteps(e, b[i], step); !equal || err != nil {
			return false, err
		}
	}
	return true, nil
}

func equalObjects(a, b map[string]any, step Step) (bool, error) {
	for k, e := range a {
		if err := step.Take(Elements(e)); err != nil {
			return false, err
		}
		other, ok := b[k]
		if !ok {
			return false, nil
		}
		if equal, err := EqualSteps(e, other, step); !equal || err != nil {
			return false, err
		}
	}
	return true, nil
}

// AppendKey appends a text that two values share exactly if they are Equal.
func AppendKey(dst []byte, v any) []byte {
	dst, _ = AppendKeySteps(dst, v, nil)
	return dst
}

// AppendKeySteps is AppendKey within a budget.
func AppendKeySteps(dst []byte, v any, step Step) (_ []byte, err error) {
	switch v := v.(type) {
	case string:
		return appendCounted(append(dst, 's'), v), nil
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case float64, json.Number:
		d := DecimalOf(v)
		if i, ok := d.Int(); ok {
			return strconv.AppendInt(dst, int64(i), 10), nil
		}
		dst = append(dst, 'n')
		if d.Negative {
			dst = append(dst, '-')
		}
		return strconv.AppendInt(append(append(dst, d.Digits...), 'e'), int64(d.Exp), 10), nil
	case []any:
		dst = append(dst, '[')
		for _, e := range v {
			if err := step.Take(Elements(e)); err != nil {
				return dst, err
			}
			if dst, err = AppendKeySteps(dst, e, step); err != nil {
				return dst, err
			}
			dst = append(dst, ',')
		}
		return append(dst, ']'), nil
	case map[string]any:
		keys, err := KeysSteps(v, step)
		if err != nil {
			return dst, err
		}
		dst = append(dst, '{')
		for _, k := range keys {
			if err := step.Take(Elements(v[k])); err != nil {
				return dst, err
			}
			if dst, err = AppendKeySteps(appendCounted(dst, k), v[k], step); err != nil {
				return dst, err
			}
			dst = append(dst, ',')
		}
		return append(dst, '}'), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case Bytes:
		return appendCounted(append(dst, 'b'), string(v)), nil
	case LazyJSON:
		decoded, err := v.Value()
		if err != nil {
			return appendCounted(append(dst, 'd'), string(v.AppendJSON(nil))), nil
		}
		return AppendKeySteps(dst, decoded, step)
	}
	return append(dst, "null"...), nil
}

// appendCounted appends text after its length, so that no other text can extend it.
func appendCounted(dst []byte, text string) []byte {
	return append(append(strconv.AppendInt(dst, int64(len(text)), 10), ':'), text...)
}
