package schema

import (
	"fmt"
	"slices"
	"strings"

	"hatchel/hcl/value"
)

func (c checkCompiler) checkSize(t *Type, n int, noun string) []Violation {
	if t.MinItems != nil && n < *t.MinItems {
		return singleViolation(fmt.Sprintf("must have at least %s, got %d", countNoun(*t.MinItems, noun), n))
	}
	if t.MaxItems != nil && n > *t.MaxItems {
		return singleViolation(fmt.Sprintf("must have at most %s, got %d", countNoun(*t.MaxItems, noun), n))
	}
	return nil
}

func (c checkCompiler) listCheck(t *Type) check {
	elem := c.compile(t.Elem)
	anything := t.Elem.Kind == Any && t.Elem.library == nil
	var self check
	self = func(v any, owned bool) (any, bool, []Violation) {
		list, ok := v.([]any)
		if !ok {
			return c.retryDecoded("must be a list", v, self)
		}
		violations := c.checkSize(t, len(list), "item")
		if t.Kind == Set {
			violations = append(violations, findDuplicate(list)...)
		}
		if anything {
			return v, false, violations
		}
		changed := false
		for i, e := range list {
			r, other, vs := elem(e, owned)
			if vs != nil {
				violations = append(violations, prefix(indexKey(i), vs)...)
				if len(violations) > maxViolations {
					break
				}
			}
			if !other {
				continue
			}
			if !owned && !changed {
				list = slices.Clone(list)
			}
			changed = true
			list[i] = r
		}
		if changed {
			return list, !owned, violations
		}
		return v, false, violations
	}
	return self
}

// findDuplicate finds the first item of a set that equals an earlier one.
func findDuplicate(list []any) []Violation {
	if len(list) <= 8 {
		for i, a := range list {
			for j, b := range list[:i] {
				if value.Equal(a, b) {
					return singleViolation(duplicateMessage(j, i))
				}
			}
		}
		return nil
	}
	seen := make(map[string]int, len(list))
	var key []byte
	for i, e := range list {
		key = value.AppendKey(key[:0], e)
		if first, twice := seen[string(key)]; twice {
			return singleViolation(duplicateMessage(first, i))
		}
		seen[string(key)] = i
	}
	return nil
}

func (c checkCompiler) mapCheck(t *Type) check {
	elem := c.compile(t.Elem)
	var self check
	self = func(v any, owned bool) (any, bool, []Violation) {
		m, ok := v.(map[string]any)
		if !ok {
			return c.retryDecoded("must be an object", v, self)
		}
		var violations []Violation
		d := copyOnWrite{members: m, owned: owned}
		for k, e := range m {
			out, changed, vs := elem(e, owned)
			if vs != nil {
				violations = append(violations, prefix(memberKey(k), vs)...)
			}
			if changed {
				d.edit()[k] = out
			}
		}
		slices.SortStableFunc(violations, func(a, b Violation) int { return strings.Compare(a.Path, b.Path) })
		violations = append(c.checkSize(t, len(m), "member"), violations...)
		if !d.changed {
			return v, false, violations
		}
		return d.result(violations)
	}
	return self
}
