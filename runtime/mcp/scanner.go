package mcp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"unicode/utf8"
)

// scanner reads JSON in one pass without decoding it. What it returns are slices of data. Besides the grammar it refuses what
// readers of JSON disagree about: a key twice in one object, invalid UTF-8, halves of surrogate pairs, and nesting beyond limit.
type scanner struct {
	data  []byte
	pos   int
	depth int
	limit int
	keys  [][]byte // the keys of every object now open, innermost last
}

// scanError says where and why data is not acceptable JSON.
type scanError struct {
	at   int
	what string
}

func (e *scanError) Error() string { return fmt.Sprintf("byte %d: %s", e.at, e.what) }

func (s *scanner) fail(at int, what string) error { return &scanError{at, what} }

// reset prepares the scanner for data, keeping what it has allocated.
func (s *scanner) reset(data []byte, limit int) {
	s.data, s.limit, s.pos, s.depth = data, limit, 0, 0
	if cap(s.keys) > 4096 { // one huge object must not stay in memory for good
		s.keys = nil
	}
	clear(s.keys)
	s.keys = s.keys[:0]
}

// space skips whitespace and returns the byte after it, or 0 at the end.
func (s *scanner) space() byte {
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case ' ', '\n', '\t', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// value reads one value of any kind and returns its text.
func (s *scanner) value() ([]byte, error) {
	c := s.space()
	start := s.pos
	var err error
	switch {
	case c == '"':
		_, err = s.str()
	case c == '{':
		err = s.object()
	case c == '[':
		err = s.array()
	case c == '-' || '0' <= c && c <= '9':
		err = s.number()
	case c == 't':
		err = s.literal("true")
	case c == 'f':
		err = s.literal("false")
	case c == 'n':
		err = s.literal("null")
	default:
		err = s.expected("a value")
	}
	return s.data[start:s.pos:s.pos], err
}

func (s *scanner) expected(what string) error {
	if s.pos >= len(s.data) {
		return s.fail(s.pos, "the text ends where "+what+" is expected")
	}
	return s.fail(s.pos, what+" is expected")
}

func (s *scanner) literal(word string) error {
	if !bytes.HasPrefix(s.data[s.pos:], []byte(word)) {
		return s.expected("a value")
	}
	s.pos += len(word)
	return nil
}

func (s *scanner) object() error {
	base, err := s.enter()
	for err == nil {
		var key []byte
		if key, err = s.key(base); key == nil {
			return err
		}
		_, err = s.value()
	}
	return err
}

func (s *scanner) array() error {
	if err := s.enterArray(); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := s.element(first)
		if err != nil || !more {
			return err
		}
		if _, err = s.value(); err != nil {
			return err
		}
	}
}

// enterArray reads the bracket that opens an array.
func (s *scanner) enterArray() error {
	s.pos++
	return s.deeper()
}

// element reads what comes before an element of an array, and reports whether there is one.
func (s *scanner) element(first bool) (bool, error) {
	switch c := s.space(); {
	case c == ']':
		s.pos++
		s.depth--
		return false, nil
	case first:
		return true, nil
	case c == ',':
		s.pos++
		return true, nil
	}
	return false, s.expected("a comma or a closing bracket")
}

// enter reads the brace that opens an object and returns what key wants to be given.
func (s *scanner) enter() (base int, err error) {
	s.pos++
	return len(s.keys), s.deeper()
}

func (s *scanner) deeper() error {
	if s.depth++; s.depth > s.limit {
		return s.fail(s.pos-1, fmt.Sprintf("more than %d levels of nesting", s.limit))
	}
	return nil
}

// key reads a key and its colon. It returns nil at the end of the object. A key with escapes comes back decoded, others alias data.
func (s *scanner) key(base int) ([]byte, error) {
	c := s.space()
	if c == '}' {
		s.pos++
		s.depth--
		return nil, s.leave(base)
	}
	if len(s.keys) > base {
		if c != ',' {
			return nil, s.expected("a comma or a closing brace")
		}
		s.pos++
		c = s.space()
	}
	if c != '"' {
		return nil, s.expected("a key")
	}
	at := s.pos
	escaped, err := s.str()
	if err != nil {
		return nil, err
	}
	key := s.data[at+1 : s.pos-1 : s.pos-1]
	if escaped {
		key = unescape(make([]byte, 0, len(key)), key)
	}
	if s.space() != ':' {
		return nil, s.expected("a colon")
	}
	s.pos++
	// Objects are small as a rule; the keys of a large one are compared in leave, sorted, so that no text costs quadratic time.
	if n := len(s.keys) - base; n < smallObject {
		for _, seen := range s.keys[base:] {
			if len(seen) == len(key) && string(seen) == string(key) {
				return nil, s.fail(at, fmt.Sprintf("the key %q appears twice in one object", clip(key)))
			}
		}
	}
	s.keys = append(s.keys, key)
	return key, nil
}

const smallObject = 16

// leave forgets the keys of an object that ends.
func (s *scanner) leave(base int) error {
	if keys := s.keys[base:]; len(keys) > smallObject {
		slices.SortFunc(keys, bytes.Compare)
		for i := 1; i < len(keys); i++ {
			if bytes.Equal(keys[i-1], keys[i]) {
				return s.fail(s.pos-1, fmt.Sprintf("the key %q appears twice in the object that ends here", clip(keys[i])))
			}
		}
	}
	s.keys = s.keys[:base]
	return nil
}

// str reads a string, and reports whether it has escapes.
func (s *scanner) str() (escaped bool, err error) {
	d, i := s.data, s.pos+1
	for {
		i = plain(d, i)
		if i >= len(d) {
			return false, s.fail(i, "the text ends inside a string")
		}
		switch c := d[i]; {
		case c == '"':
			s.pos = i + 1
			return escaped, nil
		case c == '\\':
			n := escapeLen(d[i:])
			if n == 0 {
				return false, s.fail(i, "an escape sequence that JSON does not have")
			}
			escaped = true
			i += n
		case c < ' ':
			return false, s.fail(i, "a control character inside a string")
		default:
			r, n := utf8.DecodeRune(d[i:])
			if r == utf8.RuneError && n == 1 {
				return false, s.fail(i, "invalid UTF-8")
			}
			i += n
		}
	}
}

// plain returns the first index from i on whose byte is not ordinary ASCII of a string.
func plain(d []byte, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(d); i += 8 {
		w := binary.LittleEndian.Uint64(d[i:])
		quote, slash := w^(ones*'"'), w^(ones*'\\')
		// A high bit is set for each byte that is a quote, a backslash, below a space, or not ASCII. Borrows can only add bits
		// above a true one, and the loop below looks again.
		if (w|(quote-ones)&^quote|(slash-ones)&^slash|(w-ones*' ')&^w)&highs != 0 {
			break
		}
	}
	for ; i < len(d); i++ {
		if c := d[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			break
		}
	}
	return i
}

func (s *scanner) number() error {
	d, i := s.data, s.pos
	if d[i] == '-' {
		i++
	}
	digits := func() bool {
		from := i
		for i < len(d) && '0' <= d[i] && d[i] <= '9' {
			i++
		}
		return i > from
	}
	if i < len(d) && d[i] == '0' {
		i++
	} else if !digits() {
		return s.fail(s.pos, "a number that JSON does not have")
	}
	if i < len(d) && d[i] == '.' {
		i++
		if !digits() {
			return s.fail(s.pos, "a number that JSON does not have")
		}
	}
	if i < len(d) && (d[i] == 'e' || d[i] == 'E') {
		if i++; i < len(d) && (d[i] == '+' || d[i] == '-') {
			i++
		}
		if !digits() {
			return s.fail(s.pos, "a number that JSON does not have")
		}
	}
	s.pos = i
	return nil
}

// end reports an error when anything but whitespace is left.
func (s *scanner) end() error {
	if s.space() != 0 || s.pos < len(s.data) {
		return s.fail(s.pos, "more text after the message")
	}
	return nil
}

// clip shortens text that a peer chose before it goes into a message.
func clip[T ~string | ~[]byte](text T) string {
	const most = 64
	if len(text) <= most {
		return string(text)
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return string(text[:cut]) + "…"
}
