package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
)

// checker tells whether the replies of one target to one row are right. The first reply of each
// variant is decoded and compared with what the work must yield; the ones after it must be the same
// bytes but for their id, or pass the whole comparison again. It is safe for concurrent use.
type checker struct {
	row   *callRow
	known []atomic.Pointer[mask]
}

// mask is a reply known to be right, around its id.
type mask struct{ before, after []byte }

func newChecker(row *callRow) *checker {
	return &checker{row: row, known: make([]atomic.Pointer[mask], row.variants)}
}

func (c *checker) check(variant, id int, reply []byte) error {
	reply = bytes.TrimRight(reply, "\n")
	if m := c.known[variant].Load(); m != nil && m.matches(id, reply) {
		return nil
	}
	if err := c.decode(variant, id, reply); err != nil {
		return fmt.Errorf("%w; the reply was %.200s", err, reply)
	}
	at := bytes.Index(reply, strconv.AppendInt(nil, int64(id), 10))
	c.known[variant].Store(&mask{bytes.Clone(reply[:at]), bytes.Clone(reply[at+idDigits:])})
	return nil
}

func (m *mask) matches(id int, reply []byte) bool {
	if len(reply) != len(m.before)+idDigits+len(m.after) || !bytes.HasPrefix(reply, m.before) ||
		!bytes.HasSuffix(reply, m.after) {
		return false
	}
	var digits [idDigits]byte
	return bytes.Equal(strconv.AppendInt(digits[:0], int64(id), 10), reply[len(m.before):][:idDigits])
}

func (c *checker) decode(variant, id int, reply []byte) error {
	var message struct {
		ID     int             `json:"id"`
		Error  json.RawMessage `json:"error"`
		Result struct {
			Content []textContent `json:"content"`
			IsError bool          `json:"isError"`
			Tools   []struct {
				Name string `json:"name"`
			} `json:"tools"`
		} `json:"result"`
	}
	if err := json.Unmarshal(reply, &message); err != nil {
		return fmt.Errorf("a reply that is not JSON: %w", err)
	}
	switch {
	case message.ID != id:
		return fmt.Errorf("reply %d to request %d", message.ID, id)
	case message.Error != nil || message.Result.IsError:
		return fmt.Errorf("a failed call")
	case c.row.tool == "":
		if len(message.Result.Tools) != listedTools {
			return fmt.Errorf("%d tools are listed, not %d", len(message.Result.Tools), listedTools)
		}
		return nil
	case len(message.Result.Content) != 1:
		return fmt.Errorf("%d contents, not 1", len(message.Result.Content))
	}
	for _, want := range c.row.want(variant) {
		if !strings.Contains(message.Result.Content[0].Text, want) {
			return fmt.Errorf("the text lacks %.80q", want)
		}
	}
	return nil
}
