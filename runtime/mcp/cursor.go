package mcp

import (
	"encoding/base64"
	"unicode/utf8"
)

// A cursor names the last entry of the page before, so it stays valid while the set of entries changes: what follows is found by
// order, whether or not that entry still exists.
const cursorPrefix = "after:"

// appendCursor appends the cursor for the page after the entry called name.
func appendCursor(dst []byte, name string) []byte {
	return base64.RawURLEncoding.AppendEncode(dst, []byte(cursorPrefix+name))
}

// cursorName returns the name inside a cursor.
func cursorName(cursor string) (name string, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(b) <= len(cursorPrefix) || string(b[:len(cursorPrefix)]) != cursorPrefix || !utf8.Valid(b) {
		return "", false
	}
	// The decoder skips line breaks; what was given out has none.
	name = string(b[len(cursorPrefix):])
	return name, string(appendCursor(nil, name)) == cursor
}
