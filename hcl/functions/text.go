package functions

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"hatchel/hcl/value"
)

// A character is a Unicode code point everywhere, as in maxLength of JSON Schema.

func onText(f func(string) string) impl {
	return func(c *Context, a []any) (any, error) {
		s := a[0].(string)
		if len(s)*3 > c.Memory { // case mapping can make a text longer
			return nil, c.Spend(-1)
		}
		if err := c.scan(len(s)); err != nil {
			return nil, err
		}
		return c.text(f(s))
	}
}

// onTexts adapts a function of strings whose result allocates nothing.
func onTexts[T string | bool](f func(s, t string) T) impl {
	return func(c *Context, a []any) (any, error) {
		if err := c.scan(len(a[0].(string))); err != nil {
			return nil, err
		}
		return f(a[0].(string), a[1].(string)), nil
	}
}

func chomp(s string) string { return strings.TrimRight(s, "\r\n") }

func title(s string) string {
	inWord := false
	return strings.Map(func(r rune) rune {
		first := !inWord
		inWord = unicode.IsLetter(r) || unicode.IsDigit(r) || r == '\'' || r == '_'
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
	out := make([]any, 0, n)
	for part := range strings.SplitSeq(s, separator) {
		if err := c.Step(1 + len(part)/bytesOfElement); err != nil {
			return nil, err
		}
		out = append(out, part)
	}
	return out, nil
}

func join(c *Context, a []any) (any, error) {
	separator := a[0].(string)
	var b strings.Builder
	for i, e := range a[1].([]any) {
		if err := c.Step(value.Elements(e)); err != nil {
			return nil, err
		}
		s, err := scalarText(e)
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

// scalarText returns a string, a number or a bool as text. The error continues a sentence about v.
func scalarText(v any) (string, error) {
	switch v.(type) {
	case string, bool:
		return value.Text(v)
	}
	if value.IsNumber(v) {
		return value.Text(v)
	}
	return "", fmt.Errorf("must be a string, a number or a bool, got %s", kindOf(v))
}

func replace(c *Context, a []any) (any, error) {
	s, old, replacement := a[0].(string), a[1].(string), a[2].(string)
	n, growth := strings.Count(s, old), len(replacement)-len(old)
	if growth > 0 && n > c.Memory/growth {
		return nil, c.Spend(-1)
	}
	if err := c.Spend(len(s) + n*growth); err != nil {
		return nil, err
	}
	if err := c.scan(len(s) + max(n*growth, 0)); err != nil {
		return nil, err
	}
	return strings.ReplaceAll(s, old, replacement), nil
}

func substr(c *Context, a []any) (any, error) {
	s, offset, length := a[0].(string), a[1].(int), a[2].(int)
	if err := c.scan(len(s)); err != nil {
		return nil, err
	}
	if length < -1 {
		return nil, errors.New("the length must be -1 or more")
	}
	if offset < 0 {
		offset = max(0, offset+utf8.RuneCountInString(s))
	}
	s = skipCharacters(s, offset)
	if length >= 0 {
		s = s[:len(s)-len(skipCharacters(s, length))]
	}
	return s, nil
}

// skipCharacters returns s without its first n characters.
func skipCharacters(s string, n int) string {
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
	return replace(c, []any{s, "\n", "\n" + strings.Repeat(" ", n)})
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
	if err := c.scan(len(s) * n); err != nil {
		return nil, err
	}
	return strings.Repeat(s, n), nil
}
