package functions

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hatchel/hcl/value"
)

// Context holds the data of a call that functions read, and their memory budget. It must not be
// used concurrently.
type Context struct {
	// Now returns the current time. It is nil where that is not available.
	Now func() time.Time
	// ReadFile reads from the configuration directory. It is nil where files are not available.
	ReadFile func(name string) ([]byte, error)
	// Memory is the number of bytes that may still be allocated. Every function subtracts the size
	// of its result.
	Memory int
	// Patterns caches compiled regular expressions. It may be nil.
	Patterns *Patterns
}

// DefaultMemory is a suitable Context.Memory for one call.
const DefaultMemory = 64 << 20

// ErrMemory reports that a computation exceeds its memory budget.
var ErrMemory = errors.New("the result is too large")

// MaxComparedSize is the maximum Size of values that are compared or searched.
const MaxComparedSize = 16 << 20

const (
	itemSize  = 16 // of a list element, without the value
	entrySize = 64 // of an object member, without key and value
)

// Spend subtracts n bytes from the budget. If they exceed it, Spend returns ErrMemory and the
// budget is exhausted.
func (c *Context) Spend(n int) error {
	if n < 0 || n > c.Memory {
		c.Memory = 0
		return ErrMemory
	}
	c.Memory -= n
	return nil
}

// text subtracts the size of s from the budget and returns s.
func (c *Context) text(s string) (any, error) {
	if err := c.Spend(len(s)); err != nil {
		return nil, err
	}
	return s, nil
}

// items subtracts n list elements from the budget.
func (c *Context) items(n int) error {
	if n > c.Memory/itemSize {
		return c.Spend(-1)
	}
	return c.Spend(n * itemSize)
}

// entries subtracts n object members from the budget.
func (c *Context) entries(n int) error { return c.Spend(entrySize * n) }

// key subtracts the key of v, which is as long as the value, from the budget and returns it.
func (c *Context) key(v any) (string, error) {
	n, err := Size(v, c.Memory)
	if err != nil {
		return "", err
	}
	if err := c.Spend(n + itemSize); err != nil {
		return "", err
	}
	return string(value.AppendKey(nil, v)), nil
}

// checkSize returns an error if v is too large to be compared or searched.
func checkSize(v any) error {
	_, err := Size(v, MaxComparedSize)
	return err
}

// Size returns the approximate length of the JSON of v, in bytes. Because parts of a value may be
// shared, this can exceed by far the memory that the value takes. Size returns an error if v has
// more than limit bytes or more than value.MaxDepth levels, and walks no further than that. A value
// that has a Size may be walked recursively.
func Size(v any, limit int) (int, error) {
	left := limit
	err := subtractSize(&left, v, 0)
	return limit - left, err
}

func subtractSize(left *int, v any, depth int) error {
	if depth > value.MaxDepth {
		return fmt.Errorf("the value is nested more than %d levels deep", value.MaxDepth)
	}
	switch v := v.(type) {
	case string:
		*left -= len(v) + 2
	case json.Number:
		*left -= len(v)
	case value.Bytes:
		*left -= len(v)
	case value.LazyJSON:
		*left -= len(v.AppendJSON(nil))
	case []any:
		*left -= 2
		for _, e := range v {
			if err := subtractSize(left, e, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		*left -= 2
		for k, e := range v {
			*left -= len(k) + 3
			if err := subtractSize(left, e, depth+1); err != nil {
				return err
			}
		}
	default:
		*left -= 4
	}
	if *left--; *left < 0 {
		return ErrMemory
	}
	return nil
}
