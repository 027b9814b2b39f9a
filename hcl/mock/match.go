package mock

import (
	"fmt"
	"slices"
	"strings"

	"hatchel/hcl/value"
	"hatchel/internal/cut"
)

// Matcher compares a question with a mock, part by part, up to the first difference.
type Matcher struct {
	Hide       func(text string) string // returns a text without secrets
	Depth      int                      // how many parts agree
	Difference string                   // the first one; empty for none
}

// Part compares one part. Its difference is written as want and got.
func (c *Matcher) Part(name string, agrees bool, want, got any) {
	switch {
	case c.Difference != "":
	case agrees:
		c.Depth++
	default:
		c.Difference = fmt.Sprintf("%s is %s, and the mock has %s", name, c.show(got), c.show(want))
	}
}

// EqualText reports whether a text is that of a mock, which may be written with its secrets hidden.
func (c *Matcher) EqualText(want, got string) bool { return want == got || want == c.Hide(got) }

// LikeText reports whether a text matches a pattern of a mock, in which * stands for any text.
func (c *Matcher) LikeText(pattern, got string) bool {
	return Like(pattern, got) || Like(pattern, c.Hide(got))
}

const maxShown = 200 // runes

// show returns a value in a message, without secrets.
func (c *Matcher) show(v any) string {
	if v == Absent {
		return "absent"
	}
	encoded, err := value.AppendJSON(nil, v)
	if err != nil {
		return "no JSON"
	}
	return cut.Runes(c.Hide(string(encoded)), maxShown)
}

// Absent is shown for what was not asked.
const Absent = absence("absent")

type absence string

// Subset compares a value with the part of it that a mock has: some of the members of an object, at every depth. Lists
// have the same length.
func (c *Matcher) Subset(name string, want, got any) {
	if c.Difference != "" {
		return
	}
	if bad, w, g := c.difference(name, want, got); bad != "" {
		c.Part(bad, false, w, g)
		return
	}
	c.Depth++
}

func (c *Matcher) difference(path string, want, got any) (at string, w, g any) {
	want, err := value.Resolve(want)
	if err != nil {
		return path, nil, got
	}
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			return path, want, got
		}
		for _, key := range value.Keys(want) {
			member, ok := object[key]
			if !ok {
				return path + "." + key, want[key], Absent
			}
			if at, w, g := c.difference(path+"."+key, want[key], member); at != "" {
				return at, w, g
			}
		}
		return "", nil, nil
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return path, want, got
		}
		for i := range want {
			if at, w, g := c.difference(fmt.Sprintf("%s[%d]", path, i), want[i], list[i]); at != "" {
				return at, w, g
			}
		}
		return "", nil, nil
	case string:
		if text, ok := got.(string); ok && c.EqualText(want, text) {
			return "", nil, nil
		}
		return path, want, got
	}
	if value.Equal(want, got) {
		return "", nil, nil
	}
	return path, want, got
}

// Fields compares named texts, such as a query, with some of them. A null in the mock means that there is none.
func (c *Matcher) Fields(name string, want map[string]any, got map[string][]string) {
	for _, key := range value.Keys(want) {
		texts, there := got[key]
		expected, err := TextsOf(want[key])
		agrees := err == nil && len(expected) == len(texts) && slices.EqualFunc(expected, texts, c.EqualText)
		var shown any = Absent
		if there {
			shown = FieldValue(texts)
		}
		c.Part(name+"."+key, agrees, want[key], shown)
	}
}

// TextsOf returns the texts that a value is sent as.
func TextsOf(v any) (texts []string, err error) {
	if v, err = value.Resolve(v); err != nil || v == nil {
		return nil, err
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, e := range list {
		text, err := value.Text(e)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// FieldValue returns the value of a field: a text, or a list of several.
func FieldValue(texts []string) any {
	if len(texts) == 1 {
		return texts[0]
	}
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}

// Like reports whether a text matches a pattern, in which * stands for any text.
func Like(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return strings.HasSuffix(text, parts[len(parts)-1])
}

// LikeList reports whether texts match patterns, in which ** stands for any number of texts, and * for any text within
// one. It takes time in proportion to the product of both lengths.
func LikeList(patterns, texts []string, match func(pattern, text string) bool) bool {
	// reached[j] is whether the patterns so far match texts[:j].
	reached := make([]bool, len(texts)+1)
	reached[0] = true
	for _, p := range patterns {
		next := make([]bool, len(texts)+1)
		for j := range reached {
			switch {
			case p == "**":
				next[j] = reached[j] || j > 0 && next[j-1]
			case j > 0:
				next[j] = reached[j-1] && match(p, texts[j-1])
			}
		}
		reached = next
	}
	return reached[len(texts)]
}
