package http

import (
	"errors"
	"fmt"

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
			"it to a string", withArticle(value.Kind(v)))
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
		text, err := scalar(v)
		return []string{text}, err
	}
	texts := make([]string, 0, len(list))
	for _, e := range list {
		text, err := scalar(e)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

func withArticle(kind string) string {
	if kind == "object" {
		return "an object"
	}
	return "a " + kind
}
