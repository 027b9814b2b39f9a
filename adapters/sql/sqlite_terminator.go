package sql

import "strings"

// trimTerminator removes the semicolon that ends a statement, and the comments after it. The driver
// would run what follows a semicolon as another statement and return the rows of that one.
func trimTerminator(text string) string {
	if strings.IndexByte(text, ';') < 0 {
		return text
	}
	end := -1 // the semicolon after which only spaces and comments followed so far
	for i := 0; i < len(text); {
		n := blankLength(text[i:])
		switch c := text[i]; {
		case n > 0:
			i += n
			continue
		case c == ';':
			if end < 0 {
				end = i
			}
			i++
			continue
		case strings.IndexByte("'\"`[", c) >= 0:
			i += quotedLength(text[i:])
		default:
			i++
		}
		end = -1
	}
	if end < 0 {
		return text
	}
	return text[:end]
}

// blankLength returns the length of the space or comment that s begins with.
func blankLength(s string) int {
	until := func(open, end string) int {
		if i := strings.Index(s[len(open):], end); i >= 0 {
			return len(open) + i + len(end)
		}
		return len(s)
	}
	switch {
	case strings.IndexByte(" \t\r\n\f", s[0]) >= 0:
		return 1
	case strings.HasPrefix(s, "--"):
		return until("--", "\n")
	case strings.HasPrefix(s, "/*"):
		return until("/*", "*/")
	}
	return 0
}

// quotedLength returns the length of the quoted text or name that s begins with. A doubled quote ends
// one and begins another.
func quotedLength(s string) int {
	end := s[0]
	if end == '[' {
		end = ']'
	}
	if i := strings.IndexByte(s[1:], end); i >= 0 {
		return i + 2
	}
	return len(s)
}
