package functions

import (
	"errors"
	"fmt"
	"strings"

	"hatchel/hcl/value"
)

func conversionFunctions() []Function {
	v := params(param("value", Any))
	return []Function{
		New("tostring", "Writes a number or a bool as a string; null stays null.", v, nullable(String), toString),
		New("tonumber", "Reads a number from a string; null stays null.", v, nullable(Number), toNumber),
		New("tobool", `Reads a bool from "true" or "false"; null stays null.`, v, nullable(Bool), toBool),
		New("tolist", "Gives a list as it is; null stays null.", v, follow(SameAsFirst), toList),
	}
}

func toString(c *Context, a []any) (any, error) {
	if a[0] == nil {
		return nil, nil
	}
	s, err := elementText(a[0])
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
	v, err := value.Decode([]byte(strings.TrimPrefix(s, "+")))
	if err != nil || !value.IsNumber(v) || strings.TrimSpace(s) != s {
		return nil, fmt.Errorf("%q is not a number", clip(s))
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
		return nil, fmt.Errorf("%q is neither true nor false", clip(s))
	}
	return nil, fmt.Errorf("the value must be a string or a bool, got %s", kindOf(a[0]))
}

func toList(_ *Context, a []any) (any, error) {
	if _, ok := a[0].([]any); ok || a[0] == nil {
		return a[0], nil
	}
	return nil, errors.New("the value must be a list, got " + kindOf(a[0]))
}
