package sql

import "strings"

// withoutTail cuts the semicolon that ends a statement, and the comments behind it: the driver takes what follows a semicolon for another statement, and its
// rows for those of the whole.
func withoutTail(text string) string {
	if strings.IndexByte(text, ';') < 0 {
		return text
	}
	end := -1 // of the statement, where nothing but comments has followed so far
	for i := 0; i < len(text); {
		n := skipped(text[i:])
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

// skipped is how long the space or comment at the start of s is.
func skipped(s string) int {
	until := func(open, shut string) int {
		if i := strings.Index(s[len(open):], shut); i >= 0 {
			return len(open) + i + len(shut)
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

// quotedLength is how long the text or name in quotes at the start of s is. A doubled quote is two of them in a row.
func quotedLength(s string) int {
	shut := s[0]
	if shut == '[' {
		shut = ']'
	}
	if i := strings.IndexByte(s[1:], shut); i >= 0 {
		return i + 2
	}
	return len(s)
}
