package exprlang

import (
	"errors"
	"fmt"

	"hatchel/hcl/eval"
	"hatchel/hcl/functions"
	"hatchel/hcl/value"
)

func (p *predicateCall) sum(f *frame) (any, error) {
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

func (p *predicateCall) groupBy(f *frame) (any, error) {
	out := map[string]any{}
	err := p.forEach(f, func(item, v any, _ int) (bool, error) {
		k, err := groupKey(v)
		if err != nil {
			return false, err
		}
		group, there := out[k].([]any)
		out[k] = append(group, item)
		cost := 16
		if !there {
			cost += 64 + len(k)
		}
		return true, f.call.Spend(cost)
	})
	return out, err
}

func (p *predicateCall) countBy(f *frame) (any, error) {
	out := map[string]any{}
	err := p.forEach(f, func(_, v any, _ int) (bool, error) {
		k, err := groupKey(v)
		if err != nil {
			return false, err
		}
		n, there := out[k].(int)
		out[k] = n + 1
		if !there {
			err = f.call.Spend(64 + len(k))
		}
		return true, err
	})
	return out, err
}

func (p *predicateCall) sortBy(order evalFunc) evalFunc {
	return func(f *frame) (any, error) {
		descending := false
		if order != nil {
			o, err := order(f)
			if err != nil {
				return nil, err
			}
			if o != "asc" && o != "desc" {
				return nil, errors.New(`sortBy: the order must be "asc" or "desc"`)
			}
			descending = o == "desc"
		}
		items, keys := []any{}, []any{}
		err := p.forEach(f, func(item, v any, _ int) (bool, error) {
			items, keys = append(items, item), append(keys, v)
			return true, f.call.Spend(64)
		})
		if err != nil {
			return nil, err
		}
		if err := functions.SortBy(items, keys, descending); err != nil {
			return nil, fmt.Errorf("sortBy: %w", err)
		}
		return items, nil
	}
}

// reduce computes one value from all elements. Without an initial value it starts with the first
// element.
func (p *predicateCall) reduce(initial evalFunc) evalFunc {
	return func(f *frame) (any, error) {
		var acc any
		started := initial != nil
		if started {
			var err error
			if acc, err = initial(f); err != nil {
				return nil, err
			}
		}
		list, err := p.elements(f)
		if err != nil {
			return nil, err
		}
		if !started && len(list) == 0 {
			return nil, errors.New(
				"reduce has nothing to start from: the list is empty and there is no initial value")
		}
		depth := len(f.loops)
		f.loops = append(f.loops, loop{})
		for i, item := range list {
			if !started {
				acc, started = item, true
				continue
			}
			if err := f.spendSteps(1); err != nil {
				return nil, err
			}
			f.loops[depth] = loop{item: item, index: i, acc: acc}
			if acc, err = p.body(f); err != nil {
				return nil, err
			}
		}
		f.loops = f.loops[:depth]
		return acc, nil
	}
}
