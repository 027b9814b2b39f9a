package result

import (
	"bytes"
	"encoding/json"
	"errors"

	"hatchel/hcl/value"
)

// MaxCached is the maximum size in bytes of a result that is cached or kept for an idempotency key.
const MaxCached = 4 << 20

var errTooLarge = errors.New("the result of a call is too large to be cached")

// Cached is a shaped result before it is encoded, so that another call can have the same result.
type Cached struct {
	Value     json.RawMessage `json:"value,omitempty"` // nil when there is none
	Plain     bool            `json:"plain,omitempty"` // the value is a string
	HasText   bool            `json:"has_text,omitempty"`
	Text      []byte          `json:"text,omitempty"`
	Blocks    []byte          `json:"blocks,omitempty"`
	HasBlocks bool            `json:"has_blocks,omitempty"`
	Partial   bool            `json:"partial,omitempty"`
}

// Cached returns a copy of a shaped result that can be cached. It fails for a result that is too
// large.
func (r *Result) Cached() (_ *Cached, err error) {
	c := &Cached{
		HasText: r.HasText, Text: bytes.Clone(r.Text), HasBlocks: r.HasBlocks, Blocks: bytes.Clone(r.Blocks),
		Partial: r.Partial,
	}
	if r.HasValue {
		_, c.Plain = r.Value.(string)
		if c.Value, err = value.AppendJSON(nil, r.Value); err != nil {
			return nil, err
		}
	}
	if c.size() > MaxCached {
		return nil, errTooLarge
	}
	return c, nil
}

// Restore makes r the result that c was copied from.
func (r *Result) Restore(c *Cached) (err error) {
	*r = Result{
		HasValue: c.Value != nil, HasText: c.HasText, HasBlocks: c.HasBlocks, Partial: c.Partial, Buffers: r.Buffers,
	}
	r.Text, r.Blocks = append(r.Text[:0], c.Text...), append(r.Blocks[:0], c.Blocks...)
	switch {
	case c.Plain:
		r.Value, err = lazyJSON(c.Value).Value()
	case c.Value != nil:
		r.Value = lazyJSON(c.Value)
	}
	return err
}

// size returns about how many bytes the result takes.
func (c *Cached) size() int { return len(c.Value) + len(c.Text) + len(c.Blocks) + 256 }

// lazyJSON is an encoded value that is decoded when something reads it.
type lazyJSON json.RawMessage

// AppendJSON implements value.Deferred.
func (v lazyJSON) AppendJSON(dst []byte) []byte { return append(dst, v...) }

// Value implements value.Deferred.
func (v lazyJSON) Value() (any, error) { return value.Decode(v) }
