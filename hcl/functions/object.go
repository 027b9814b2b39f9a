package functions

import (
	"errors"
	"fmt"
	"maps"

	"hatchel/hcl/value"
)

func objectFunctions() []Function {
	object := param("object", Object)
	return []Function{
		New("keys", "Lists the keys of an object, sorted.", params(object), listOf(String), keys),
		New("values", "Lists the values of an object in the order of its sorted keys.", params(object), listOf(Any), values),
		New("lookup", "Gives the value of a key, or the default where there is no such key; without a default that is an error.", params(object, param("key", String), param("default", Any).optional()), fixed(Any), lookup),
		New("merge", "Puts objects together; later ones win, null is skipped.", params(param("object", Any).variadic()), fixed(Object), merge),
		New("zipmap", "Makes an object of a list of keys and a list of values.", params(param("keys", List), param("values", List)), fixed(Object), zipmap),
		New("transpose", "Turns an object of lists of strings inside out: each string becomes a key that lists the keys it stood under.", params(object), fixed(Object), transpose),
		New("pick", "Keeps only the named keys of an object.", params(object, param("key", String).variadic()), fixed(Object), pick),
		New("omit", "Leaves the named keys of an object out.", params(object, param("key", String).variadic()), fixed(Object), omit),
		New("compact", "Drops nulls from lists and objects at every depth.", params(param("value", Any)), follow(SameAsFirst), compact),
		New("coalesce", "Gives the first argument that is neither null nor an empty string.", params(param("value", Any).variadic()), follow(Unify), coalesce),
	}
}

func keys(c *Context, a []any) (any, error) {
	m := a[0].(map[string]any)
	if err := c.items(2 * len(m)); err != nil {
		return nil, err
	}
	out := make([]any, 0, len(m))
	for _, k := range value.Keys(m) {
		out = append(out, k)
	}
	return out, nil
}

func values(c *Context, a []any) (any, error) {
	m := a[0].(map[string]any)
	if err := c.items(2 * len(m)); err != nil {
		return nil, err
	}
	out := make([]any, 0, len(m))
	for _, k := range value.Keys(m) {
		out = append(out, m[k])
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
	return nil, fmt.Errorf("there is no key %q", a[1])
}

func (c *Context) entries(m map[string]any) error {
	if err := c.Spend(entrySize * len(m)); err != nil {
		return err
	}
	return nil
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
		if err := c.entries(m); err != nil {
			return nil, err
		}
		maps.Copy(out, m)
	}
	return out, nil
}

func zipmap(c *Context, a []any) (any, error) {
	names, vals := a[0].([]any), a[1].([]any)
	if len(names) != len(vals) {
		return nil, fmt.Errorf("there are %d keys and %d values", len(names), len(vals))
	}
	out := map[string]any{}
	for i, k := range names {
		name, ok := k.(string)
		if !ok {
			return nil, fmt.Errorf("key %d must be a string, got %s", i, kindOf(k))
		}
		if err := c.Spend(entrySize); err != nil {
			return nil, err
		}
		out[name] = vals[i]
	}
	return out, nil
}

func transpose(c *Context, a []any) (any, error) {
	m := a[0].(map[string]any)
	out := map[string]any{}
	for _, k := range value.Keys(m) {
		list, ok := m[k].([]any)
		if !ok {
			return nil, fmt.Errorf("the value of %q must be a list, got %s", k, kindOf(m[k]))
		}
		for _, e := range list {
			s, ok := e.(string)
			if !ok {
				return nil, fmt.Errorf("the list of %q must hold strings, got %s", k, kindOf(e))
			}
			if err := c.Spend(entrySize); err != nil {
				return nil, err
			}
			under, _ := out[s].([]any)
			out[s] = append(under, k)
		}
	}
	return out, nil
}

func pick(c *Context, a []any) (any, error) {
	m := a[0].(map[string]any)
	out := make(map[string]any, len(a)-1)
	if err := c.Spend(entrySize * len(a)); err != nil {
		return nil, err
	}
	for _, k := range a[1:] {
		if v, ok := m[k.(string)]; ok {
			out[k.(string)] = v
		}
	}
	return out, nil
}

func omit(c *Context, a []any) (any, error) {
	m := a[0].(map[string]any)
	if err := c.entries(m); err != nil {
		return nil, err
	}
	out := maps.Clone(m)
	for _, k := range a[1:] {
		delete(out, k.(string))
	}
	return out, nil
}

func compact(c *Context, a []any) (any, error) {
	if err := c.scan(a[0]); err != nil {
		return nil, err
	}
	return compacted(c, a[0])
}

func compacted(c *Context, v any) (any, error) {
	v, err := value.Resolve(v)
	if err != nil {
		return nil, errors.New("a value cannot be read")
	}
	switch v := v.(type) {
	case []any:
		if err := c.items(len(v)); err != nil {
			return nil, err
		}
		out := make([]any, 0, len(v))
		for _, e := range v {
			if e, err = compacted(c, e); err != nil {
				return nil, err
			}
			if e != nil {
				out = append(out, e)
			}
		}
		return out, nil
	case map[string]any:
		if err := c.entries(v); err != nil {
			return nil, err
		}
		out := make(map[string]any, len(v))
		for k, e := range v {
			if e, err = compacted(c, e); err != nil {
				return nil, err
			}
			if e != nil {
				out[k] = e
			}
		}
		return out, nil
	}
	return v, nil
}

func coalesce(_ *Context, a []any) (any, error) {
	for _, v := range a {
		if v != nil && v != "" {
			return v, nil
		}
	}
	return nil, errors.New("every argument is null or an empty string")
}
