package exprlang

import (
	"errors"
	"fmt"

	"hatchel/hcl/eval"
	"hatchel/hcl/functions"
	"hatchel/hcl/value"
)

func predicateResult(v any) (bool, error) {
	b, ok := v.(bool)
	if !ok {
		return false, fmt.Errorf("a predicate must give true or false, got %s", value.Kind(v))
	}
	return b, nil
}

func (p *predicateCall) filter(f *eval.Frame) (any, error) {
	out := []any{}
	err := p.forEach(f, func(item, v any, _ int) (bool, error) {
		ok, err := predicateResult(v)
		if !ok || err != nil {
			return err == nil, err
		}
		out = append(out, item)
		return true, f.Functions.Spend(16)
	})
	return out, err
}

func (p *predicateCall) mapAll(f *eval.Frame) (any, error) {
	out := []any{}
	err := p.forEach(f, func(_, v any, _ int) (bool, error) {
		out = append(out, v)
		return true, f.Functions.Spend(16)
	})
	return out, err
}

// find looks for the first element for which the predicate gives want. Result makes the value of
// the call of it; its item is nil if nothing was found.
func (p *predicateCall) find(want bool, result func(found bool, item any, index int) any) eval.Func {
	return func(f *eval.Frame) (any, error) {
		found, at := false, 0
		var element any
		err := p.forEach(f, func(item, v any, i int) (bool, error) {
			ok, err := predicateResult(v)
			if err == nil && ok == want {
				found, element, at = true, item, i
			}
			return !found, err
		})
		return result(found, element, at), err
	}
}

func indexIfFound(found bool, _ any, index int) any {
	if !found {
		return nil
	}
	return index
}

// count counts the elements for which the predicate holds, and stops at enough.
func (p *predicateCall) count(enough int, result func(n int) any) eval.Func {
	return func(f *eval.Frame) (any, error) {
		n := 0
		err := p.forEach(f, func(_, v any, _ int) (bool, error) {
			ok, err := predicateResult(v)
			if ok {
				n++
			}
			return n != enough, err
		})
		return result(n), err
	}
}

func (p *predicateCall) sum(f *eval.Frame) (any, error) {
	var total any = 0
	err := p.forEach(f, func(_, v any, _ int) (_ bool, err error) {
		if !value.IsNumber(v) {
			return false, fmt.Errorf("sum adds numbers, got %s", value.Kind(v))
		}
		total, err = functions.Add(total, v)
		return true, err
	})
	return total, err
}

// groupKey is the text by which an element is grouped.
func groupKey(v any) (string, error) {
	v, err := eval.Resolve(v)
	if err != nil {
		return "", err
	}
	switch v.(type) {
	case []any, map[string]any, value.Bytes:
		return "", fmt.Errorf("what is grouped by must be a string, a number, a bool or null, got %s", value.Kind(v))
	}
	return value.Text(v)
}

// groupBy groups the elements by what the predicate gives. Add returns a group, which is nil at
// first, with one more element, for which it allocates cost bytes.
func (p *predicateCall) groupBy(cost int, add func(group, item any) any) eval.Func {
	return func(f *eval.Frame) (any, error) {
		out := map[string]any{}
		err := p.forEach(f, func(item, v any, _ int) (bool, error) {
			k, err := groupKey(v)
			if err != nil {
				return false, err
			}
			group, there := out[k]
			out[k] = add(group, item)
			if there {
				return true, f.Functions.Spend(cost)
			}
			return true, f.Functions.Spend(cost + 64 + len(k))
		})
		return out, err
	}
}

func addToList(group, item any) any {
	list, _ := group.([]any)
	return append(list, item)
}

func addToCount(group, _ any) any {
	n, _ := group.(int)
	return n + 1
}

func (p *predicateCall) sortBy(order eval.Func) eval.Func {
	if order == nil {
		order = eval.Constant("asc").Eval
	}
	return func(f *eval.Frame) (any, error) {
		o, err := order(f)
		if err != nil {
			return nil, err
		}
		if o != "asc" && o != "desc" {
			return nil, errors.New(`sortBy: the order must be "asc" or "desc"`)
		}
		items, keys := []any{}, []any{}
		err = p.forEach(f, func(item, v any, _ int) (bool, error) {
			items, keys = append(items, item), append(keys, v)
			return true, f.Functions.Spend(64)
		})
		if err != nil {
			return nil, err
		}
		if err := functions.SortBy(items, keys, o == "desc"); err != nil {
			return nil, fmt.Errorf("sortBy: %w", err)
		}
		return items, nil
	}
}

// reduce computes one value from all elements. Without an initial value it starts with the first
// element.
func (p *predicateCall) reduce(initial eval.Func) eval.Func {
	return func(f *eval.Frame) (any, error) {
		list, err := p.elements(f)
		if err != nil {
			return nil, err
		}
		var acc any
		first := 0
		switch {
		case initial != nil:
			acc, err = initial(f)
		case len(list) > 0:
			first, acc = 1, list[0]
		default:
			err = errors.New("reduce has nothing to start from: the list is empty and there is no initial value")
		}
		depth := len(f.Loops)
		f.Loops = append(f.Loops, eval.Loop{})
		for i := first; i < len(list) && err == nil; i++ {
			if err = f.SpendSteps(1); err == nil {
				f.Loops[depth] = eval.Loop{Item: list[i], Index: i, Acc: acc}
				acc, err = p.body(f)
			}
		}
		f.Loops = f.Loops[:depth]
		return acc, err
	}
}
