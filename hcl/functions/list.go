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
	one, lists := params(list), params(list.variadic())
	search := params(list, param("value", Any))
	return []Function{
		New("length", "Returns the number of characters of a string, elements of a list or members of an object.",
			params(param("value", Any)), fixed(Integer), length),
		New("concat", "Concatenates lists.", lists, follow(Unify), concat),
		New("contains", "Reports whether a list has an element that equals a value.", search, fixed(Bool), contains),
		New("distinct", "Removes duplicate elements and keeps the first of each.",
			one, follow(SameAsFirst), distinct),
		New("flatten", "Replaces lists in a list by their elements, at every depth.", one, listOf(Any), flatten),
		New("reverse", "Reverses the order of the elements.", one, follow(SameAsFirst), reverse),
		New("sort", `Sorts strings or numbers; the optional order is "asc" or "desc".`,
			params(list, param("order", String).optional()), follow(SameAsFirst), sorted),
		New("slice", "Returns the elements from a start index up to, but not including, an end index.",
			params(list, param("start", Integer), param("end", Integer)), follow(SameAsFirst), slice),
		New("element", "Returns the element at an index; an index beyond the end wraps around.",
			params(list, param("index", Integer)), follow(ElemOfFirst), element),
		New("index", "Returns the index of the first element that equals a value; fails if there is none.",
			search, fixed(Integer), indexOf),
		New("range", "Returns a list of numbers: range(limit), range(start, limit) or range(start, limit, step); "+
			"the limit is excluded.",
			params(param("start", Number), param("limit", Number).optional(), param("step", Number).optional()),
			listOf(Number), numbers),
		New("chunklist", "Splits a list into lists of a size; the last one may be shorter.",
			params(list, param("size", Integer)), follow(ListOfFirst), chunks),
		New("coalescelist", "Returns the first list that is not empty.", lists, follow(Unify), coalesceList),
		New("alltrue", "Reports whether every element is true.", one, fixed(Bool), everyBool(true)),
		New("anytrue", "Reports whether at least one element is true.", one, fixed(Bool), everyBool(false)),
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

func contains(_ *Context, a []any) (any, error) {
	i, err := find(a)
	return i >= 0, err
}

func indexOf(_ *Context, a []any) (any, error) {
	i, err := find(a)
	if err == nil && i < 0 {
		err = errors.New("the value is not in the list")
	}
	if err != nil {
		return nil, err
	}
	return i, nil
}

// find returns the index of a[1] in the list a[0], or -1.
func find(a []any) (int, error) {
	for _, v := range a {
		if err := checkSize(v); err != nil {
			return -1, err
		}
	}
	return slices.IndexFunc(a[0].([]any), func(e any) bool { return value.Equal(e, a[1]) }), nil
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
	if err := checkSize(a[0]); err != nil {
		return nil, err
	}
	return appendFlat(c, []any{}, a[0].([]any))
}

func appendFlat(c *Context, out, list []any) ([]any, error) {
	for _, e := range list {
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
		if descending = a[1] == "desc"; !descending && a[1] != "asc" {
			return nil, errors.New(`the order must be "asc" or "desc"`)
		}
	}
	list := a[0].([]any)
	if err := c.items(len(list)); err != nil {
		return nil, err
	}
	out := slices.Clone(list)
	if err := SortBy(out, list, descending); err != nil {
		return nil, err
	}
	return out, nil
}

// SortBy sorts list by keys, which has the same length: all strings or all numbers. Elements with
// equal keys keep their order. The keys are not changed.
func SortBy(list, keys []any, descending bool) error {
	for _, k := range keys {
		_, isText := k.(string)
		if !isText && !value.IsNumber(k) {
			return fmt.Errorf("only strings and numbers can be sorted, got %s", kindOf(k))
		}
		if _, first := keys[0].(string); first != isText {
			return fmt.Errorf("a %s cannot be sorted among %ss", value.Kind(k), value.Kind(keys[0]))
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
		return nil, fmt.Errorf("the indexes %d and %d are out of range for a list of length %d",
			start, end, len(list))
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
	out := []any{}
	for at := start; direction != 0 && value.Compare(limit, at) == direction; {
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
	for chunk := range slices.Chunk(list, n) {
		out = append(out, chunk)
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

// everyBool returns a function that reports want if every element is want, and otherwise the
// opposite.
func everyBool(want bool) impl {
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
