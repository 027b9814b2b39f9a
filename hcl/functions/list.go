package functions

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"hatchel/hcl/value"
)

func length(c *Context, a []any) (any, error) {
	switch v := a[0].(type) {
	case string:
		return c.Characters(v)
	case []any:
		return len(v), nil
	case map[string]any:
		return len(v), nil
	case value.Bytes:
		return len(v), nil
	}
	return nil, fmt.Errorf("the value must be a string, a list or an object, got %s", kindOf(a[0]))
}

func concat(c *Context, a []any) (any, error) {
	out := []any{}
	for _, l := range a {
		var err error
		if out, err = c.appendAll(out, l.([]any)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func contains(c *Context, a []any) (any, error) {
	i, err := find(c, a)
	return i >= 0, err
}

func indexOf(c *Context, a []any) (any, error) {
	i, err := find(c, a)
	if err == nil && i < 0 {
		err = errors.New("the value is not in the list")
	}
	return i, err
}

// find returns the index of a[1] in the list a[0], or -1.
func find(c *Context, a []any) (int, error) {
	for _, v := range a {
		if err := c.checkSize(v); err != nil {
			return -1, err
		}
	}
	for i, e := range a[0].([]any) {
		if err := c.Step(value.Elements(e) + value.Elements(a[1])); err != nil {
			return -1, err
		}
		if equal, err := value.EqualSteps(e, a[1], c.Step); equal || err != nil {
			return i, err
		}
	}
	return -1, nil
}

// distinct returns the distinct elements of all lists.
func distinct(c *Context, lists []any) (any, error) {
	seen, out := map[string]bool{}, []any{}
	for _, list := range lists {
		for _, e := range list.([]any) {
			k, err := c.key(e)
			if err != nil {
				return nil, err
			}
			if !seen[k] {
				seen[k], out = true, append(out, e)
			}
		}
	}
	return out, nil
}

func flatten(c *Context, a []any) (any, error) {
	if err := c.checkSize(a[0]); err != nil {
		return nil, err
	}
	return appendFlat(c, []any{}, a[0].([]any))
}

func appendFlat(c *Context, out, list []any) ([]any, error) {
	for _, e := range list {
		if err := c.Step(1); err != nil {
			return nil, err
		}
		v, err := value.Resolve(e)
		if err != nil {
			return nil, errors.New("an element cannot be read")
		}
		if inner, ok := v.([]any); ok {
			if out, err = appendFlat(c, out, inner); err != nil {
				return nil, err
			}
			continue
		}
		if err := c.items(1); err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

func reverse(c *Context, a []any) (any, error) {
	list := a[0].([]any)
	if err := c.items(len(list)); err != nil {
		return nil, err
	}
	out := make([]any, len(list))
	err := c.each(list, func(i int, e any) error {
		out[len(list)-1-i] = e
		return nil
	})
	return out, err
}

func sorted(c *Context, a []any) (any, error) {
	descending := false
	if len(a) == 2 {
		if descending = a[1] == "desc"; !descending && a[1] != "asc" {
			return nil, errors.New(`the order must be "asc" or "desc"`)
		}
	}
	list := a[0].([]any)
	if err := c.items(2 * len(list)); err != nil {
		return nil, err
	}
	return SortBy(c, list, list, descending)
}

// SortBy returns a list sorted by keys, of which there are as many: all strings or all numbers. Elements with
// equal keys keep their order. The caller has charged for the memory.
func SortBy(c *Context, list, keys []any, descending bool) ([]any, error) {
	longest := 1
	err := c.each(keys, func(_ int, k any) error {
		_, isText := k.(string)
		if !isText && !value.IsNumber(k) {
			return fmt.Errorf("only strings and numbers can be sorted, got %s", kindOf(k))
		}
		if _, first := keys[0].(string); first != isText {
			return fmt.Errorf("a %s cannot be sorted among %ss", value.Kind(k), value.Kind(keys[0]))
		}
		longest = max(longest, value.Elements(k))
		return nil
	})
	if err != nil {
		return nil, err
	}
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	err = value.Sort(order, func(i, j int) int {
		if descending {
			i, j = j, i
		}
		if x, ok := keys[i].(string); ok {
			return strings.Compare(x, keys[j].(string))
		}
		return value.Compare(keys[i], keys[j])
	}, func(n int) error { return c.steps(n, longest) })
	if err != nil {
		return nil, err
	}
	out := make([]any, len(list))
	err = c.each(list, func(i int, _ any) error {
		out[i] = list[order[i]]
		return nil
	})
	return out, err
}

func slice(_ *Context, a []any) (any, error) {
	list, start, end := a[0].([]any), a[1].(int), a[2].(int)
	if start < 0 || end < start || end > len(list) {
		return nil, fmt.Errorf("the indexes %d and %d are out of range for a list of length %d", start, end, len(list))
	}
	return list[start:end:end], nil
}

func element(_ *Context, a []any) (any, error) {
	list, i := a[0].([]any), a[1].(int)
	if len(list) == 0 {
		return nil, errors.New("the list is empty")
	}
	if i < 0 {
		return nil, errors.New("the index must not be negative")
	}
	return list[i%len(list)], nil
}

func numbers(c *Context, a []any) (any, error) {
	start, limit, step := any(0), a[0], any(1)
	if len(a) > 1 {
		start, limit = a[0], a[1]
	}
	direction := value.Compare(limit, start)
	if len(a) > 2 {
		step = a[2]
	} else if direction < 0 {
		step = -1
	}
	if sign := value.Compare(step, 0); sign == 0 || direction*sign < 0 {
		return nil, errors.New("the step does not lead from the start to the limit")
	}
	if err := c.items(2 * countNumbers(start, limit, step)); err != nil {
		return nil, err
	}
	out := []any{}
	for at := start; direction != 0 && value.Compare(limit, at) == direction; {
		if err := c.Step(value.Elements(at) + value.Elements(step) + value.Elements(limit)); err != nil {
			return nil, err
		}
		if _, long := at.(json.Number); long {
			if err := c.Spend(value.Elements(at) * itemSize); err != nil {
				return nil, err
			}
		}
		out = append(out, at)
		next, err := Add(at, step)
		if err != nil {
			return nil, err
		}
		if value.Compare(next, at) == 0 {
			return nil, errors.New("the step is too small for such numbers")
		}
		at = next
	}
	return out, nil
}

// countNumbers returns about how many numbers there are from start to limit, or a count that exceeds every budget.
func countNumbers(start, limit, step any) int {
	from, _ := value.Float(start)
	to, _ := value.Float(limit)
	by, _ := value.Float(step)
	count := math.Abs((to - from) / by)
	if !(count < DefaultMemory) { // also NaN, of numbers beyond the range of a float64
		return DefaultMemory
	}
	return int(count) + 1
}

func chunks(c *Context, a []any) (any, error) {
	list, n := a[0].([]any), a[1].(int)
	if n < 1 {
		return nil, errors.New("the size must be at least 1")
	}
	if err := c.items(2 * (len(list)/n + 1)); err != nil {
		return nil, err
	}
	out := []any{}
	for chunk := range slices.Chunk(list, n) {
		if err := c.Step(1); err != nil {
			return nil, err
		}
		out = append(out, chunk)
	}
	return out, nil
}

func coalesceList(c *Context, a []any) (any, error) {
	for _, l := range a {
		if err := c.Step(1); err != nil {
			return nil, err
		}
		if len(l.([]any)) > 0 {
			return l, nil
		}
	}
	return nil, errors.New("every list is empty")
}

// everyBool returns a function that reports want if every element is want, and otherwise the
// opposite.
func everyBool(want bool) impl {
	return func(c *Context, a []any) (any, error) {
		for i, e := range a[0].([]any) {
			if err := c.Step(1); err != nil {
				return nil, err
			}
			b, ok := e.(bool)
			if !ok {
				return nil, fmt.Errorf("element %d must be a bool, got %s", i, kindOf(e))
			}
			if b != want {
				return !want, nil
			}
		}
		return want, nil
	}
}

func intersection(c *Context, a []any) (any, error) {
	out, err := distinct(c, a[:1])
	for _, l := range a[1:] {
		if err != nil {
			return nil, err
		}
		out, err = filter(c, out.([]any), l.([]any), true)
	}
	return out, err
}

func subtract(c *Context, a []any) (any, error) {
	out, err := distinct(c, a[:1])
	if err != nil {
		return nil, err
	}
	return filter(c, out.([]any), a[1].([]any), false)
}

// filter returns the elements of list that are in other, or those that are not.
func filter(c *Context, list, other []any, included bool) (any, error) {
	set := map[string]bool{}
	for _, e := range other {
		k, err := c.key(e)
		if err != nil {
			return nil, err
		}
		set[k] = true
	}
	out := []any{}
	for _, e := range list {
		k, err := c.key(e)
		if err != nil {
			return nil, err
		}
		if set[k] == included {
			out = append(out, e)
		}
	}
	return out, nil
}
