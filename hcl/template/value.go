package template

import (
	"encoding/json"
	"fmt"

	"hatchel/hcl/value"
)

// Resolve computes the value of an interpolation for one call.
func (h *Interpolation) Resolve(f Frame) (any, error) {
	v, err := h.Value(f)
	if err != nil {
		return nil, err
	}
	return value.Resolve(v)
}

// FirstArg returns the first argument of a contextual function, or h if it has none.
func (h *Interpolation) FirstArg() *Interpolation {
	if len(h.Args) == 0 {
		return h
	}
	return h.Args[0]
}

// truth computes a condition for one call.
func truth(cond Value, f Frame) (bool, error) {
	v, err := cond(f)
	if err != nil {
		return false, err
	}
	if v, err = value.Resolve(v); err != nil {
		return false, err
	}
	yes, ok := v.(bool)
	if !ok {
		return false, fmt.Errorf("a condition must be true or false, and it is %s", DescribeKind(v))
	}
	return yes, nil
}

// ScalarText returns a string, number or bool as text. For null, present is false. The error names
// source.
func ScalarText(v any, source string) (text string, present bool, err error) {
	switch v := v.(type) {
	case nil:
		return "", false, nil
	case string:
		return v, true, nil
	case int, float64, json.Number, bool:
		text, err = value.Text(v)
		return text, true, err
	}
	return "", false, fmt.Errorf("%s must be a single value here, and it is %s", source, DescribeKind(v))
}

// DescribeKind returns the kind of a value with its article.
func DescribeKind(v any) string {
	switch kind := value.Kind(v); kind {
	case "null", "bytes":
		return kind
	case "object":
		return "an object"
	default:
		return "a " + kind
	}
}

// Texts returns every text that the value can be, or nil if they are not known at load.
func (t Type) Texts() []string {
	if t.Known {
		if text, present, err := ScalarText(t.Constant, ""); present && err == nil {
			return []string{text}
		}
		return nil
	}
	if t.Kind != Enum || t.Nullable {
		return nil
	}
	return t.Values
}

// KnownText returns the text of a string that is known at load.
func (t Type) KnownText() (text string, known bool) {
	text, isString := t.Constant.(string)
	return text, isString && t.Known
}
