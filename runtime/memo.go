package runtime

import (
	"bytes"
	"encoding/json"
	"errors"

	"hatchel/hcl/value"
)

// cachedResult is what a call came to before it is encoded, so that another call can come to the same.
type cachedResult struct {
	Value     json.RawMessage `json:"value,omitempty"` // nil when there is none
	Plain     bool            `json:"plain,omitempty"` // the value is a text
	HasText   bool            `json:"worded,omitempty"`
	Text      []byte          `json:"text,omitempty"`
	Blocks    []byte          `json:"blocks,omitempty"` // of content, encoded
	HasBlocks bool            `json:"listed,omitempty"` // there are blocks
	Partial   bool            `json:"part,omitempty"`   // there was more than was read
}

var errResultTooLarge = errors.New("the answer of a call is too large to be kept")

// cachedResult is the answer of a call that has been shaped. Its error says that it cannot be kept.
func (c *call) cachedResult() (_ *cachedResult, err error) {
	m := &cachedResult{HasText: c.result.hasText, Text: bytes.Clone(c.reply.text), Blocks: bytes.Clone(c.reply.blocks), HasBlocks: c.result.hasBlocks, Partial: c.result.partial}
	if c.result.hasValue {
		_, m.Plain = c.result.value.(string)
		if m.Value, err = value.AppendJSON(nil, c.result.value); err != nil {
			return nil, err
		}
	}
	if m.size() > maxPauseState {
		return nil, errResultTooLarge
	}
	return m, nil
}

// useCached makes a memo the answer of the call.
func (c *call) useCached(m *cachedResult) (err error) {
	c.result = shapedResult{hasValue: m.Value != nil, hasText: m.HasText, hasBlocks: m.HasBlocks, partial: m.Partial}
	c.reply.text, c.reply.blocks = append(c.reply.text[:0], m.Text...), append(c.reply.blocks[:0], m.Blocks...)
	switch {
	case m.Plain:
		c.result.value, err = lazyJSON(m.Value).Value()
	case m.Value != nil:
		c.result.value = lazyJSON(m.Value)
	}
	return err
}

// lazyJSON is the value of a memo, encoded. It is decoded when something looks.
type lazyJSON json.RawMessage

// AppendJSON implements value.Deferred.
func (v lazyJSON) AppendJSON(dst []byte) []byte { return append(dst, v...) }

// Value implements value.Deferred.
func (v lazyJSON) Value() (any, error) { return value.Decode(v) }

// size is how many bytes the memo takes, about.
func (m *cachedResult) size() int { return len(m.Value) + len(m.Text) + len(m.Blocks) + 256 }
