package adapters

import (
	"errors"
	"fmt"

	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/hcl/value"
)

// TextOf returns the text of one value in a header, a query or a form. Its errors complete a sentence
// whose subject is the entry.
func TextOf(v any) (string, error) {
	v, err := value.Resolve(v)
	if err != nil {
		return "", err
	}
	switch v.(type) {
	case string, bool:
	case nil:
		return "", errors.New("has a null in a list")
	case []any, map[string]any:
		return "", fmt.Errorf("must be a string, a number, a bool or a list of them, not %s; jsonencode(…) converts "+
			"it to a string", diag.WithArticle(value.Kind(v)))
	case value.Bytes:
		return "", errors.New("must be text, not bytes; base64encode(…) converts them to text")
	}
	return value.Text(v)
}

// Texts returns the texts of a value or of the elements of a list.
func Texts(v any) ([]string, error) {
	v, err := value.Resolve(v)
	if err != nil {
		return nil, err
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	texts := make([]string, len(list))
	for i, e := range list {
		if texts[i], err = TextOf(e); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// EachEntry calls do with each entry of a map argument; kind precedes its name in a message, and convert is TextOf or
// Texts. secret reports whether an expression of the entry reads a secret.
func EachEntry[T any](
	f *hcl.Frame, entries *hcl.KeyValues, kind string, convert func(any) (T, error),
	do func(name string, converted T, secret bool) error,
) error {
	list, err := entries.Eval(f)
	if err != nil {
		return &Fault{Message: err.Error()}
	}
	for _, e := range list {
		converted, err := convert(e.Value)
		if err != nil {
			return &Fault{Message: fmt.Sprintf("the %s%s %v", kind, e.Name, err)}
		}
		if err := do(e.Name, converted, entries.Secret(e.Name)); err != nil {
			return err
		}
	}
	return nil
}
