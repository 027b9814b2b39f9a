package value

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
)

// later is a LazyJSON. It cannot be decoded if it is empty.
type later string

func (l later) AppendJSON(dst []byte) []byte { return append(dst, l...) }

func (l later) Value() (any, error) {
	if l == "" {
		return nil, errors.New("unreadable")
	}
	return Decode([]byte(l))
}

var samples = []any{
	nil, true, false, "", "1", "null", "[]", 0, 1, -1, 1 << 60, 0.5, -0.5, 1e300, json.Number("9007199254740993.5"), json.Number("1e400"), json.Number("-1e400"),
	Bytes("1"), []any{}, []any{1, "2"}, []any{"1", 2}, []any{[]any{1}, 2}, map[string]any{}, map[string]any{"a": 1}, map[string]any{"a": nil}, map[string]any{"a": 1, "b": 2},
}

func TestValuesShareAKeyExactlyIfTheyAreEqual(t *testing.T) {
	other := []any{json.Number("1.0"), json.Number("5e-1"), json.Number("10e399"), later("1"), later(`[1.0,"2"]`), later(`{"b":2,"a":1}`), later(`null`)}
	for _, a := range slices.Concat(samples, other) {
		for _, b := range slices.Concat(samples, other) {
			equal := Equal(a, b)
			if shared := string(AppendKey(nil, a)) == string(AppendKey(nil, b)); shared != equal || Equal(b, a) != equal {
				t.Errorf("%T %v and %T %v: equal %t, the same key %t", a, a, b, b, equal, shared)
			}
		}
	}
}

func TestValueThatCannotBeDecodedEqualsNothing(t *testing.T) {
	for _, v := range samples {
		if Equal(v, later("")) || Equal(later(""), v) {
			t.Errorf("%T %v equals a value that cannot be read", v, v)
		}
	}
}

func TestCompareOrdersNumbersByTheirExactValue(t *testing.T) {
	ascending := []any{json.Number("-1e999999999999"), json.Number("-1e400"), -1 << 62, -1.5, -1, 0, json.Number("1e-400"), 5e-324, 0.1, json.Number("0.1000000000000000000001"), 1,
		9007199254740992, json.Number("9007199254740992.5"), 9007199254740993, 1e300, json.Number("1e400"), json.Number("1e999999999999")}
	for i, a := range ascending {
		for j, b := range ascending {
			if got, want := Compare(a, b), min(max(i-j, -1), 1); got != want {
				t.Errorf("Compare(%v, %v) = %d, want %d", a, b, got, want)
			}
		}
	}
}
