package runtime

import (
	"bytes"
	"encoding/json"
	"errors"

	"hatchel/hcl/value"
)

// memo is what a call came to before it is encoded, so that another call can come to the same.
type memo struct {
	Value  json.RawMessage `json:"value,omitempty"` // nil when there is none
	Plain  bool            `json:"plain,omitempty"` // the value is a text
	Worded bool            `json:"worded,omitempty"`
	Text   []byte          `json:"text,omitempty"`
	Blocks []byte          `json:"blocks,omitempty"` // of content, encoded
	Listed bool            `json:"listed,omitempty"` // there are blocks
	Part   bool            `json:"part,omitempty"`   // there was more than was read
}

var errUnkept = errors.New("the answer of a call is too large to be kept")

// memo is the answer of a call that has been shaped. Its error says that it cannot be kept.
func (c *call) memo() (_ *memo, err error) {
	m := &memo{Worded: c.answer.worded, Text: bytes.Clone(c.reply.text), Blocks: bytes.Clone(c.reply.blocks), Listed: c.answer.blocks, Part: c.answer.part}
	if c.answer.valued {
		_, m.Plain = c.answer.value.(string)
		if m.Value, err = value.AppendJSON(nil, c.answer.value); err != nil {
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
	c.answer = answer{valued: m.Value != nil, worded: m.Worded, blocks: m.Listed, part: m.Part}
	c.reply.text, c.reply.blocks = append(c.reply.text[:0], m.Text...), append(c.reply.blocks[:0], m.Blocks...)
	switch {
	case m.Plain:
		c.answer.value, err = keptValue(m.Value).Value()
	case m.Value != nil:
		c.answer.value = keptValue(m.Value)
	}
	return err
}

// keptValue is the value of a memo, encoded. It is decoded when something looks.
type keptValue json.RawMessage

// AppendJSON implements value.Deferred.
func (v keptValue) AppendJSON(dst []byte) []byte { return append(dst, v...) }

// Value implements value.Deferred.
func (v keptValue) Value() (any, error) { return value.Decode(v) }

// size is how many bytes the memo takes, about.
func (m *memo) size() int { return len(m.Value) + len(m.Text) + len(m.Blocks) + 256 }
