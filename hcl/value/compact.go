package value

import (
	"bytes"
	"errors"
	"unicode/utf8"
)

// ErrDeep says that a text nests deeper than MaxDepth.
var ErrDeep = errors.New("nested too deeply")

var errNotJSON = errors.New("not JSON")

var byteOrderMark = []byte("\xef\xbb\xbf")

// Compact checks that src is one JSON text of at most MaxDepth levels, or nothing at all, and removes the space between its tokens, in place.
// It fails where src is no JSON, with ErrDeep where it nests deeper, and returns the text all the same, compact up to there.
// A byte order mark in front goes too. It costs a few nanoseconds a byte, so that an answer that nobody looks into need not be decoded.
func Compact(src []byte) ([]byte, error) {
	c := compactor{src: bytes.TrimPrefix(src, byteOrderMark)}
	if c.space(); c.at == len(c.src) {
		return nil, nil
	}
	err := c.value()
	if c.space(); err == nil && c.at < len(c.src) {
		err = errNotJSON
	}
	c.at = len(c.src)
	c.flush()
	return c.src[:c.end], err
}

// A compactor has written src[:end], which stands for what was read up to at; src[keep:at] is still to be moved there.
type compactor struct {
	src   []byte
	at    int
	keep  int
	end   int
	depth int
}

func (c *compactor) flush() {
	if c.keep != c.end {
		copy(c.src[c.end:], c.src[c.keep:c.at])
	}
	c.end += c.at - c.keep
	c.keep = c.at
}

// space is small enough to be inlined where, as mostly, there is none.
func (c *compactor) space() {
	if c.at < len(c.src) && c.src[c.at] <= ' ' {
		c.skip()
	}
}

func (c *compactor) skip() {
	start := c.at
	for c.at < len(c.src) && (c.src[c.at] == ' ' || c.src[c.at] == '\n' || c.src[c.at] == '\t' || c.src[c.at] == '\r') {
		c.at++
	}
	after := c.at
	c.at = start
	c.flush()
	c.at, c.keep = after, after
}

func (c *compactor) value() error {
	if c.at >= len(c.src) {
		return errNotJSON
	}
	switch b := c.src[c.at]; {
	case b == '"':
		return c.text()
	case b == '{':
		return c.object()
	case b == '[':
		return c.list()
	case b == '-' || b >= '0' && b <= '9':
		return c.number()
	case b == 't':
		return c.word("true")
	case b == 'f':
		return c.word("false")
	case b == 'n':
		return c.word("null")
	}
	return errNotJSON
}

func (c *compactor) enter() error {
	c.at++
	if c.depth++; c.depth > MaxDepth {
		return ErrDeep
	}
	c.space()
	return nil
}

func (c *compactor) list() error {
	if err := c.enter(); err != nil {
		return err
	}
	if c.take(']') {
		c.depth--
		return nil
	}
	for {
		if err := c.value(); err != nil {
			return err
		}
		if more, err := c.more(']'); !more {
			return err
		}
	}
}

func (c *compactor) object() error {
	if err := c.enter(); err != nil {
		return err
	}
	if c.take('}') {
		c.depth--
		return nil
	}
	for {
		if c.at >= len(c.src) || c.src[c.at] != '"' {
			return errNotJSON
		}
		if err := c.text(); err != nil {
			return err
		}
		if c.space(); !c.take(':') {
			return errNotJSON
		}
		c.space()
		if err := c.value(); err != nil {
			return err
		}
		if more, err := c.more('}'); !more {
			return err
		}
	}
}

func (c *compactor) more(closing byte) (bool, error) {
	c.space()
	if c.take(',') {
		c.space()
		return true, nil
	}
	if c.take(closing) {
		c.depth--
		return false, nil
	}
	return false, errNotJSON
}

func (c *compactor) take(b byte) bool {
	if c.at < len(c.src) && c.src[c.at] == b {
		c.at++
		return true
	}
	return false
}

func (c *compactor) word(w string) error {
	if len(c.src)-c.at < len(w) || string(c.src[c.at:c.at+len(w)]) != w {
		return errNotJSON
	}
	c.at += len(w)
	return nil
}

func (c *compactor) number() error {
	c.take('-')
	if !c.take('0') && c.digits() == 0 {
		return errNotJSON
	}
	if c.take('.') && c.digits() == 0 {
		return errNotJSON
	}
	if c.take('e') || c.take('E') {
		if !c.take('+') {
			c.take('-')
		}
		if c.digits() == 0 {
			return errNotJSON
		}
	}
	return nil
}

func (c *compactor) digits() int {
	start := c.at
	for c.at < len(c.src) && c.src[c.at] >= '0' && c.src[c.at] <= '9' {
		c.at++
	}
	return c.at - start
}

// plain are the bytes that need no attention inside a string.
var plain = func() (t [256]bool) {
	for b := 0x20; b < utf8.RuneSelf; b++ {
		t[b] = b != '"' && b != '\\'
	}
	return t
}()

func (c *compactor) text() error {
	src, i := c.src, c.at+1
	for {
		for i < len(src) && plain[src[i]] {
			i++
		}
		if i >= len(src) {
			return errNotJSON
		}
		switch b := src[i]; {
		case b == '"':
			c.at = i + 1
			return nil
		case b == '\\':
			n := escapeWidth(src[i:])
			if n == 0 {
				return errNotJSON
			}
			i += n
		case b >= utf8.RuneSelf:
			r, n := utf8.DecodeRune(src[i:])
			if r == utf8.RuneError && n == 1 {
				return errNotJSON
			}
			i += n
		default:
			return errNotJSON
		}
	}
}

// escapeWidth is the length of the escape that s starts with, both halves of a surrogate pair; 0 when it is none.
func escapeWidth(s []byte) int {
	if len(s) < 2 {
		return 0
	}
	switch s[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
	default:
		return 0
	}
	u, ok := unit(s)
	if !ok || u >= 0xDC00 && u < 0xE000 {
		return 0
	}
	if u < 0xD800 || u >= 0xE000 {
		return 6
	}
	if low, ok := unit(s[6:]); !ok || low < 0xDC00 || low >= 0xE000 {
		return 0
	}
	return 12
}

// unit reads \uXXXX.
func unit(s []byte) (u int, ok bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	for _, b := range s[2:6] {
		switch {
		case b >= '0' && b <= '9':
			b -= '0'
		case b|0x20 >= 'a' && b|0x20 <= 'f':
			b = b | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		u = u<<4 | int(b)
	}
	return u, true
}
