package jsonscan

import (
	"unicode/utf8"
	"unsafe"
)

// Text reads the string that Peek announced with a quote and returns it decoded.
func (s *Scanner) Text() (string, error) {
	start := s.pos
	escaped, err := s.readString()
	if err != nil {
		return "", err
	}
	content := s.data[start+1 : s.pos-1]
	switch {
	case !escaped:
		return string(content), nil
	case len(content) <= maxDecoded:
		return unescaped(content), nil
	}
	text, err := unescapedSteps(content, s.step)
	return unsafe.String(unsafe.SliceData(text), len(text)), err
}

// readString reads a string and reports whether it has escape sequences.
func (s *Scanner) readString() (escaped bool, err error) {
	d, i := s.data, s.pos+1
	for next := i + stepBytes; ; {
		if i >= next {
			if err := s.step.take(); err != nil {
				return false, err
			}
			next = i + stepBytes
		}
		i = skipPlain(d, i)
		if i >= len(d) {
			return false, s.failAt(i, "the text ends inside a string")
		}
		switch c := d[i]; {
		case c == '"':
			s.pos = i + 1
			return escaped, nil
		case c == '\\':
			n := escapeLen(d[i:])
			if n == 0 {
				return false, s.failAt(i, "an escape sequence that JSON does not have")
			}
			if isLoneSurrogate(d[i:], n) {
				if !s.lossy {
					return false, s.failAt(i, "one half of a surrogate pair")
				}
				s.replaced++
				if s.compacting {
					copy(d[i:], replacement)
				}
			}
			escaped = true
			i += n
		case c < ' ':
			return false, s.failAt(i, "a control character inside a string")
		default:
			r, n := utf8.DecodeRune(d[i:])
			if r == utf8.RuneError && n == 1 {
				return false, s.failAt(i, "invalid UTF-8")
			}
			i += n
		}
	}
}

func (s *Scanner) readNumber() error {
	d, i := s.data, s.pos
	if d[i] == '-' {
		i++
	}
	start := i
	i = skipDigits(d, i)
	ok := i > start && (d[start] != '0' || i == start+1)
	if i < len(d) && d[i] == '.' {
		start = i + 1
		i = skipDigits(d, start)
		ok = ok && i > start
	}
	if i < len(d) && (d[i] == 'e' || d[i] == 'E') {
		start = i + 1
		if start < len(d) && (d[start] == '+' || d[start] == '-') {
			start++
		}
		i = skipDigits(d, start)
		ok = ok && i > start
	}
	if !ok {
		return s.Fail("a number that JSON does not have")
	}
	s.pos = i
	return nil
}

func skipDigits(d []byte, i int) int {
	for i < len(d) && '0' <= d[i] && d[i] <= '9' {
		i++
	}
	return i
}
