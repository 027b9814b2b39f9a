package hcl

import (
	"crypto/sha256"
	"sync"
)

// Cache keeps what a load made of files that the next one finds unchanged: their syntax, and their tools while nothing that tools can see has changed.
// It is safe for concurrent use: loads with the same Cache run one after the other. A Cache serves one set of kinds, and one clock.
type Cache struct {
	mu      sync.Mutex
	files   map[[sha256.Size]byte]*sourceFile // guarded by mu, which a load holds
	globals *globals                          // guarded by mu
}

// NewCache returns an empty Cache.
func NewCache() *Cache { return &Cache{} }

// lock is held for a whole load; what it returns ends that.
func (c *Cache) lock() (unlock func()) {
	if c == nil {
		return func() {}
	}
	c.mu.Lock()
	return c.mu.Unlock
}

// parseFile returns the syntax of a file, from the load before if it is the same.
func (c *Cache) parseFile(name string, src []byte) *sourceFile {
	s := newSourceFile(name, src)
	if c != nil {
		if known := c.files[s.digest]; known != nil {
			return known
		}
	}
	return parseSource(s)
}

// reusableGlobals returns the globals of the load before when they have this key.
func (c *Cache) reusableGlobals(key string) *globals {
	if c == nil || c.globals == nil || c.globals.key != key {
		return nil
	}
	return c.globals
}

// store remembers these files and forgets all others.
func (c *Cache) store(files []*sourceFile, g *globals) {
	if c == nil {
		return
	}
	c.files = make(map[[sha256.Size]byte]*sourceFile, len(files))
	for _, f := range files {
		c.files[f.digest] = f
	}
	c.globals = g
}
