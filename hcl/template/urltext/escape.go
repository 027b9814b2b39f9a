package urltext

import (
	"encoding/hex"
	"fmt"
	"strings"
)

const upperHex = "0123456789ABCDEF"

// appendEscaped appends s with all bytes except letters, digits and -._~ as %XX, which is correct
// in a segment and in a query value.
func appendEscaped(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; unreserved(c) {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return dst
}

func escape(s string) string { return string(appendEscaped(nil, s)) }

func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_' ||
		c == '~'
}

// pathChar reports whether a character may appear unescaped in a segment.
func pathChar(c byte) bool { return unreserved(c) || strings.IndexByte("!$&'()*+,;=:@", c) >= 0 }

func queryChar(c byte) bool { return pathChar(c) || c == '/' || c == '?' }

// decodePercent reads %XX at the start of s.
func decodePercent(s string) (c byte, ok bool) {
	if len(s) < 3 || s[0] != '%' {
		return 0, false
	}
	var decoded [1]byte
	_, err := hex.Decode(decoded[:], []byte(s[1:3]))
	return decoded[0], err == nil
}

// decode decodes every %XX once.
func decode(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if c, ok := decodePercent(s[i:]); ok {
			b = append(b, c)
			i += 2
		} else {
			b = append(b, s[i])
		}
	}
	return string(b)
}

// checkSegment rejects a value that some server could read as anything other than one segment,
// however often it decodes the value.
func checkSegment(segment, source string) error {
	for {
		if why := forbiddenIn(segment); why != "" {
			return fmt.Errorf("%s cannot be used in the path of a URL: the part of the path it makes %s; "+
				"send a plain name", source, why)
		}
		next := decode(segment)
		if next == segment {
			return nil
		}
		segment = next
	}
}

func forbiddenIn(s string) string {
	name, _, _ := strings.Cut(s, ";") // some servers drop what follows
	switch {
	case s == "":
		return "is empty"
	case name == "." || name == "..":
		return fmt.Sprintf("is %q", name)
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '/' || c == '\\':
			return fmt.Sprintf("holds %q", c)
		case c < 0x20 || c == 0x7f, c == 0xc2 && i+1 < len(s) && s[i+1] >= 0x80 && s[i+1] < 0xa0:
			return "holds a control character"
		case c == 0xc0 || c == 0xc1, c == 0xe0 && i+1 < len(s) && s[i+1] >= 0x80 && s[i+1] < 0xa0:
			return "holds bytes that are not text"
		}
	}
	return ""
}
