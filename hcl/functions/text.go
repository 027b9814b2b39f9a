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

// onParts adapts a function that maps each character of a text for itself.
func onParts(f func(string) string) impl {
	return func(c *Context, a []any) (any, error) { return c.mapParts(a[0].(string), f) }
}

// mapParts joins what a function makes of the parts of a text.
func (c *Context) mapParts(s string, f func(string) string) (any, error) {
	var b strings.Builder
	for part, err := range value.Parts(s, c.Step) {
		if err != nil {
			return nil, err
		}
		mapped := f(part)
		if err := c.Spend(len(mapped)); err != nil {
			return nil, err
		}
		b.WriteString(mapped)
	}
	return b.String(), nil
}

// Characters returns how many characters a text has.
func (c *Context) Characters(s string) (n int, err error) {
	for part, err := range value.Parts(s, c.Step) {
		if err != nil {
			return 0, err
		}
		n += utf8.RuneCountInString(part)
	}
	return n, nil
}

// Find returns the index of the first part in s, or -1.
func (c *Context) Find(s, part string) (int, error) {
	const window = 64 << 10
	size := max(window, len(part)) + len(part) // a window has more places than the part has bytes
	for from := 0; ; from += size - len(part) {
		end := min(from+size, len(s))
		i, read := strings.Index(s[from:end], part), end-from
		if i >= 0 {
			read = i + len(part)
		}
		if err := c.scan(read); err != nil {
			return 0, err
		}
		if i >= 0 {
			return from + i, nil
		}
		if end == len(s) {
			return -1, nil
		}
	}
}

// FindLast returns the index of the last part in s, or -1.
func (c *Context) FindLast(s, part string) (int, error) {
	const window = 64 << 10
	size := max(window, len(part)) + len(part)
	for end := len(s); ; end -= size - len(part) {
		from := max(end-size, 0)
		if err := c.scan(end - from); err != nil {
			return 0, err
		}
		if i := strings.LastIndex(s[from:end], part); i >= 0 {
			return from + i, nil
		}
		if from == 0 {
			return -1, nil
		}
	}
}

func containsText(c *Context, a []any) (any, error) {
	i, err := c.Find(a[0].(string), a[1].(string))
	return i >= 0, err
}

// trim removes the characters of a set from both ends.
func trim(c *Context, a []any) (any, error) {
	s, set := a[0].(string), map[rune]bool{}
	for part, err := range value.Parts(a[1].(string), c.Step) {
		if err != nil {
			return nil, err
		}
		for _, r := range part {
			set[r] = true
		}
	}
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		if !set[r] {
			break
		}
		if s = s[n:]; len(s)%bytesOfElement == 0 {
			if err := c.Step(1); err != nil {
				return nil, err
			}
		}
	}
	for s != "" {
		r, n := utf8.DecodeLastRuneInString(s)
		if !set[r] {
			break
		}
		if s = s[:len(s)-n]; len(s)%bytesOfElement == 0 {
			if err := c.Step(1); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
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

func title(c *Context, a []any) (any, error) {
	inWord := false
	first := func(r rune) rune {
		starts := !inWord
		inWord = unicode.IsLetter(r) || unicode.IsDigit(r) || r == '\'' || r == '_'
		if starts {
			return unicode.ToTitle(r)
		}
		return r
	}
	return c.mapParts(a[0].(string), func(part string) string { return strings.Map(first, part) })
}

func reverseText(c *Context, a []any) (any, error) {
	s := a[0].(string)
	if err := c.Spend(len(s)); err != nil {
		return nil, err
	}
	b := make([]byte, 0, len(s))
	for i := 0; len(s) > 0; i++ {
		if i%bytesOfElement == 0 {
			if err := c.Step(1); err != nil {
				return nil, err
			}
		}
		r, n := utf8.DecodeLastRuneInString(s)
		b, s = utf8.AppendRune(b, r), s[:len(s)-n]
	}
	return c.text(string(b))
}

func split(c *Context, a []any) (any, error) {
	separator, s := a[0].(string), a[1].(string)
	out := []any{}
	appendPart := func(part string) error {
		out = append(out, part)
		return c.items(2)
	}
	if separator == "" {
		for part, err := range value.Parts(s, c.Step) {
			if err != nil {
				return nil, err
			}
			for _, character := range strings.Split(part, "") {
				if err := appendPart(character); err != nil {
					return nil, err
				}
			}
		}
		return out, nil
	}
	for {
		if err := c.Step(1); err != nil {
			return nil, err
		}
		i, err := c.Find(s, separator)
		if err != nil {
			return nil, err
		}
		if i < 0 {
			return append(out, s), c.items(2)
		}
		if err := appendPart(s[:i]); err != nil {
			return nil, err
		}
		s = s[i+len(separator):]
	}
}

func join(c *Context, a []any) (any, error) {
	separator, list, size := a[0].(string), a[1].([]any), 0
	for i, e := range list {
		if err := c.Step(value.Elements(e)); err != nil {
			return nil, err
		}
		s, err := scalarText(e)
		if err != nil {
			return nil, fmt.Errorf("element %d %w", i, err)
		}
		if size += len(separator) + len(s); size-len(separator) > c.Memory {
			return nil, c.Spend(-1)
		}
	}
	var b strings.Builder
	b.Grow(size)
	for i, e := range list {
		var err error
		if i > 0 {
			err = c.write(&b, separator)
		}
		s, _ := scalarText(e)
		if err == nil {
			err = c.write(&b, s)
		}
		if err == nil {
			err = c.Step(value.Elements(e))
		}
		if err != nil {
			return nil, err
		}
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
	var b strings.Builder
	write := func(text string) error {
		if err := c.Step(1); err != nil {
			return err
		}
		return c.write(&b, text)
	}
	if old == "" { // which is before each character and at the end
		for s != "" {
			_, n := utf8.DecodeRuneInString(s)
			if err := write(replacement); err != nil {
				return nil, err
			}
			if err := write(s[:n]); err != nil {
				return nil, err
			}
			s = s[n:]
		}
		err := write(replacement)
		return b.String(), err
	}
	for {
		i, err := c.Find(s, old)
		if err != nil {
			return nil, err
		}
		if i < 0 {
			err := write(s)
			return b.String(), err
		}
		if err := write(s[:i]); err != nil {
			return nil, err
		}
		if err := write(replacement); err != nil {
			return nil, err
		}
		s = s[i+len(old):]
	}
}

func substr(c *Context, a []any) (any, error) {
	s, offset, length := a[0].(string), a[1].(int), a[2].(int)
	if length < -1 {
		return nil, errors.New("the length must be -1 or more")
	}
	if offset < 0 {
		n, err := c.Characters(s)
		if err != nil {
			return nil, err
		}
		offset = max(0, offset+n)
	}
	s, err := c.skipCharacters(s, offset)
	if err != nil || length < 0 {
		return s, err
	}
	rest, err := c.skipCharacters(s, length)
	return s[:len(s)-len(rest)], err
}

// skipCharacters returns s without its first n characters.
func (c *Context) skipCharacters(s string, n int) (string, error) {
	for part, err := range value.Parts(s, c.Step) {
		if err != nil {
			return "", err
		}
		if count := utf8.RuneCountInString(part); count <= n {
			n -= count
			s = s[len(part):]
			continue
		}
		for i := range part {
			if n == 0 {
				return s[i:], nil
			}
			n--
		}
	}
	return "", nil
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
	if len(s)*n <= writtenPart {
		if err := c.scan(len(s) * n); err != nil {
			return nil, err
		}
		return strings.Repeat(s, n), c.Spend(len(s) * n)
	}
	many := max(1, writtenPart/len(s)) // copies that are written at a time
	part := strings.Repeat(s, many)
	var b strings.Builder
	b.Grow(len(s) * n)
	for ; n > 0; n -= many {
		if err := c.write(&b, part[:len(s)*min(many, n)]); err != nil {
			return nil, err
		}
	}
	return b.String(), nil
}

// writtenPart is how many bytes of a text are written between two steps.
const writtenPart = 256 << 10

// write writes a text within the budgets.
func (c *Context) write(b *strings.Builder, s string) error {
	if err := c.Spend(len(s)); err != nil {
		return err
	}
	for s != "" {
		n := min(writtenPart, len(s))
		if err := c.scan(n); err != nil {
			return err
		}
		b.WriteString(s[:n])
		s = s[n:]
	}
	return nil
}
