package functions

import (
	"fmt"
	"strings"

	"hatchel/hcl/jsonscan"
	"hatchel/hcl/value"
)

func toString(c *Context, a []any) (any, error) {
	if a[0] == nil {
		return nil, nil
	}
	s, err := scalarText(a[0])
	if err != nil {
		return nil, fmt.Errorf("the value %w", err)
	}
	return c.text(s)
}

func toNumber(_ *Context, a []any) (any, error) {
	s, ok := a[0].(string)
	if !ok {
		if a[0] == nil || value.IsNumber(a[0]) {
			return a[0], nil
		}
		return nil, fmt.Errorf("the value must be a string or a number, got %s", kindOf(a[0]))
	}
	digits := strings.TrimPrefix(s, "+")
	if !jsonscan.IsNumber(digits) {
		return nil, fmt.Errorf("%q is not a number", jsonscan.Excerpt(s))
	}
	v, err := value.ParseNumber(digits)
	if err != nil {
		return nil, errTooManyDigits
	}
	return v, nil
}

func toBool(_ *Context, a []any) (any, error) {
	switch a[0] {
	case nil, true, false:
		return a[0], nil
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	if s, ok := a[0].(string); ok {
		return nil, fmt.Errorf(`%q is neither "true" nor "false"`, jsonscan.Excerpt(s))
	}
	return nil, fmt.Errorf("the value must be a string or a bool, got %s", kindOf(a[0]))
}

func toList(_ *Context, a []any) (any, error) {
	if _, ok := a[0].([]any); ok || a[0] == nil {
		return a[0], nil
	}
	return nil, fmt.Errorf("the value must be a list, got %s", kindOf(a[0]))
}
