// Package value defines the values that a call computes with. They are native Go values, never
// types of a template or expression library.
//
// A value is one of
//
//	nil, bool, string, int, float64, []any, map[string]any, Bytes
//
// or a json.Number, for a number that neither int nor float64 represents exactly, or a LazyJSON.
// [Decode] and [AppendJSON] convert from and to JSON; integers and long decimals keep every digit.
// Values are shared between the steps of a call and are never changed.
package value

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Bytes is raw data: a body, a file, a blob. Text and JSON accept it only in encoded form.
type Bytes []byte

// LazyJSON is a value that exists as JSON and is decoded on first use. Both methods are safe for
// concurrent use and may be called any number of times.
type LazyJSON interface {
	// AppendJSON appends the JSON text of the value.
	AppendJSON(dst []byte) []byte

	// Value returns the decoded value, which contains no LazyJSON.
	Value() (any, error)
}

// FormError is the error of a LazyJSON whose value has another form than its type says.
type FormError struct{ Text string } // a clause for the model, which does not say what has the form

func (e *FormError) Error() string { return "the answer has the wrong form: " + e.Text }

// Resolve returns the decoded value of a LazyJSON, and any other value unchanged.
func Resolve(v any) (any, error) {
	if d, ok := v.(LazyJSON); ok {
		return d.Value()
	}
	return v, nil
}

// ResolveAll returns v with every LazyJSON in it decoded, at every depth. Parts without a LazyJSON
// are shared with v.
func ResolveAll(v any) (_ any, err error) {
	if !holdsDeferred(v) {
		return v, nil
	}
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			if out[i], err = ResolveAll(e); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			if out[k], err = ResolveAll(e); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return Resolve(v)
}

func holdsDeferred(v any) bool {
	return Contains(v, func(v any) bool { _, ok := v.(LazyJSON); return ok })
}

// Contains reports whether is holds for v or for a value in it, at any depth. It does not look into
// a LazyJSON.
func Contains(v any, is func(any) bool) bool {
	if is(v) {
		return true
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if Contains(e, is) {
				return true
			}
		}
	case map[string]any:
		for _, e := range v {
			if Contains(e, is) {
				return true
			}
		}
	}
	return false
}

var errBytesText = errors.New("bytes cannot be used as text; encode them with base64encode")

// Text returns a value as part of a text: a string unchanged, a number in plain notation, null as
// "null", a list or an object as JSON. It fails for Bytes.
func Text(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case int:
		return strconv.Itoa(v), nil
	case bool:
		return strconv.FormatBool(v), nil
	case nil:
		return "null", nil
	case json.Number:
		return string(v), nil
	case float64:
		return FormatFloat(v), nil
	case Bytes:
		return "", errBytesText
	}
	b, err := AppendJSON(nil, v)
	return string(b), err
}

// Kind returns the kind of a value as the language calls it, for errors: "string", "number",
// "bool", "list", "object", "bytes" or "null", and "value" for a LazyJSON.
func Kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "bool"
	case int, float64, json.Number:
		return "number"
	case []any:
		return "list"
	case map[string]any:
		return "object"
	case Bytes:
		return "bytes"
	case LazyJSON:
		return "value"
	}
	return fmt.Sprintf("%T", v)
}

// Keys returns the keys of an object, sorted.
func Keys(m map[string]any) []string {
	keys, _ := KeysSteps(m, nil)
	return keys
}

// AppendKeys appends the keys of an object to an empty slice, sorted. It keeps the slice nowhere.
func AppendKeys(dst []string, m map[string]any) []string {
	for k := range m {
		dst = append(dst, k)
	}
	slices.Sort(dst)
	return dst
}

// KeysSteps is Keys within a budget.
func KeysSteps(m map[string]any, step Step) ([]string, error) {
	keys := make([]string, 0, len(m))
	for k := range m {
		if err := step.Take(1); err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	return keys, Sort(keys, strings.Compare, step)
}
