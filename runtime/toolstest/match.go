package toolstest

import (
	"fmt"
	"slices"
	"strings"

	"hatchel/hcl/value"
)

// matcher compares a question with a mock, part by part, up to the first difference.
type matcher struct {
	hide  func(string) string
	depth int
	text  string // of the first difference; empty for none
}

func (c *matcher) mismatch() mismatch {
	if c.text == "" {
		return mismatch{}
	}
	return mismatch{c.depth, c.text}
}

// part compares one part. Its difference is written as want and got.
func (c *matcher) part(name string, agrees bool, want, got any) {
	switch {
	case c.text != "":
	case agrees:
		c.depth++
	default:
		c.text = fmt.Sprintf("%s is %s, and the mock has %s", name, c.show(got), c.show(want))
	}
}

// equalText reports whether a text is that of a mock, which may be written with its secrets hidden.
func (c *matcher) equalText(want, got string) bool { return want == got || want == c.hide(got) }

// likeText reports whether a text matches a pattern of a mock, in which * stands for any text.
func (c *matcher) likeText(pattern, got string) bool {
	return like(pattern, got) || like(pattern, c.hide(got))
}

const maxShown = 200 // runes

// show returns a value in a message, without secrets.
func (c *matcher) show(v any) string {
	if v == absent {
		return "absent"
	}
	encoded, err := value.AppendJSON(nil, v)
	if err != nil {
		return "no JSON"
	}
	text := []rune(c.hide(string(encoded)))
	if len(text) > maxShown {
		text = append(text[:maxShown-1], '…')
	}
	return string(text)
}

// absent is shown for what was not asked.
const absent = absence("absent")

type absence string

// subset compares a value with the part of it that a mock has: some of the members of an object, at every depth. Lists
// have the same length.
func (c *matcher) subset(name string, want, got any) {
	if c.text != "" {
		return
	}
	if bad, w, g := c.difference(name, want, got); bad != "" {
		c.part(bad, false, w, g)
		return
	}
	c.depth++
}

func (c *matcher) difference(path string, want, got any) (at string, w, g any) {
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
				return path + "." + key, want[key], absent
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
		if text, ok := got.(string); ok && c.equalText(want, text) {
			return "", nil, nil
		}
		return path, want, got
	}
	if value.Equal(want, got) {
		return "", nil, nil
	}
	return path, want, got
}

// fields compares named texts, such as a query, with some of them. A null in the mock means that there is none.
func (c *matcher) fields(name string, want map[string]any, got map[string][]string) {
	for _, key := range value.Keys(want) {
		texts, there := got[key]
		expected, err := textsOf(want[key])
		agrees := err == nil && len(expected) == len(texts) && slices.EqualFunc(expected, texts, c.equalText)
		var shown any = absent
		if there {
			shown = fieldValue(texts)
		}
		c.part(name+"."+key, agrees, want[key], shown)
	}
}

// textsOf returns the texts that a value is sent as.
func textsOf(v any) (texts []string, err error) {
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

// fieldValue returns the value of a field: a text, or a list of several.
func fieldValue(texts []string) any {
	if len(texts) == 1 {
		return texts[0]
	}
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}

// like reports whether a text matches a pattern, in which * stands for any text.
func like(pattern, text string) bool {
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

// likeList reports whether texts match patterns, in which ** stands for any number of texts, and * for any text within
// one. It takes time in proportion to the product of both lengths.
func likeList(patterns, texts []string, match func(pattern, text string) bool) bool {
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

// oneLine returns a text with each run of spaces and line breaks as one space.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
