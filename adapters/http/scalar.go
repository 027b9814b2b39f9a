package http

import (
	"fmt"

	"hatchel/hcl/value"
)

// scalar is how one value reads in a header, a query or a form. Its error completes a sentence about the entry.
func scalar(v any) (string, error) {
	v, err := value.Resolve(v)
	if err != nil {
		return "", err
	}
	switch v.(type) {
	case string, bool:
	case nil:
		return "", fmt.Errorf("holds a null in a list")
	case []any, map[string]any:
		return "", fmt.Errorf("takes a string, a number, a bool or a list of them, and it is %s; jsonencode(…) makes a string of it", article(value.Kind(v)))
	case value.Bytes:
		return "", fmt.Errorf("takes text, and it is bytes; base64encode(…) makes text of them")
	}
	return value.Text(v)
}

// scalars are the texts of a value or of the elements of a list.
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

func article(noun string) string {
	if noun == "object" {
		return "an object"
	}
	return "a " + noun
}
