package runtime

import (
	"errors"
	"sync"
)

// cleanups are what must be undone when their owner goes. They run once, newest first.
type cleanups struct {
	mu   sync.Mutex
	list []func() error // guarded by mu
}

// add registers a cleanup.
func (c *cleanups) add(undo func() error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, undo)
}

// run undoes everything that was registered and not yet undone. Every cleanup runs, whatever the others return.
func (c *cleanups) run() error {
	c.mu.Lock()
	list := c.list
	c.list = nil
	c.mu.Unlock()
	var errs []error
	for i := len(list) - 1; i >= 0; i-- {
		errs = append(errs, list[i]())
	}
	return errors.Join(errs...)
}
