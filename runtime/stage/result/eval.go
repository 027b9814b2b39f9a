package result

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
	"hatchel/runtime/stage/failure"
)

// EvalCondition evaluates a condition; nil is true.
func EvalCondition(when *hcl.Condition, f *hcl.Frame) (bool, error) {
	if when == nil {
		return true, nil
	}
	return when.Eval(f, f.Output)
}

// EvalElements returns the elements of a list or an object in their order, and whether they have
// names.
func EvalElements(e *hcl.Expr, f *hcl.Frame) (elements []hcl.Each, named bool, err error) {
	v, err := EvalResolved(e, f)
	if err != nil {
		return nil, false, failure.AsFault(err)
	}
	switch v := v.(type) {
	case nil:
		return nil, false, nil
	case []any:
		for i, e := range v {
			elements = append(elements, hcl.Each{Key: i, Value: e})
		}
		return elements, false, nil
	case map[string]any:
		for _, k := range value.Keys(v) {
			elements = append(elements, hcl.Each{Key: k, Value: v[k]})
		}
		return elements, true, nil
	}
	return nil, false, &adapters.Fault{Message: "each must be a list or an object, got a " + value.Kind(v)}
}

// EvalResolved evaluates an expression and decodes the value if it is lazy.
func EvalResolved(e *hcl.Expr, f *hcl.Frame) (any, error) {
	v, err := e.Eval(f)
	if err != nil {
		return nil, err
	}
	return value.Resolve(v)
}

// EvalData evaluates data: bytes, or a text in base64.
func EvalData(e *hcl.Expr, f *hcl.Frame) (any, error) {
	v, err := EvalResolved(e, f)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case value.Bytes:
		return v, nil
	case string:
		if _, err := base64.StdEncoding.DecodeString(v); err != nil {
			return nil, &adapters.Fault{Message: "the data must be bytes or base64"}
		}
		return v, nil
	}
	return nil, fmt.Errorf("the data must be bytes or base64, got a %s", value.Kind(v))
}

// Members returns the members of an output; nil when it is no object.
func Members(output any) (map[string]any, error) {
	v, err := value.Resolve(output)
	if err != nil {
		return nil, err
	}
	m, _ := v.(map[string]any)
	return m, nil
}

// AppendText appends a value as a text: strings and bytes as they are, everything else as JSON.
func AppendText(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case string:
		return append(dst, v...), nil
	case value.Bytes:
		return append(dst, strings.ToValidUTF8(string(v), "\ufffd")...), nil
	}
	dst, err := value.AppendJSON(dst, v)
	return dst, explainJSON(err)
}

// explainJSON returns the error of value.AppendJSON in the words of a result.
func explainJSON(err error) error {
	if errors.Is(err, value.ErrBytes) {
		return errors.New("the result contains raw bytes, which cannot be sent as JSON; encode them with base64encode")
	}
	return err
}
