package exprlang

import "sync"

// Cache compiles equal sources in equal environments once. It serves one configuration, whose
// environments share their clock and limits. The zero value is ready for use; a Cache is safe for
// concurrent use.
type Cache struct {
	mu      sync.Mutex
	entries map[cacheKey]*cacheEntry // guarded by mu
}

type cacheKey struct {
	src, env string
	want     Want
}

type cacheEntry struct {
	once     sync.Once
	program  *Program
	problems []Problem
}

// Compile is like the function Compile. The program and the problems are shared.
func (c *Cache) Compile(src string, env Env, want Want) (*Program, []Problem) {
	key := cacheKey{src, string(env.appendFingerprint(nil)), want}
	c.mu.Lock()
	entry := c.entries[key]
	if entry == nil {
		if c.entries == nil {
			c.entries = map[cacheKey]*cacheEntry{}
		}
		entry = &cacheEntry{}
		c.entries[key] = entry
	}
	c.mu.Unlock()
	entry.once.Do(func() { entry.program, entry.problems = Compile(src, env, want) })
	return entry.program, entry.problems
}
