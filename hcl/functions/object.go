package functions

import (
	"errors"
	"fmt"

	"hatchel/hcl/value"
)

func keys(c *Context, a []any) (any, error) {
	return listMembers(c, a[0], func(k string, _ any) any { return k })
}

func values(c *Context, a []any) (any, error) {
	return listMembers(c, a[0], func(_ string, v any) any { return v })
}

func listMembers(c *Context, object any, element func(k string, v any) any) (any, error) {
	m := object.(map[string]any)
	if err := c.items(2 * len(m)); err != nil {
		return nil, err
	}
	return ListMembers(c, m, element)
}

// ListMembers returns what element makes of each member of an object, in the order of their names. The caller has
// counted the memory of the result.
func ListMembers(c *Context, m map[string]any, element func(k string, v any) any) (any, error) {
	names, err := value.KeysSteps(m, c.Step)
	if err != nil {
		return nil, err
	}
	out := make([]any, 0, len(m))
	for _, k := range names {
		if err := c.Step(1); err != nil {
			return nil, err
		}
		out = append(out, element(k, m[k]))
	}
	return out, nil
}

func lookup(_ *Context, a []any) (any, error) {
	if v, ok := a[0].(map[string]any)[a[1].(string)]; ok {
		return v, nil
	}
	if len(a) == 3 {
		return a[2], nil
	}
	return nil, fmt.Errorf("the object has no key %q", a[1])
}

func merge(c *Context, a []any) (any, error) {
	out := map[string]any{}
	for i, v := range a {
		if v == nil {
			continue
		}
		m, ok := v.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("argument %d must be an object, got %s", i+1, kindOf(v))
		}
		if err := c.entries(len(m)); err != nil {
			return nil, err
		}
		for k, e := range m {
			if err := c.Step(1); err != nil {
				return nil, err
			}
			out[k] = e
		}
	}
	return out, nil
}

func zipmap(c *Context, a []any) (any, error) {
	keys, values := a[0].([]any), a[1].([]any)
	if len(keys) != len(values) {
		return nil, fmt.Errorf("the lists must have the same length, got %d keys and %d values", len(keys), len(values))
	}
	if err := c.entries(len(keys)); err != nil {
		return nil, err
	}
	out := map[string]any{}
	for i, k := range keys {
		if err := c.Step(1); err != nil {
			return nil, err
		}
		name, ok := k.(string)
		if !ok {
			return nil, fmt.Errorf("key %d must be a string, got %s", i, kindOf(k))
		}
		out[name] = values[i]
	}
	return out, nil
}

func transpose(c *Context, a []any) (any, error) {
	m := a[0].(map[string]any)
	out := map[string]any{}
	names, err := value.KeysSteps(m, c.Step)
	if err != nil {
		return nil, err
	}
	for _, k := range names {
		if err := c.Step(1); err != nil {
			return nil, err
		}
		list, ok := m[k].([]any)
		if !ok {
			return nil, fmt.Errorf("the value of %q must be a list, got %s", k, kindOf(m[k]))
		}
		for _, e := range list {
			if err := c.Step(1); err != nil {
				return nil, err
			}
			s, ok := e.(string)
			if !ok {
				return nil, fmt.Errorf("the list of %q must contain strings, got %s", k, kindOf(e))
			}
			if err := c.entries(1); err != nil {
				return nil, err
			}
			keys, _ := out[s].([]any)
			out[s] = append(keys, k)
		}
	}
	return out, nil
}

func pick(c *Context, a []any) (any, error) {
	m := a[0].(map[string]any)
	if err := c.entries(len(a)); err != nil {
		return nil, err
	}
	out := make(map[string]any, len(a)-1)
	for _, k := range a[1:] {
		if err := c.Step(1); err != nil {
			return nil, err
		}
		if v, ok := m[k.(string)]; ok {
			out[k.(string)] = v
		}
	}
	return out, nil
}

func omit(c *Context, a []any) (any, error) {
	m := a[0].(map[string]any)
	if err := c.entries(len(m)); err != nil {
		return nil, err
	}
	out := make(map[string]any, len(m))
	for k, e := range m {
		if err := c.Step(1); err != nil {
			return nil, err
		}
		out[k] = e
	}
	for _, k := range a[1:] {
		if err := c.Step(1); err != nil {
			return nil, err
		}
		delete(out, k.(string))
	}
	return out, nil
}

func compact(c *Context, a []any) (any, error) {
	if err := c.checkSize(a[0]); err != nil {
		return nil, err
	}
	return withoutNulls(c, a[0])
}

func withoutNulls(c *Context, v any) (any, error) {
	v, err := value.Resolve(v)
	if err != nil {
		return nil, errors.New("a value cannot be read")
	}
	switch v := v.(type) {
	case []any:
		if err := c.items(len(v)); err != nil {
			return nil, err
		}
		out := make([]any, len(v))
		for i, e := range v {
			if err := c.Step(1); err != nil {
				return nil, err
			}
			if out[i], err = withoutNulls(c, e); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		if err := c.entries(len(v)); err != nil {
			return nil, err
		}
		out := make(map[string]any, len(v))
		for k, before := range v {
			if err := c.Step(1); err != nil {
				return nil, err
			}
			e, err := withoutNulls(c, before)
			if err != nil {
				return nil, err
			}
			if e != nil && !isEmptied(before, e) {
				out[k] = e
			}
		}
		return out, nil
	}
	return v, nil
}

// isEmptied reports whether an object lost all its members.
func isEmptied(before, after any) bool {
	m, isObject := after.(map[string]any)
	b, _ := value.Resolve(before)
	had, _ := b.(map[string]any)
	return isObject && len(m) == 0 && len(had) > 0
}

func coalesce(c *Context, a []any) (any, error) {
	for _, v := range a {
		if err := c.Step(1); err != nil {
			return nil, err
		}
		if v != nil && v != "" {
			return v, nil
		}
	}
	return nil, errors.New("every argument is null or an empty string")
}
