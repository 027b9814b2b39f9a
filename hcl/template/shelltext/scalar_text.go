package shelltext

import (
	"encoding/json"
	"fmt"
	"strings"

	"hatchel/hcl/template"
	"hatchel/hcl/value"
)

// maxWordSize is the maximum size in bytes of one word or one NAME=value: the limit of Linux, with
// room for the name.
const maxWordSize = 128<<10 - 64

// scalar returns a value as text. For null, ok is false.
func scalar(h *template.Interpolation, f template.Frame) (text string, number, ok bool, err error) {
	v, err := h.Value(f)
	if err != nil {
		return "", false, false, err
	}
	if v, err = value.Resolve(v); err != nil {
		return "", false, false, err
	}
	return scalarText(v, h.Source)
}

func scalarText(v any, source string) (text string, number, ok bool, err error) {
	switch v := v.(type) {
	case nil:
		return "", false, false, nil
	case string:
		text = v
	case int, float64, json.Number:
		number = true
		text, err = value.Text(v)
	case bool:
		text, err = value.Text(v)
	default:
		return "", false, false, fmt.Errorf("%s must be a single value here, and it is %s", source,
			article(value.Kind(v)))
	}
	if err != nil {
		return "", false, false, err
	}
	if err := checkText(text, source); err != nil {
		return "", false, false, err
	}
	return text, number, true, nil
}

func checkText(text, source string) error {
	if strings.IndexByte(text, 0) >= 0 {
		return fmt.Errorf("%s holds a NUL character, which no program can be given; send it without", source)
	}
	if len(text) > maxWordSize {
		return fmt.Errorf("%s is %d bytes long, and a program can be given at most %d in one value; send less",
			source, len(text), maxWordSize)
	}
	return nil
}

func article(kind string) string {
	switch kind {
	case "bytes":
		return kind
	case "object":
		return "an " + kind
	}
	return "a " + kind
}
