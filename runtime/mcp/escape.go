package mcp

import (
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// escapeLen returns the length of the escape sequence d begins with, a pair of surrogates counting as one; 0 when it is not one.
func escapeLen(d []byte) int {
	if len(d) < 2 {
		return 0
	}
	switch d[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		r, ok := hex4(d[2:])
		switch {
		case !ok:
			return 0
		case !utf16.IsSurrogate(r):
			return 6
		case len(d) < 8 || d[6] != '\\' || d[7] != 'u':
			return 0
		}
		low, ok := hex4(d[8:])
		if !ok || utf16.DecodeRune(r, low) == utf8.RuneError {
			return 0
		}
		return 12
	}
	return 0
}

func hex4(d []byte) (r rune, ok bool) {
	if len(d) < 4 {
		return 0, false
	}
	for _, c := range d[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// unescape appends what the inside of a scanned string means.
func unescape(dst, inside []byte) []byte {
	for i := 0; i < len(inside); {
		c := inside[i]
		if c != '\\' {
			dst = append(dst, c)
			i++
			continue
		}
		n := escapeLen(inside[i:])
		switch e := inside[i+1]; e {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r, _ := hex4(inside[i+2:])
			if n == 12 {
				low, _ := hex4(inside[i+8:])
				r = utf16.DecodeRune(r, low)
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, e)
		}
		i += n
	}
	return dst
}

// text returns what a scanned value means when it is a string.
func text(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	inside := raw[1 : len(raw)-1]
	for _, c := range inside {
		if c == '\\' {
			return string(unescape(make([]byte, 0, len(inside)), inside)), true
		}
	}
	return string(inside), true
}

// AppendString appends s as a JSON string. What is not UTF-8 becomes U+FFFD.
func AppendString[T ~string | ~[]byte](dst []byte, s T) []byte {
	// A string begins with the two words that a slice begins with, and what follows only reads.
	view := *(*string)(unsafe.Pointer(&s))
	return appendString(dst, unsafe.Slice(unsafe.StringData(view), len(view)))
}

func appendString(dst, s []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := 0; ; {
		i = plain(s, i)
		if i >= len(s) {
			return append(append(dst, s[from:]...), '"')
		}
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRune(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, s[from:i]...), "\ufffd"...)
				from = i + 1
			}
			i += n
			continue
		}
		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		from = i
	}
}
