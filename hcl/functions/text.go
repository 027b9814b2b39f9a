package functions

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"hatchel/hcl/value"
)

// Characters are Unicode code points everywhere, as they are in JSON Schema's maxLength.

func textFunctions() []Function {
	text := param("text", String)
	return []Function{
		New("upper", "Converts letters to upper case.", params(text), fixed(String), onText(strings.ToUpper)),
		New("lower", "Converts letters to lower case.", params(text), fixed(String), onText(strings.ToLower)),
		New("title", "Converts the first letter of each word to upper case.", params(text), fixed(String), onText(title)),
		New("trimspace", "Removes white space from both ends.", params(text), fixed(String), onText(strings.TrimSpace)),
		New("chomp", "Removes newlines from the end.", params(text), fixed(String), onText(func(s string) string { return strings.TrimRight(s, "\r\n") })),
		New("strrev", "Reverses the characters of a text.", params(text), fixed(String), onText(reverseText)),
		New("trim", "Removes every character of the second text from both ends of the first.", params(text, param("characters", String)), fixed(String), onTexts(strings.Trim)),
		New("trimprefix", "Removes the second text from the start of the first, if it is there.", params(text, param("prefix", String)), fixed(String), onTexts(strings.TrimPrefix)),
		New("trimsuffix", "Removes the second text from the end of the first, if it is there.", params(text, param("suffix", String)), fixed(String), onTexts(strings.TrimSuffix)),
		New("startswith", "Tells whether the first text starts with the second.", params(text, param("prefix", String)), fixed(Bool), asking(strings.HasPrefix)),
		New("endswith", "Tells whether the first text ends with the second.", params(text, param("suffix", String)), fixed(Bool), asking(strings.HasSuffix)),
		New("strcontains", "Tells whether the second text stands somewhere in the first.", params(text, param("part", String)), fixed(Bool), asking(strings.Contains)),
		New("split", "Cuts a text at every separator; the separator comes first.", params(param("separator", String), text), listOf(String), split),
		New("join", "Joins the elements of a list with a separator; the separator comes first.", params(param("separator", String), param("list", List)), fixed(String), join),
		New("replace", "Replaces every occurrence of a text; it never reads the text as a pattern, regexreplace does.", params(text, param("part", String), param("replacement", String)), fixed(String), replace),
		New("substr", "Takes a number of characters from an offset; a negative offset counts from the end, the length -1 means all the rest.", params(text, param("offset", Integer), param("length", Integer)), fixed(String), substr),
		New("indent", "Indents every line but the first by a number of spaces.", params(param("spaces", Integer), text), fixed(String), indent),
		New("repeat", "Repeats a text a number of times.", params(text, param("count", Integer)), fixed(String), repeat),
	}
}

func onText(f func(string) string) body {
	return func(c *Context, a []any) (any, error) {
		s := a[0].(string)
		if len(s)*3 > c.Memory { // case mapping can make a text longer
			return nil, c.Spend(-1)
		}
		return c.text(f(s))
	}
}

func onTexts(f func(s, t string) string) body {
	return func(c *Context, a []any) (any, error) { return f(a[0].(string), a[1].(string)), nil }
}

func asking(f func(s, t string) bool) body {
	return func(c *Context, a []any) (any, error) { return f(a[0].(string), a[1].(string)), nil }
}

func title(s string) string {
	inside := false
	return strings.Map(func(r rune) rune {
		first := !inside
		inside = unicode.IsLetter(r) || unicode.IsDigit(r) || r == '\'' || r == '_'
		if first {
			return unicode.ToTitle(r)
		}
		return r
	}, s)
}

func reverseText(s string) string {
	b := make([]byte, 0, len(s))
	for len(s) > 0 {
		r, n := utf8.DecodeLastRuneInString(s)
		b, s = utf8.AppendRune(b, r), s[:len(s)-n]
	}
	return string(b)
}

func split(c *Context, a []any) (any, error) {
	separator, s := a[0].(string), a[1].(string)
	n := utf8.RuneCountInString(s)
	if separator != "" {
		n = strings.Count(s, separator) + 1
	}
	if err := c.items(n * 2); err != nil {
		return nil, err
	}
	if separator != "" && s == "" {
		return []any{""}, nil
	}
	out := make([]any, 0, n)
	for part := range strings.SplitSeq(s, separator) {
		out = append(out, part)
	}
	return out, nil
}

func join(c *Context, a []any) (any, error) {
	separator := a[0].(string)
	var b strings.Builder
	for i, e := range a[1].([]any) {
		s, err := elementText(e)
		if err != nil {
			return nil, fmt.Errorf("element %d %w", i, err)
		}
		if i > 0 {
			b.WriteString(separator)
		}
		if err := c.Spend(len(separator) + len(s)); err != nil {
			return nil, err
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

func elementText(e any) (string, error) {
	switch e := e.(type) {
	case string:
		return e, nil
	case bool:
		return value.Text(e)
	}
	if value.IsNumber(e) {
		return value.Text(e)
	}
	return "", fmt.Errorf("must be a string, a number or a bool, got %s", kindOf(e))
}

func replace(c *Context, a []any) (any, error) {
	s, old, fresh := a[0].(string), a[1].(string), a[2].(string)
	n := strings.Count(s, old)
	if grow := len(fresh) - len(old); grow > 0 && n > c.Memory/grow {
		return nil, c.Spend(-1)
	}
	if err := c.Spend(len(s) + n*(len(fresh)-len(old))); err != nil {
		return nil, err
	}
	return strings.ReplaceAll(s, old, fresh), nil
}

func substr(c *Context, a []any) (any, error) {
	s, offset, length := a[0].(string), a[1].(int), a[2].(int)
	if length < -1 {
		return nil, errors.New("the length must be -1 or more")
	}
	if offset < 0 {
		offset = max(0, offset+utf8.RuneCountInString(s))
	}
	s = afterCharacters(s, offset)
	if length >= 0 {
		s = s[:len(s)-len(afterCharacters(s, length))]
	}
	return s, nil
}

// afterCharacters returns what follows the first n characters.
func afterCharacters(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[i:]
		}
		n--
	}
	return ""
}

func indent(c *Context, a []any) (any, error) {
	n, s := a[0].(int), a[1].(string)
	if n < 0 {
		return nil, errors.New("the number of spaces must not be negative")
	}
	if n > c.Memory {
		return nil, c.Spend(-1)
	}
	pad := "\n" + strings.Repeat(" ", n)
	return replace(c, []any{s, "\n", pad})
}

func repeat(c *Context, a []any) (any, error) {
	s, n := a[0].(string), a[1].(int)
	if n < 0 {
		return nil, errors.New("the count must not be negative")
	}
	if len(s) > 0 && n > c.Memory/len(s) {
		return nil, c.Spend(-1)
	}
	if err := c.Spend(len(s) * n); err != nil {
		return nil, err
	}
	return strings.Repeat(s, n), nil
}
