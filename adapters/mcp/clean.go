package mcp

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"hatchel/adapters/scrub"
	"hatchel/hcl/jsonscan"
	"hatchel/internal/cut"
	"hatchel/internal/printable"
)

// cleaner removes the characters that people do not see from texts of a server, and counts them. With keep it removes
// none. After that it removes the token of the request, which the runtime does not know.
type cleaner struct {
	keep    bool
	fetched *scrub.Scrubber // nil for no token
	removed int             // characters
}

// text returns a text without hidden characters and without the token.
func (c *cleaner) text(text string) string { return c.fetched.Text(c.visible(text)) }

// line returns a text without them and without space around it, of which it keeps the beginning.
func (c *cleaner) line(text string, limit int) string {
	return cut.Runes(strings.TrimSpace(c.text(text)), limit)
}

// visible returns a text without hidden characters.
func (c *cleaner) visible(text string) string {
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

// json returns a JSON value whose strings and names have no hidden characters, and that has no token. Its error is that
// two members of an object have the same name then.
func (c *cleaner) json(raw []byte) ([]byte, error) {
	if len(raw) == 0 {
		return raw, nil
	}
	out := raw
	if !c.keep && !isPlainJSON(raw) {
		s := jsonscan.NewLossy(raw, maxDepth)
		var err error
		if out, err = c.appendValue(make([]byte, 0, len(raw)), &s); err != nil {
			return nil, err
		}
	}
	if out = c.fetched.JSON(out); &out[0] == &raw[0] {
		return raw, nil
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
		return jsonscan.AppendString(dst, c.visible(text)), err
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
		dst = append(jsonscan.AppendString(dst, c.visible(string(key))), ':')
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
