package value

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxDepth is how deeply arrays and objects may nest in decoded JSON.
const MaxDepth = 512

// A SyntaxError says where a text stops being JSON.
type SyntaxError struct {
	Offset int    // in bytes from the start
	What   string // what is wrong there, in words
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid JSON at byte %d: %s", e.Offset, e.What)
}

var errDuplicate = errors.New("duplicate key")

// Decode reads one JSON text. Strings are copies: the value does not alias src. Duplicate keys, invalid UTF-8, nesting beyond MaxDepth
// and anything after the value are errors of type *SyntaxError.
func Decode(src []byte) (any, error) {
	d := decoder{src: src}
	v, err := d.value(0)
	if err != nil {
		return nil, err
	}
	if d.space(); d.at < len(src) {
		return nil, d.fail("unexpected text after the value")
	}
	return v, nil
}

type decoder struct {
	src []byte
	at  int
}

func (d *decoder) fail(what string) error { return &SyntaxError{Offset: d.at, What: what} }

func (d *decoder) space() {
	for d.at < len(d.src) {
		switch d.src[d.at] {
		case ' ', '\t', '\n', '\r':
			d.at++
		default:
			return
		}
	}
}

func (d *decoder) value(depth int) (any, error) {
	d.space()
	if d.at >= len(d.src) {
		return nil, d.fail("unexpected end")
	}
	switch c := d.src[d.at]; {
	case c == '"':
		return d.string()
	case c == '{':
		return d.object(depth + 1)
	case c == '[':
		return d.list(depth + 1)
	case c == '-' || c >= '0' && c <= '9':
		return d.number()
	case c == 't':
		return true, d.word("true")
	case c == 'f':
		return false, d.word("false")
	case c == 'n':
		return nil, d.word("null")
	}
	return nil, d.fail("a value cannot start with " + strconv.QuoteRune(rune(d.src[d.at])))
}

func (d *decoder) word(w string) error {
	if !bytes.HasPrefix(d.src[d.at:], []byte(w)) {
		return d.fail("expected " + w)
	}
	d.at += len(w)
	return nil
}

func (d *decoder) list(depth int) (any, error) {
	if depth > MaxDepth {
		return nil, d.fail("nested too deeply")
	}
	d.at++
	list := []any{}
	if d.space(); d.at < len(d.src) && d.src[d.at] == ']' {
		d.at++
		return list, nil
	}
	for {
		v, err := d.value(depth)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		if more, err := d.more(']'); !more {
			return list, err
		}
	}
}

func (d *decoder) object(depth int) (any, error) {
	if depth > MaxDepth {
		return nil, d.fail("nested too deeply")
	}
	d.at++
	m := map[string]any{}
	if d.space(); d.at < len(d.src) && d.src[d.at] == '}' {
		d.at++
		return m, nil
	}
	for {
		if d.space(); d.at >= len(d.src) || d.src[d.at] != '"' {
			return nil, d.fail("expected a key in quotes")
		}
		start := d.at
		key, err := d.string()
		if err != nil {
			return nil, err
		}
		if d.space(); d.at >= len(d.src) || d.src[d.at] != ':' {
			return nil, d.fail("expected a colon")
		}
		d.at++
		v, err := d.value(depth)
		if err != nil {
			return nil, err
		}
		if _, twice := m[key]; twice {
			d.at = start
			return nil, d.fail(errDuplicate.Error() + " " + strconv.Quote(key))
		}
		m[key] = v
		if more, err := d.more('}'); !more {
			return m, err
		}
	}
}

// more steps over a comma, or over the closing bracket and reports false.
func (d *decoder) more(closing byte) (bool, error) {
	d.space()
	if d.at >= len(d.src) {
		return false, d.fail("unexpected end")
	}
	switch d.src[d.at] {
	case ',':
		d.at++
		return true, nil
	case closing:
		d.at++
		return false, nil
	}
	return false, d.fail("expected a comma or " + string(closing))
}

func (d *decoder) number() (any, error) {
	start := d.at
	if d.src[d.at] == '-' {
		d.at++
	}
	whole := d.digits()
	if whole == 0 || whole > 1 && d.src[d.at-whole] == '0' {
		return nil, d.fail("malformed number")
	}
	integer := true
	if d.at < len(d.src) && d.src[d.at] == '.' {
		d.at++
		integer = false
		if d.digits() == 0 {
			return nil, d.fail("malformed number")
		}
	}
	if d.at < len(d.src) && d.src[d.at]|0x20 == 'e' {
		d.at++
		integer = false
		if d.at < len(d.src) && (d.src[d.at] == '+' || d.src[d.at] == '-') {
			d.at++
		}
		if d.digits() == 0 {
			return nil, d.fail("malformed number")
		}
	}
	text := d.src[start:d.at]
	if integer && len(text) < 18 {
		n, negative := 0, text[0] == '-'
		if negative {
			text = text[1:]
		}
		for _, c := range text {
			n = n*10 + int(c-'0')
		}
		if negative {
			n = -n
		}
		return n, nil
	}
	return Number(string(text)), nil
}

func (d *decoder) digits() int {
	start := d.at
	for d.at < len(d.src) && d.src[d.at] >= '0' && d.src[d.at] <= '9' {
		d.at++
	}
	return d.at - start
}

func (d *decoder) string() (string, error) {
	d.at++
	start, ascii := d.at, true
	for d.at < len(d.src) {
		switch c := d.src[d.at]; {
		case c == '"':
			s := d.src[start:d.at]
			if !ascii && !utf8.Valid(s) {
				return "", d.fail("invalid UTF-8 in a string")
			}
			d.at++
			return string(s), nil
		case c == '\\':
			return d.escaped(start)
		case c < 0x20:
			return "", d.fail("a control character must be escaped")
		case c >= utf8.RuneSelf:
			ascii = false
		}
		d.at++
	}
	return "", d.fail("unexpected end in a string")
}

// escaped reads the rest of a string that holds escapes; d.at is at the first one.
func (d *decoder) escaped(start int) (string, error) {
	out := append(make([]byte, 0, 2*(d.at-start)+32), d.src[start:d.at]...)
	for d.at < len(d.src) {
		switch c := d.src[d.at]; {
		case c == '"':
			d.at++
			if !utf8.Valid(out) {
				return "", d.fail("invalid UTF-8 in a string")
			}
			return string(out), nil
		case c == '\\':
			r, err := d.escape()
			if err != nil {
				return "", err
			}
			out = utf8.AppendRune(out, r)
			continue
		case c < 0x20:
			return "", d.fail("a control character must be escaped")
		default:
			out = append(out, c)
		}
		d.at++
	}
	return "", d.fail("unexpected end in a string")
}

var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (d *decoder) escape() (rune, error) {
	d.at++
	if d.at >= len(d.src) {
		return 0, d.fail("unexpected end in a string")
	}
	c := d.src[d.at]
	if c != 'u' {
		if escapes[c] == 0 {
			return 0, d.fail("unknown escape")
		}
		d.at++
		return rune(escapes[c]), nil
	}
	r, err := d.unit()
	if err != nil || !utf16.IsSurrogate(r) {
		return r, err
	}
	if d.at+1 >= len(d.src) || d.src[d.at] != '\\' || d.src[d.at+1] != 'u' {
		return 0, d.fail("half of a surrogate pair")
	}
	d.at++
	low, err := d.unit()
	if err != nil {
		return 0, err
	}
	if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
		return 0, d.fail("half of a surrogate pair")
	}
	return r, nil
}

// unit reads uXXXX.
func (d *decoder) unit() (rune, error) {
	d.at++
	if d.at+4 > len(d.src) {
		return 0, d.fail("unexpected end in a string")
	}
	var r rune
	for _, c := range d.src[d.at : d.at+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = (c | 0x20) - 'a' + 10
		default:
			return 0, d.fail("malformed \\u escape")
		}
		r = r<<4 | rune(c)
	}
	d.at += 4
	return r, nil
}
