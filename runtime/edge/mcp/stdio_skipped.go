package mcp

import (
	"bytes"
	"slices"
	"strings"

	"hatchel/hcl/jsonscan"
)

// requestIDs are the ids of the requests in a text that was not read as messages.
type requestIDs struct {
	ids   [][]byte // empty if none could be read
	batch bool     // they are those of a batch
}

// requestIDsIn returns the ids of a text that is no valid JSON.
func requestIDsIn(text []byte) requestIDs {
	var skipped skippedText
	skipped.write(text)
	return skipped.requestIDs()
}

// appendReplies appends the error as the reply to each of the requests, which is a batch for those of a batch. It has
// the id null if there are none.
func (e *Error) appendReplies(dst []byte, of requestIDs) []byte {
	if len(of.ids) == 0 {
		return e.AppendReply(dst, nil)
	}
	if !of.batch {
		return e.AppendReply(dst, of.ids[0])
	}
	replies := make([][]byte, len(of.ids))
	for i, id := range of.ids {
		replies[i] = e.AppendReply(nil, id)
	}
	return append(dst, JoinReplies(replies)...)
}

// skippedText finds the ids of requests in a text that is too large to be kept, or that is no valid JSON. The text is
// written to it in parts, of which it keeps the members id and method of the outermost objects. It reads strings as
// bytes: what is wrong in them is none of its business.
type skippedText struct {
	depth    int // of lists and objects
	inString bool
	escaped  bool
	token    []byte // the key or the value that is being read in a message; nothing of a list or an object
	key      string
	message  skippedMessage // that is being read
	found    requestIDs
	ended    bool // the rest is no part of a message
}

// skippedMessage is what is known of one message.
type skippedMessage struct {
	id        []byte
	twice     bool // it has two different ids
	isRequest bool
}

// maxToken is the length of a token that may be an id, and one byte more of a longer one.
const maxToken = maxIDLength + 1

func (t *skippedText) write(part []byte) {
	for len(part) > 0 {
		c := part[0]
		part = part[1:]
		switch {
		case t.inString:
			t.keep(c)
			t.inString = t.escaped || c != '"'
			t.escaped = !t.escaped && c == '\\'
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		case t.depth == 0 && strings.IndexByte(byteOrderMark, c) >= 0:
		case t.ended || t.depth == 0 && c != '{' && c != '[':
			t.ended = true
		case c == '[' && t.depth == 0:
			t.found.batch = true
			t.depth++
		case c == '{' || c == '[':
			t.depth++
		case c == '}' || c == ']':
			if t.depth == t.messageDepth() {
				t.endMember()
				t.endMessage()
			}
			t.depth--
			t.ended = t.depth == 0
		case t.depth == t.messageDepth() && c == ',':
			t.endMember()
		case t.depth == t.messageDepth() && c == ':':
			t.key, t.token = string(t.token), t.token[:0]
		default:
			t.keep(c)
			t.inString = c == '"'
		}
	}
}

// messageDepth is the depth of the members of a message.
func (t *skippedText) messageDepth() int {
	if t.found.batch {
		return 2
	}
	return 1
}

func (t *skippedText) keep(c byte) {
	if t.depth == t.messageDepth() && len(t.token) < maxToken {
		t.token = append(t.token, c)
	}
}

func (t *skippedText) endMember() {
	key := ""
	if isScalar([]byte(t.key)) {
		key, _ = jsonscan.Text([]byte(t.key))
	}
	switch m := &t.message; key {
	case "id":
		m.twice = m.twice || m.id != nil && !bytes.Equal(m.id, t.token)
		m.id = slices.Clone(t.token)
	case "method":
		m.isRequest = true
	}
	t.key, t.token = "", t.token[:0]
}

// endMessage adds the id of a request.
func (t *skippedText) endMessage() {
	m := t.message
	t.message = skippedMessage{}
	known := m.isRequest && !m.twice && len(m.id) > 0 && checkID(m.id) == "" && isScalar(m.id)
	if known && len(t.found.ids) < maxBatch {
		t.found.ids = append(t.found.ids, m.id)
	}
}

// isScalar reports whether a text is a JSON value that is neither a list nor an object.
func isScalar(text []byte) bool {
	scan := jsonscan.New(text, 0)
	_, err := scan.Value()
	return err == nil && scan.AtEnd()
}

// requestIDs returns the ids of the requests. One whose end is missing counts if its id and its method are complete.
func (t *skippedText) requestIDs() requestIDs {
	t.endMessage()
	return t.found
}
