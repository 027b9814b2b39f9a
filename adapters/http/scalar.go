package http

import (
	"errors"
	"fmt"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/hcl/value"
)

// scalar returns the text of one value in a header, a query or a form. Its errors complete a sentence
// whose subject is the entry.
func scalar(v any) (string, error) {
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

// scalars returns the texts of a value or of the elements of a list.
func scalars(v any) ([]string, error) {
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
		if texts[i], err = scalar(e); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// eachEntry calls do with the texts of each entry of a map argument; kind names an entry in a message.
func eachEntry(
	f *hcl.Frame, entries *hcl.KeyValues, kind string, do func(name string, texts []string, secret bool) error,
) error {
	list, err := entries.Eval(f)
	if err != nil {
		return &adapters.Fault{Message: err.Error()}
	}
	for _, e := range list {
		texts, err := scalars(e.Value)
		if err != nil {
			return &adapters.Fault{Message: fmt.Sprintf("the %s %s %v", kind, e.Name, err)}
		}
		if err := do(e.Name, texts, entries.Secret(e.Name)); err != nil {
			return err
		}
	}
	return nil
}
