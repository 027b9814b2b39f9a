package functions

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"hatchel/hcl/value"
)

func listFunctions() []Function {
	list := param("list", List)
	return []Function{
		New("length", "Counts the characters of a string, the elements of a list or the members of an object.", params(param("value", Any)), fixed(Integer), length),
		New("concat", "Puts lists one after the other.", params(list.variadic()), follow(Unify), concat),
		New("contains", "Tells whether a list has an element that equals a value.", params(list, param("value", Any)), fixed(Bool), contains),
		New("distinct", "Keeps the first of equal elements.", params(list), follow(SameAsFirst), distinct),
		New("flatten", "Replaces lists inside a list by their elements, at every depth.", params(list), listOf(Any), flatten),
		New("reverse", "Puts the elements in reverse order.", params(list), follow(SameAsFirst), reverse),
		New("sort", `Sorts strings or numbers; the optional order is "asc" or "desc".`, params(list, param("order", String).optional()), follow(SameAsFirst), sorted),
		New("slice", "Takes the elements from one index up to, not including, another.", params(list, param("start", Integer), param("end", Integer)), follow(SameAsFirst), slice),
		New("element", "Gives the element at an index, counting round and round beyond the end.", params(list, param("index", Integer)), follow(ElemOfFirst), element),
		New("index", "Gives the index of the first element that equals a value; none is an error.", params(list, param("value", Any)), fixed(Integer), indexOf),
		New("range", "Lists numbers: range(limit), range(start, limit) or range(start, limit, step); the limit is not included.", params(param("start", Number), param("limit", Number).optional(), param("step", Number).optional()), listOf(Number), numbers),
		New("chunklist", "Cuts a list into lists of a size; the last may be shorter.", params(list, param("size", Integer)), follow(ListOfFirst), chunks),
		New("coalescelist", "Gives the first list that is not empty.", params(list.variadic()), follow(Unify), coalesceList),
		New("alltrue", "Tells whether every element is true.", params(list), fixed(Bool), everyBool(true)),
		New("anytrue", "Tells whether some element is true.", params(list), fixed(Bool), everyBool(false)),
	}
}

func length(_ *Context, a []any) (any, error) {
	switch v := a[0].(type) {
	case string:
		return utf8.RuneCountInString(v), nil
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
		l := l.([]any)
		if err := c.items(len(l)); err != nil {
			return nil, err
		}
		out = append(out, l...)
	}
	return out, nil
}

// scan measures what a function is about to walk, so that shared parts cannot make the walk endless.
func (c *Context) scan(v any) error {
	_, err := Size(v, MaxWalk)
	return err
}

func find(list []any, v any) int {
	return slices.IndexFunc(list, func(e any) bool { return value.Equal(e, v) })
}

func contains(c *Context, a []any) (any, error) {
	i, err := position(c, a)
	return i >= 0, err
}

func indexOf(c *Context, a []any) (any, error) {
	i, err := position(c, a)
	if err == nil && i < 0 {
		err = errors.New("the value is not in the list")
	}
	if err != nil {
		return nil, err
	}
	return i, nil
}

func position(c *Context, a []any) (int, error) {
	if err := c.scan(a[0]); err != nil {
		return -1, err
	}
	if err := c.scan(a[1]); err != nil {
		return -1, err
	}
	return find(a[0].([]any), a[1]), nil
}

func distinct(c *Context, a []any) (any, error) { return distinctOf(c, a[0].([]any)) }

func distinctOf(c *Context, lists ...[]any) (any, error) {
	seen, out := map[string]bool{}, []any{}
	for _, list := range lists {
		for _, e := range list {
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

// key charges for the key, which is as long as the value.
func (c *Context) key(v any) (string, error) {
	n, err := Size(v, c.Memory)
	if err != nil {
		return "", err
	}
	if err := c.Spend(n + itemSize); err != nil {
		return "", err
	}
	return string(value.AppendKey(nil, v)), nil
}

func flatten(c *Context, a []any) (any, error) {
	if err := c.scan(a[0]); err != nil {
		return nil, err
	}
	return flattened(c, []any{}, a[0].([]any))
}

func flattened(c *Context, out, list []any) ([]any, error) {
	for _, e := range list {
		v, err := value.Resolve(e)
		if err != nil {
			return nil, errors.New("an element cannot be read")
		}
		inner, ok := v.([]any)
		if !ok {
			if err := c.items(1); err != nil {
				return nil, err
			}
			out = append(out, e)
			continue
		}
		if out, err = flattened(c, out, inner); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func reverse(c *Context, a []any) (any, error) {
	if err := c.items(len(a[0].([]any))); err != nil {
		return nil, err
	}
	out := slices.Clone(a[0].([]any))
	slices.Reverse(out)
	return out, nil
}

func sorted(c *Context, a []any) (any, error) {
	descending := false
	if len(a) == 2 {
		switch a[1] {
		case "asc":
		case "desc":
			descending = true
		default:
			return nil, errors.New(`the order must be "asc" or "desc"`)
		}
	}
	list := a[0].([]any)
	if err := c.items(len(list)); err != nil {
		return nil, err
	}
	out := slices.Clone(list)
	if err := SortBy(out, slices.Clone(list), descending); err != nil {
		return nil, err
	}
	return out, nil
}

// SortBy sorts list by the keys beside it, which it sorts along. The keys are all strings or all numbers. Elements with equal keys keep their order.
func SortBy(list, keys []any, descending bool) error {
	for i, k := range keys {
		_, text := k.(string)
		if !text && !value.IsNumber(k) {
			return fmt.Errorf("what is sorted must be strings or numbers, got %s", kindOf(k))
		}
		if _, first := keys[0].(string); first != text {
			return fmt.Errorf("a %s cannot be sorted among %ss", value.Kind(keys[i]), value.Kind(keys[0]))
		}
	}
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		if descending {
			i, j = j, i
		}
		if x, ok := keys[i].(string); ok {
			return strings.Compare(x, keys[j].(string))
		}
		return value.Compare(keys[i], keys[j])
	})
	before := slices.Clone(list)
	for i, j := range order {
		list[i] = before[j]
	}
	return nil
}

func slice(_ *Context, a []any) (any, error) {
	list, start, end := a[0].([]any), a[1].(int), a[2].(int)
	if start < 0 || end < start || end > len(list) {
		return nil, fmt.Errorf("the part from %d to %d does not lie in a list of %d elements", start, end, len(list))
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
	down := value.Compare(limit, start) < 0
	if len(a) > 2 {
		step = a[2]
	} else if down {
		step = -1
	}
	if s := value.Compare(step, 0); s == 0 || (s < 0) != down && value.Compare(limit, start) != 0 {
		return nil, errors.New("the step does not lead from the start to the limit")
	}
	out := []any{}
	for at := start; (value.Compare(at, limit) < 0) != down && value.Compare(at, limit) != 0; {
		if err := c.items(2); err != nil {
			return nil, err
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

func chunks(c *Context, a []any) (any, error) {
	list, n := a[0].([]any), a[1].(int)
	if n < 1 {
		return nil, errors.New("the size must be at least 1")
	}
	if err := c.items(2 * (len(list)/n + 1)); err != nil {
		return nil, err
	}
	out := []any{}
	for part := range slices.Chunk(list, n) {
		out = append(out, part)
	}
	return out, nil
}

func coalesceList(_ *Context, a []any) (any, error) {
	for _, l := range a {
		if len(l.([]any)) > 0 {
			return l, nil
		}
	}
	return nil, errors.New("every list is empty")
}

// everyBool looks for the bool that decides.
func everyBool(want bool) body {
	return func(_ *Context, a []any) (any, error) {
		for i, e := range a[0].([]any) {
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
