// Package logonce says what to log of problems that last.
package logonce

import (
	"maps"
	"sync"
)

// Changes has the problem of each of several things, so that it is logged once until it changes. Its zero value knows
// no problem, and its methods may be called concurrently.
type Changes struct {
	mu       sync.Mutex
	problems map[string]string // by thing; guarded by mu
}

// Set sets the problem of a thing, empty for none, and reports whether it is another one than before.
func (c *Changes) Set(thing, problem string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.problems[thing] == problem {
		return false
	}
	if c.problems == nil {
		c.problems = map[string]string{}
	}
	if c.problems[thing] = problem; problem == "" {
		delete(c.problems, thing)
	}
	return true
}

// Keep forgets the problems of all other things.
func (c *Changes) Keep(isKept func(thing string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.problems, func(thing, _ string) bool { return !isKept(thing) })
}
