package runtime

import (
	"bytes"
	"encoding/json"
	"errors"
)

// memo is what a call came to before it is encoded, so that another call can come to the same.
type memo struct {
	Value  json.RawMessage `json:"value,omitempty"` // frozen; nil when there is none
	Worded bool            `json:"worded,omitempty"`
	Text   []byte          `json:"text,omitempty"`
	Blocks []byte          `json:"blocks,omitempty"` // of content, encoded
	Listed bool            `json:"listed,omitempty"` // there are blocks
}

var errUnkept = errors.New("the answer of a call is too large to be kept")

// memo is the answer of a call that has been shaped. Its error says that it cannot be kept.
func (c *call) memo() (_ *memo, err error) {
	m := &memo{Worded: c.answer.worded, Text: bytes.Clone(c.reply.text), Blocks: bytes.Clone(c.reply.blocks), Listed: c.answer.blocks}
	if c.answer.valued {
		if m.Value, err = appendFrozen(nil, c.answer.value); err != nil {
			return nil, err
		}
	}
	if m.size() > largestFrozen {
		return nil, errUnkept
	}
	return m, nil
}

// recall makes a memo the answer of the call.
func (c *call) recall(m *memo) (err error) {
	c.answer = answer{valued: m.Value != nil, worded: m.Worded, blocks: m.Listed}
	c.reply.text, c.reply.blocks = append(c.reply.text[:0], m.Text...), append(c.reply.blocks[:0], m.Blocks...)
	if m.Value != nil {
		c.answer.value, err = thaw(m.Value)
	}
	return err
}

// size is how many bytes the memo takes, about.
func (m *memo) size() int { return len(m.Value) + len(m.Text) + len(m.Blocks) + 256 }
