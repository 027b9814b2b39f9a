// Package value is the model of everything that a call computes with: native Go values, never a type of a template or expression library.
//
// A value is one of
//
//	nil, bool, string, int, float64, []any, map[string]any, Bytes
//
// or json.Number for a number that neither int nor float64 holds exactly, or a Deferred. Decode makes values from JSON, AppendJSON makes JSON from
// values, and a value that went through both is unchanged: integers and long decimals keep every digit. Compact checks JSON that nobody may look into.
// Values are shared between the stages of a call and never changed after they were made.
package value

import (
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
)

// Bytes are raw bytes: a body, a file, a blob. They have no place in JSON or text unless an author encodes them.
type Bytes []byte

// Deferred is a value whose JSON is at hand and whose decoded form is made when something looks inside.
// Both methods are safe for concurrent use and may be called any number of times.
type Deferred interface {
	// AppendJSON appends the value's JSON text.
	AppendJSON(dst []byte) []byte
	// Value returns the decoded value, which is never itself Deferred.
	Value() (any, error)
}

// Resolve returns v itself, or the decoded form of a Deferred.
func Resolve(v any) (any, error) {
	if d, ok := v.(Deferred); ok {
		return d.Value()
	}
	return v, nil
}

// ResolveAll returns v with every Deferred inside it decoded, at every depth. What holds none is returned as it is.
func ResolveAll(v any) (any, error) {
	switch v := v.(type) {
	case Deferred:
		return v.Value()
	case []any:
		return resolveList(v)
	case map[string]any:
		return resolveMap(v)
	}
	return v, nil
}

func resolveList(list []any) (any, error) {
	var out []any
	for i, e := range list {
		r, err := ResolveAll(e)
		if err != nil {
			return nil, err
		}
		if out == nil && !holdsDeferred(e) {
			continue
		}
		if out == nil {
			out = append([]any(nil), list...)
		}
		out[i] = r
	}
	if out == nil {
		return list, nil
	}
	return out, nil
}

func resolveMap(m map[string]any) (any, error) {
	var out map[string]any
	for k, e := range m {
		if !holdsDeferred(e) {
			continue
		}
		r, err := ResolveAll(e)
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = make(map[string]any, len(m))
			for k, e := range m {
				out[k] = e
			}
		}
		out[k] = r
	}
	if out == nil {
		return m, nil
	}
	return out, nil
}

func holdsDeferred(v any) bool {
	switch v := v.(type) {
	case Deferred:
		return true
	case []any:
		for _, e := range v {
			if holdsDeferred(e) {
				return true
			}
		}
	case map[string]any:
		for _, e := range v {
			if holdsDeferred(e) {
				return true
			}
		}
	}
	return false
}

// Text returns how a value reads inside a text: a string as it is, numbers in plain notation, null as "null", and lists and objects as JSON.
// Bytes have no text and return an error.
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
		return "", fmt.Errorf("bytes cannot stand in a text; encode them with base64encode")
	}
	b, err := AppendJSON(nil, v)
	return string(b), err
}

// Kind names the kind of a value in the words of the language, for errors: "string", "number", "bool", "list", "object", "bytes" or "null".
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
	case Deferred:
		return "value"
	}
	return fmt.Sprintf("%T", v)
}

// Keys returns the keys of an object, sorted.
func Keys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
