package result

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"hatchel/runtime/digest"
)

// Cache holds recent results of tools that only read, by a digest of what they were asked. It
// outlives generations: a changed tool has other digests.
type Cache struct {
	mu       sync.Mutex
	entries  *simplelru.LRU[digest.Digest, cacheEntry] // guarded by mu
	size     int                                       // bytes, about; guarded by mu
	inflight map[digest.Digest]*Flight                 // guarded by mu
}

// maxCacheSize is how many bytes of results a process caches. The least recently used are removed
// first.
const maxCacheSize = 64 << 20

type cacheEntry struct {
	result *Cached
	until  time.Time
}

// Flight is a running call that other calls wait for. Its owner sets the fields before Finish.
type Flight struct {
	done        chan struct{} // closed by Finish
	Result      *Cached       // nil when there is none that can be shared
	Err         error         // a failure that is that of the waiting calls, too
	Uncacheable bool          // the result cannot be cached
}

// NewCache returns an empty Cache.
func NewCache() *Cache {
	c := &Cache{inflight: map[digest.Digest]*Flight{}}
	// The error is that of a limit of 0.
	c.entries, _ = simplelru.NewLRU(math.MaxInt, func(_ digest.Digest, e cacheEntry) { c.size -= e.result.size() })
	return c
}

// Join returns a cached result, or else a flight: to wait for, or, where owner is set, to perform
// and to Finish.
func (c *Cache) Join(key digest.Digest) (result *Cached, flight *Flight, owner bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if entry, ok := c.entries.Get(key); ok && time.Now().Before(entry.until) {
		return entry.result, nil, false
	}
	c.entries.Remove(key)
	if flight := c.inflight[key]; flight != nil {
		return nil, flight, false
	}
	flight = &Flight{done: make(chan struct{})}
	c.inflight[key] = flight
	return nil, flight, true
}

// Finish wakes the calls that wait for a flight, and caches its result for ttl.
func (c *Cache) Finish(key digest.Digest, flight *Flight, ttl time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.inflight, key)
	close(flight.done)
	if flight.Result == nil {
		return
	}
	c.entries.Add(key, cacheEntry{flight.Result, time.Now().Add(ttl)})
	for c.size += flight.Result.size(); c.size > maxCacheSize; {
		c.entries.RemoveOldest()
	}
}

// Wait returns nil when the flight is finished, or the error of ctx if that ends before.
func (f *Flight) Wait(ctx context.Context) error {
	select {
	case <-f.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
