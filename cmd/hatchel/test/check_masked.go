package test

import (
	"fmt"
	"slices"
	"strings"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/value"
	"hatchel/internal/cut"
)

// checkMasked reports the named members of the answer that hold anything but what masks gave in place of a value.
func (c *checker) checkMasked(at diag.Range, want any) {
	parts := c.structured()
	if parts == nil {
		c.failWithoutResult(at)
		return
	}
	members, _ := want.([]any)
	for _, m := range members {
		name, _ := m.(string)
		search := &maskedSearch{given: c.out.masked, name: name}
		search.SetMembers([]string{name})
		for _, part := range parts {
			search.visit(part, []string{"result"}, "result")
		}
		if problem := search.problem(); problem != "" {
			c.fail(at, "Not masked", "%s", problem)
		}
	}
}

// structured returns the structured result, or else what the texts of the answer hold as JSON.
func (c *checker) structured() (parts []any) {
	if c.out.hasValue && c.Kind == "tool" {
		return []any{c.out.result}
	}
	for _, content := range c.out.content {
		block, _ := content.(map[string]any)
		text, _ := block["text"].(string)
		if v, err := value.Decode([]byte(text)); err == nil {
			parts = append(parts, v)
		}
	}
	return parts
}

// maskedSearch finds the members of an answer that a name matches.
type maskedSearch struct {
	eval.Mask
	name    string
	given   []any    // what masks gave in the call
	masked  bool     // one member holds what a mask gave
	nulls   []string // the members that are null, of a call in which no mask gave null
	others  []string // the members that hold anything else, with what they hold
	without []string // the names of other members
}

const maxNotMasked = 10 // members in a message

// visit looks at a value, which is at a path of names; text is the path with indexes.
func (s *maskedSearch) visit(v any, path []string, text string) {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			s.visit(e, path, fmt.Sprintf("%s[%d]", text, i))
		}
	case map[string]any:
		for _, name := range value.Keys(v) {
			below, text := append(slices.Clip(path), name), text+"."+name
			if s.Matches(below) {
				s.look(v[name], text)
				continue
			}
			if !slices.Contains(s.without, name) {
				s.without = append(s.without, name)
			}
			s.visit(v[name], below, text)
		}
	}
}

// look judges what a member holds that the name matches.
func (s *maskedSearch) look(v any, text string) {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			s.look(e, fmt.Sprintf("%s[%d]", text, i))
		}
		return
	case nil:
		if slices.Contains(s.given, nil) {
			s.masked = true
		} else {
			s.nulls = append(s.nulls, text)
		}
		return
	case string:
		if slices.ContainsFunc(s.given, func(given any) bool { return holdsGiven(v, given) }) {
			s.masked = true
			return
		}
	}
	encoded, _ := value.AppendJSON(nil, v)
	s.others = append(s.others, text+" holds "+cut.Runes(string(encoded), maxExcerpt))
}

// holdsGiven reports whether a text is made of what a mask gave.
func holdsGiven(text string, given any) bool {
	switch given := given.(type) {
	case string:
		return given != "" && strings.Contains(text, given)
	case []any:
		return slices.ContainsFunc(given, func(e any) bool { return holdsGiven(text, e) })
	}
	return false
}

// problem says why the name does not hold; empty if it does.
func (s *maskedSearch) problem() string {
	switch {
	case s.others != nil:
		if more := len(s.others) - maxNotMasked; more > 0 {
			s.others = append(s.others[:maxNotMasked], fmt.Sprintf("… %d more", more))
		}
		return "No mask gave what is here:\n" + strings.Join(s.others, "\n")
	case s.masked:
		return ""
	case s.nulls != nil:
		return fmt.Sprintf("No mask gave the null of %s, so the test does not show that a value is masked. Let the "+
			"mock answer with a value.", s.nulls[0])
	}
	return fmt.Sprintf("No member of the result matches %q, or the lists are empty.%s", s.name,
		diag.SuggestOr(s.name, s.without, ""))
}
