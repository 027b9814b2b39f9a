package schema

import (
	"math"
	"slices"
	"unicode/utf8"

	"hatchel/hcl/value"
)

// quickCheck accepts values that a schema certainly accepts, in less time than the library takes. It knows keywords
// that mean the same in every draft that is read. What it does not accept is for the library, which knows all keywords
// and says what is wrong. A nil quickCheck accepts nothing.
type quickCheck struct {
	any      bool     // it accepts everything
	kind     string   // of type; empty for any
	texts    []string // of enum; nil for any value
	number   bounds   // of integers
	length   bounds   // of texts, in characters
	elements bounds   // of lists
	count    bounds   // of objects, in members
	isExact  bool     // number has bounds, which hold for integers alone
	items    *quickCheck
	members  map[string]*quickCheck
	rest     *quickCheck // of members that members has not
	required []string
}

// bounds are those of an integer.
type bounds struct{ min, max int }

func (b bounds) has(n int) bool { return b.min <= n && n <= b.max }

// acceptAll is the check of the schema true.
var acceptAll = &quickCheck{any: true}

// newQuickCheck returns the check of a schema that is valid; nil if it has a keyword that is for the library.
func newQuickCheck(raw any) *quickCheck {
	if raw == true {
		return acceptAll
	}
	m, ok := raw.(map[string]any)
	if !ok {
		return nil
	}
	all := bounds{math.MinInt, math.MaxInt}
	c := &quickCheck{number: all, length: all, elements: all, count: all, items: acceptAll, rest: acceptAll}
	for name, v := range m {
		if !c.read(name, v) {
			return nil
		}
	}
	return c
}

// read reads a keyword. It reports false for one that is for the library.
func (c *quickCheck) read(name string, v any) (ok bool) {
	switch name {
	case "$schema", "title", "description", "default", "examples":
		return true
	case "type":
		c.kind, ok = v.(string)
	case "enum":
		c.texts, ok = textsOf(v)
	case "required":
		c.required, ok = textsOf(v)
	case "properties":
		var members map[string]any
		members, ok = v.(map[string]any)
		c.members = make(map[string]*quickCheck, len(members))
		for member, schema := range members {
			c.members[member] = newQuickCheck(schema)
		}
	case "items":
		c.items = newQuickCheck(v)
		return true
	case "additionalProperties":
		c.rest = newQuickCheck(v)
		return true
	case "minimum":
		c.number.min, ok = value.Int(v)
		c.isExact = true
	case "maximum":
		c.number.max, ok = value.Int(v)
		c.isExact = true
	case "minLength":
		c.length.min, ok = value.Int(v)
	case "maxLength":
		c.length.max, ok = value.Int(v)
	case "minItems":
		c.elements.min, ok = value.Int(v)
	case "maxItems":
		c.elements.max, ok = value.Int(v)
	case "minProperties":
		c.count.min, ok = value.Int(v)
	case "maxProperties":
		c.count.max, ok = value.Int(v)
	}
	return ok
}

// textsOf returns the elements of a list of texts.
func textsOf(v any) (texts []string, ok bool) {
	list, ok := v.([]any)
	texts = make([]string, len(list))
	for i, one := range list {
		if texts[i], ok = one.(string); !ok {
			return nil, false
		}
	}
	return texts, ok
}

// accepts reports whether the schema certainly accepts a value. Its time is linear in the size of the value.
func (c *quickCheck) accepts(v any) bool {
	if c == nil || c.any {
		return c != nil
	}
	switch v := v.(type) {
	case string:
		return c.admits("string") && (c.texts == nil || slices.Contains(c.texts, v)) &&
			c.length.has(utf8.RuneCountInString(v))
	case bool:
		return c.admits("boolean") && c.texts == nil
	case nil:
		return c.admits("null") && c.texts == nil
	case []any:
		return c.admits("array") && c.texts == nil && c.elements.has(len(v)) &&
			!slices.ContainsFunc(v, func(one any) bool { return !c.items.accepts(one) })
	case map[string]any:
		return c.admits("object") && c.texts == nil && c.count.has(len(v)) && c.acceptsMembers(v)
	}
	if n, ok := value.Int(v); ok {
		return (c.admits("integer") || c.kind == "number") && c.texts == nil && c.number.has(n)
	}
	return value.IsNumber(v) && value.IsFinite(v) && c.admits("number") && c.texts == nil && !c.isExact
}

// admits reports whether values of a kind have the type.
func (c *quickCheck) admits(kind string) bool { return c.kind == "" || c.kind == kind }

func (c *quickCheck) acceptsMembers(m map[string]any) bool {
	for _, name := range c.required {
		if _, has := m[name]; !has {
			return false
		}
	}
	for name, v := range m {
		member, known := c.members[name]
		if !known {
			member = c.rest
		}
		if !member.accepts(v) {
			return false
		}
	}
	return true
}
