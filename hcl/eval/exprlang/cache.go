package exprlang

import "sync"

// A Cache compiles equal sources over equal environments once. It serves one configuration, whose environments share their clock and limits.
// The zero value is ready; it is safe for concurrent use.
type Cache struct {
	mu   sync.Mutex
	kept map[cacheKey]*cached // guarded by mu
}

type cacheKey struct {
	src, env string
	want     Want
}

type cached struct {
	once     sync.Once
	program  *Program
	problems []Problem
}

// Compile is like the function Compile; programs and problems are shared.
func (c *Cache) Compile(src string, env Env, want Want) (*Program, []Problem) {
	key := cacheKey{src, string(env.appendFingerprint(nil)), want}
	c.mu.Lock()
	entry := c.kept[key]
	if entry == nil {
		if c.kept == nil {
			c.kept = map[cacheKey]*cached{}
		}
		entry = &cached{}
		c.kept[key] = entry
	}
	c.mu.Unlock()
	entry.once.Do(func() { entry.program, entry.problems = Compile(src, env, want) })
	return entry.program, entry.problems
}
