package approval

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// The body of a record begins with the tool, the subject of the caller and, if there is one, the
// seal, each after its length, so that a list can be made without parsing the JSON that follows. A
// seal is shorter than the code of the character '{' with which the JSON begins.

// content is the JSON of a body.
type content struct {
	Request
	Decision *Decision `json:"decision,omitempty"`
}

// maxShown is how many bytes of the arguments, and of the effect, are kept.
const maxShown = 32 << 10

var (
	errMalformed = errors.New("the record of an approval is malformed")
	errSeal      = errors.New("the seal of an approval is too long")
)

// encodeBody makes the body of a record.
func encodeBody(c *content) ([]byte, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("an approval cannot be encoded as JSON: %w", err)
	}
	text = EscapeJSON(text)
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

// cutString takes one string with its length off the beginning of a body.
func cutString(body []byte) (s string, rest []byte, err error) {
	n, width := binary.Uvarint(body)
	if width <= 0 || n > uint64(len(body)-width) {
		return "", nil, errMalformed
	}
	return string(body[width : width+int(n)]), body[width+int(n):], nil
}

// truncate shortens an effect and arguments that are too long for an approver.
func (r *Request) truncate() {
	if s, truncated := truncateText(r.Effect); truncated {
		r.Effect, r.Partial = s, true
	}
	if s, truncated := truncateText(string(r.Arguments)); truncated {
		r.Partial = true
		r.Arguments, _ = json.Marshal(s) // a string always can be encoded
	}
}

// truncateText shortens s to maxShown bytes, and says how many are left out.
func truncateText(s string) (string, bool) {
	if len(s) <= maxShown {
		return s, false
	}
	end := maxShown
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return fmt.Sprintf("%s… (truncated, %d more bytes)", s[:end], len(s)-end), true
}
