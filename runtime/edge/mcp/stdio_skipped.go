package mcp

import (
	"bytes"

	"hatchel/hcl/jsonscan"
)

// skippedLine finds the id in a line that is too large to be kept. The line is written to it in parts, of which it
// keeps the members id and method of the outermost object.
type skippedLine struct {
	depth     int // of lists and objects
	inString  bool
	escaped   bool
	token     []byte // the key or the value that is being read at depth 1; nothing of a list or an object
	key       string
	id        []byte
	isRequest bool
	invalid   bool // the line is no object, or has two ids
	ended     bool // the object
}

// maxToken is the length of a token that may be an id, and one byte more of a longer one.
const maxToken = maxIDLength + 1

func (l *skippedLine) write(part []byte) {
	for len(part) > 0 {
		c := part[0]
		part = part[1:]
		switch {
		case l.inString:
			l.keep(c)
			l.inString = l.escaped || c != '"'
			l.escaped = !l.escaped && c == '\\'
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		case l.ended || l.depth == 0 && c != '{':
			l.invalid = true
		case c == '{' || c == '[':
			l.depth++
		case c == '}' || c == ']':
			if l.depth == 1 {
				l.endMember()
				l.ended = true
			}
			l.depth--
		case l.depth == 1 && c == ',':
			l.endMember()
		case l.depth == 1 && c == ':':
			l.key, l.token = string(l.token), l.token[:0]
		default:
			l.keep(c)
			l.inString = c == '"'
		}
	}
}

func (l *skippedLine) keep(c byte) {
	if l.depth == 1 && len(l.token) < maxToken {
		l.token = append(l.token, c)
	}
}

func (l *skippedLine) endMember() {
	switch l.key {
	case `"id"`:
		l.invalid = l.invalid || l.id != nil
		l.id = bytes.Clone(l.token)
	case `"method"`:
		l.isRequest = true
	}
	l.key, l.token = "", l.token[:0]
}

// requestID returns the id of a complete request, or nil.
func (l *skippedLine) requestID() []byte {
	if !l.ended || l.invalid || !l.isRequest || len(l.id) == 0 || checkID(l.id) != "" {
		return nil
	}
	scan := jsonscan.New(l.id, 0)
	if _, err := scan.Value(); err != nil || !scan.AtEnd() {
		return nil
	}
	return l.id
}
