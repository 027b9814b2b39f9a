package mcp

import (
	"bytes"
	"unicode/utf8"

	"hatchel/hcl/jsonscan"
	"hatchel/internal/printable"
)

// cleaner removes the characters that people do not see from texts of a server, and counts them. With keep it removes
// none.
type cleaner struct {
	keep    bool
	removed int // characters
}

// text returns a text without hidden characters.
func (c *cleaner) text(text string) string {
	if c.keep {
		return text
	}
	found := printable.Hidden(text)
	if len(found) == 0 {
		return text
	}
	out := make([]byte, 0, len(text))
	at := 0
	for _, m := range found {
		out = append(out, text[at:m.Start]...)
		c.removed += utf8.RuneCountInString(text[m.Start:m.End])
		at = m.End
	}
	return string(append(out, text[at:]...))
}

// json returns a JSON value whose strings and names have no hidden characters. Its error is that two members of an
// object have the same name then.
func (c *cleaner) json(raw []byte) ([]byte, error) {
	if c.keep || raw == nil || isPlainJSON(raw) {
		return raw, nil
	}
	s := jsonscan.NewLossy(raw, maxDepth)
	out, err := c.appendValue(make([]byte, 0, len(raw)), &s)
	if err != nil {
		return nil, err
	}
	var check jsonscan.Scanner
	check.Reset(out, maxDepth)
	if _, err := check.Value(); err != nil {
		return nil, err
	}
	return out, nil
}

// isPlainJSON reports whether a text is printable ASCII without an escape that may stand for another character.
func isPlainJSON(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		switch b := raw[i]; {
		case b >= 0x7f || b < ' ' && b != '\n' && b != '\t' && b != '\r':
			return false
		case b == '\\' && i+1 < len(raw):
			if i++; bytes.IndexByte([]byte("ubf"), raw[i]) >= 0 {
				return false
			}
		}
	}
	return true
}

// appendValue appends the next value of a scanner.
func (c *cleaner) appendValue(dst []byte, s *jsonscan.Scanner) ([]byte, error) {
	switch s.Peek() {
	case '{':
		return c.appendObject(dst, s)
	case '[':
		return c.appendArray(dst, s)
	case '"':
		text, err := s.Text()
		return jsonscan.AppendString(dst, c.text(text)), err
	}
	raw, err := s.Value()
	return append(dst, raw...), err
}

func (c *cleaner) appendObject(dst []byte, s *jsonscan.Scanner) ([]byte, error) {
	mark, err := s.EnterObject()
	if err != nil {
		return nil, err
	}
	dst = append(dst, '{')
	for first := true; ; first = false {
		key, err := s.Key(mark)
		if err != nil {
			return nil, err
		}
		if key == nil {
			return append(dst, '}'), nil
		}
		if !first {
			dst = append(dst, ',')
		}
		dst = append(jsonscan.AppendString(dst, c.text(string(key))), ':')
		if dst, err = c.appendValue(dst, s); err != nil {
			return nil, err
		}
	}
}

func (c *cleaner) appendArray(dst []byte, s *jsonscan.Scanner) ([]byte, error) {
	if err := s.EnterArray(); err != nil {
		return nil, err
	}
	dst = append(dst, '[')
	for first := true; ; first = false {
		more, err := s.NextElement()
		if err != nil {
			return nil, err
		}
		if !more {
			return append(dst, ']'), nil
		}
		if !first {
			dst = append(dst, ',')
		}
		if dst, err = c.appendValue(dst, s); err != nil {
			return nil, err
		}
	}
}
