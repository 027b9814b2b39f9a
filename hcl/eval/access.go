package eval

import (
	"fmt"
	"strconv"

	"hatchel/hcl/value"
)

// MemberOf reads a member of a value of a call. What is the phrase for the value in errors. A
// missing member is null if it is optional.
func MemberOf(f *Frame, v any, name, what string, optional bool) (any, error) {
	if file, ok := v.(value.File); ok {
		return file.Member(name)
	}
	v, err := Resolve(v)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case map[string]any:
		x, ok := v[name]
		if !ok && !optional && !f.Lenient {
			return nil, fmt.Errorf("%s has no member %q", what, name)
		}
		return x, nil
	case nil:
		if f.Lenient {
			return nil, nil
		}
		return nil, fmt.Errorf("%s is null and has no member %q", what, name)
	}
	return nil, fmt.Errorf("%s is a %s and has no member %q", what, value.Kind(v), name)
}

// ElementAt reads an element of a list by its index, or a member of a map by its key. What is the
// phrase for the value in errors.
func ElementAt(f *Frame, v, key any, what string) (any, error) {
	switch v := v.(type) {
	case []any:
		i, ok := value.Int(key)
		if s, isText := key.(string); isText {
			n, err := strconv.Atoi(s)
			i, ok = n, err == nil
		}
		if !ok {
			return nil, fmt.Errorf("an index into %s must be a whole number, got %s", what, value.Kind(key))
		}
		if i < 0 || i >= len(v) {
			if f.Lenient {
				return nil, nil
			}
			return nil, fmt.Errorf("%s has %d elements, and there is none at index %d", what, len(v), i)
		}
		return v[i], nil
	case map[string]any, nil:
		name, err := value.Text(key)
		if err != nil {
			return nil, err
		}
		return MemberOf(f, v, name, what, false)
	}
	return nil, fmt.Errorf("%s is a %s and has no elements", what, value.Kind(v))
}
