package functions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"hatchel/hcl/value"
)

// Context holds the data of a call that functions read, and their budgets of memory and time. It must not be
// used concurrently.
type Context struct {
	// Call ends with the time of the call. It is nil for what is computed at load, which has a budget of elements.
	Call context.Context
	// Now returns the current time. It is nil where that is not available.
	Now func() time.Time
	// ReadFile reads from the configuration directory. It is nil where files are not available.
	ReadFile func(name string) ([]byte, error)
	// Memory is the number of bytes that may still be allocated. Every function subtracts the size
	// of its result.
	Memory int
	// Patterns caches compiled regular expressions. It may be nil.
	Patterns *Patterns

	elements int // computed since the last check
	loaded   int // computed at load
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

// Text is value.Text within the budget of time.
func (c *Context) Text(v any) (string, error) {
	switch v.(type) {
	case []any, map[string]any:
		text, err := value.AppendJSONSteps(nil, v, c.Step)
		return string(text), err
	}
	return value.Text(v)
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
	n, err := c.Size(v, c.Memory)
	if err != nil {
		return "", err
	}
	if err := c.Spend(n + itemSize); err != nil {
		return "", err
	}
	if err := c.Step(value.Elements(v)); err != nil {
		return "", err
	}
	key, err := value.AppendKeySteps(nil, v, c.Step)
	return string(key), err
}

// checkSize returns an error if v is too large to be compared or searched.
func (c *Context) checkSize(v any) error {
	_, err := c.Size(v, MaxComparedSize)
	return err
}

const (
	checkEvery      = 4096       // elements that are computed between two checks of the context
	maxLoadElements = 50_000_000 // that are computed at load for one value
)

// ErrTime reports that a value that is known at load takes too long to compute.
var ErrTime = errors.New("the computation needs too many steps")

// Step is a value.Step: it accounts for n elements that are computed next. Its error says that the call has ended.
// A function that computes many elements calls it for no more than checkEvery at a time.
func (c *Context) Step(n int) error {
	if c.elements += n; c.elements < checkEvery {
		return nil
	}
	return c.check()
}

func (c *Context) check() error {
	n := c.elements
	c.elements = 0
	if c.Call == nil {
		if c.loaded += n; c.loaded > maxLoadElements {
			return ErrTime
		}
		return nil
	}
	if err := c.Call.Err(); err != nil {
		return fmt.Errorf("the time of the call is over: %w", err)
	}
	return nil
}

// steps is Step for n elements of the same weight.
func (c *Context) steps(n, weight int) error {
	for ; n > 0; n-- {
		if err := c.Step(weight); err != nil {
			return err
		}
	}
	return nil
}

// each calls do for every element of a list, within the budget of time.
func (c *Context) each(list []any, do func(i int, e any) error) error {
	for i, e := range list {
		if err := c.Step(value.Elements(e)); err != nil {
			return err
		}
		if err := do(i, e); err != nil {
			return err
		}
	}
	return nil
}

// appendAll appends the elements of list, within the budgets.
func (c *Context) appendAll(out, list []any) ([]any, error) {
	if err := c.items(len(list)); err != nil {
		return nil, err
	}
	out = slices.Grow(out, len(list))
	for part := range slices.Chunk(list, checkEvery) {
		if err := c.Step(len(part)); err != nil {
			return nil, err
		}
		out = append(out, part...)
	}
	return out, nil
}

// bytesOfElement is how many bytes of a text count as one element.
const bytesOfElement = 64

// scan accounts for an operation that reads a text once.
func (c *Context) scan(text int) error { return c.Step(text / bytesOfElement) }

// Size returns the approximate length of the JSON of v, in bytes. Because parts of a value may be
// shared, this can exceed by far the memory that the value takes. Size returns an error if v has
// more than limit bytes or more than value.MaxDepth levels, and walks no further than that. A value
// that has a Size may be walked recursively.
func Size(v any, limit int) (int, error) { return size(v, limit, nil) }

// Size is the function Size within the budget of time.
func (c *Context) Size(v any, limit int) (int, error) { return size(v, limit, c.Step) }

func size(v any, limit int, step value.Step) (int, error) {
	left := limit
	err := subtractSize(&left, v, 0, step)
	return limit - left, err
}

func subtractSize(left *int, v any, depth int, step value.Step) error {
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
			if err := step.Take(1); err != nil {
				return err
			}
			if err := subtractSize(left, e, depth+1, step); err != nil {
				return err
			}
		}
	case map[string]any:
		*left -= 2
		for k, e := range v {
			*left -= len(k) + 3
			if err := step.Take(1); err != nil {
				return err
			}
			if err := subtractSize(left, e, depth+1, step); err != nil {
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
