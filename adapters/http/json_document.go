package http

import (
	"fmt"
	"sync"

	"hatchel/hcl/value"
)

// jsonDocument is the JSON body of a response. Its syntax is checked, and it is decoded on first use.
type jsonDocument struct {
	raw  []byte // compact; never modified
	once sync.Once
	v    any
	err  error
}

// AppendJSON implements value.Deferred.
func (d *jsonDocument) AppendJSON(dst []byte) []byte { return append(dst, d.raw...) }

// Value implements value.Deferred. It fails if an object has a duplicate key.
func (d *jsonDocument) Value() (any, error) {
	d.once.Do(func() {
		if d.v, d.err = value.Decode(d.raw); d.err != nil {
			d.err = fmt.Errorf("the service's response cannot be decoded: %w", d.err)
		}
	})
	return d.v, d.err
}
