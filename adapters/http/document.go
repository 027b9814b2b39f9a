package http

import (
	"fmt"
	"sync"

	"hatchel/hcl/value"
)

// A document is the JSON body of an answer. It was checked to be JSON and is not decoded before something looks inside.
type document struct {
	raw  []byte // compact; never changed
	once sync.Once
	v    any
	err  error
}

// AppendJSON implements value.Deferred.
func (d *document) AppendJSON(dst []byte) []byte { return append(dst, d.raw...) }

// Value implements value.Deferred. It fails where an object names a key twice: which one is meant cannot be known.
func (d *document) Value() (any, error) {
	d.once.Do(func() {
		if d.v, d.err = value.Decode(d.raw); d.err != nil {
			d.err = fmt.Errorf("the service's answer cannot be read: %w", d.err)
		}
	})
	return d.v, d.err
}
