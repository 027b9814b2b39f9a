package exprlang

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"hatchel/hcl/eval"
	"hatchel/hcl/functions"
	"hatchel/hcl/value"
)

func first(_ *functions.Context, a []any) (any, error) {
	list := a[0].([]any)
	if len(list) == 0 {
		return nil, nil
	}
	return list[0], nil
}

func last(_ *functions.Context, a []any) (any, error) {
	list := a[0].([]any)
	if len(list) == 0 {
		return nil, nil
	}
	return list[len(list)-1], nil
}

func take(_ *functions.Context, a []any) (any, error) {
	list, n := a[0].([]any), a[1].(int)
	if n < 0 {
		return nil, errors.New("the count must not be negative")
	}
	n = min(n, len(list))
	return list[:n:n], nil
}

func get(_ *functions.Context, a []any) (any, error) {
	v, err := (&eval.Access{Program: true}).Element(new(eval.Frame), a[0], a[1])
	if err != nil {
		return nil, nil // get gives null for what is missing
	}
	return v, nil
}

func checkNumbers(c *functions.Context, list []any) error {
	for _, e := range list {
		if err := c.Step(value.Elements(e)); err != nil {
			return err
		}
		if !value.IsNumber(e) {
			return fmt.Errorf("every element must be a number, got %s", value.Kind(e))
		}
	}
	return nil
}

func mean(c *functions.Context, a []any) (any, error) {
	list := a[0].([]any)
	err := checkNumbers(c, list)
	if len(list) == 0 || err != nil {
		return 0, err
	}
	var total any = 0
	for _, e := range list {
		if err := c.Step(value.Elements(e) + value.Elements(total)); err != nil {
			return nil, err
		}
		if total, err = functions.Add(total, e); err != nil {
			return nil, err
		}
	}
	return functions.Divide(total, len(list))
}

func median(c *functions.Context, a []any) (any, error) {
	list := a[0].([]any)
	err := checkNumbers(c, list)
	if err == nil {
		err = c.Spend(16 * len(list))
	}
	if len(list) == 0 || err != nil {
		return 0, err
	}
	sorted, err := functions.SortBy(c, list, list, false)
	if err != nil {
		return nil, err
	}
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle], nil
	}
	total, err := functions.Add(sorted[middle-1], sorted[middle])
	if err != nil {
		return nil, err
	}
	return functions.Divide(total, 2)
}

func toPairs(c *functions.Context, a []any) (any, error) {
	m := a[0].(map[string]any)
	if err := c.Spend(96 * len(m)); err != nil {
		return nil, err
	}
	return functions.ListMembers(c, m, func(k string, v any) any { return []any{k, v} })
}

func fromPairs(c *functions.Context, a []any) (any, error) {
	list := a[0].([]any)
	if err := c.Spend(96 * len(list)); err != nil {
		return nil, err
	}
	out := make(map[string]any, len(list))
	for i, e := range list {
		if err := c.Step(1); err != nil {
			return nil, err
		}
		pair, ok := e.([]any)
		if !ok || len(pair) != 2 {
			return nil, fmt.Errorf("element %d must be a list of a key and a value", i)
		}
		k, ok := pair[0].(string)
		if !ok {
			return nil, fmt.Errorf("the key of element %d must be a string, got %s", i, value.Kind(pair[0]))
		}
		out[k] = pair[1]
	}
	return out, nil
}

func typeName(_ *functions.Context, a []any) (any, error) { return value.Kind(a[0]), nil }

func toInt(c *functions.Context, a []any) (any, error) {
	v := a[0]
	if _, ok := v.(string); ok {
		fn, _ := functions.Lookup("tonumber")
		var err error
		if v, err = fn.Call(c, a); err != nil {
			return nil, err
		}
	}
	if i, ok := value.Int(v); ok {
		return i, nil
	}
	f, ok := value.Float(v)
	if !ok || math.Abs(f) >= 1<<63 {
		return nil, fmt.Errorf("a number or its text is expected, got %s", value.Kind(a[0]))
	}
	return int(f), nil
}

func position(
	find func(c *functions.Context, s, part string) (int, error),
) func(*functions.Context, []any) (any, error) {
	return func(c *functions.Context, a []any) (any, error) {
		s := a[0].(string)
		i, err := find(c, s, a[1].(string))
		if i <= 0 || err != nil {
			return i, err
		}
		return c.Characters(s[:i])
	}
}

func toText(c *functions.Context, a []any) (any, error) {
	n, err := c.Size(a[0], c.Memory)
	if err != nil {
		return nil, err
	}
	if err := c.Spend(n); err != nil {
		return nil, err
	}
	return c.Text(a[0])
}

type bitOperation struct {
	doc string
	of  func(a, b int) int
}

func (o bitOperation) call(_ *functions.Context, a []any) (any, error) {
	if b := a[1].(int); b < 0 && strings.Contains(o.doc, "Shifts") {
		return nil, errors.New("a shift must not be negative")
	}
	return o.of(a[0].(int), a[1].(int)), nil
}
