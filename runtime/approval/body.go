package approval

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// The body of a record begins with the tool, the subject of who asks and, if there is one, the seal, each behind its length, so that a list can be made without reading the JSON that
// follows: the members of the request and of the decision. A seal is never as long as the character is high with which JSON begins.

// content is the JSON of a body.
type content struct {
	Request
	Decision *Decision `json:"decision,omitempty"`
}

const largest = 32 << 10 // bytes of arguments, and of an effect, that are kept

// encode makes the body of a record.
func encode(c *content) ([]byte, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("an approval cannot be written as JSON: %w", err)
	}
	text = Harmless(text)
	body := make([]byte, 0, len(text)+len(c.Tool)+len(c.Caller.Subject)+len(c.Seal)+3*binary.MaxVarintLen16)
	for _, s := range []string{c.Tool, c.Caller.Subject} {
		body = append(binary.AppendUvarint(body, uint64(len(s))), s...)
	}
	switch {
	case len(c.Seal) >= '{':
		return nil, errSeal
	case c.Seal != "":
		body = append(append(body, byte(len(c.Seal))), c.Seal...)
	}
	return append(body, text...), nil
}

var (
	errBody = errors.New("the record of an approval cannot be read")
	errSeal = errors.New("the seal of an approval is too long")
)

// cut takes one text off the beginning of a body.
func cut(body []byte) (s string, rest []byte, err error) {
	n, width := binary.Uvarint(body)
	if width <= 0 || n > uint64(len(body)-width) {
		return "", nil, errBody
	}
	return string(body[width : width+int(n)]), body[width+int(n):], nil
}

// clip leaves out what is too long for a reviewer.
func (r *Request) clip() {
	if cut, more := beginning(r.Effect); more > 0 {
		r.Effect, r.Partial = fmt.Sprintf("%s… and %d bytes more, which are not shown", cut, more), true
	}
	if cut, more := beginning(string(r.Arguments)); more > 0 {
		r.Partial = true
		r.Arguments, _ = json.Marshal(fmt.Sprintf("%s… and %d bytes more, which are not shown", cut, more)) // a text always can
	}
}

// beginning is as much of a text as is kept, and how many bytes are not.
func beginning(s string) (string, int) {
	if len(s) <= largest {
		return s, 0
	}
	at := largest
	for !utf8.RuneStart(s[at]) {
		at--
	}
	return s[:at], len(s) - at
}
