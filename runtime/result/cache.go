package result

import (
	"container/list"
	"context"
	"sync"
	"time"

	"hatchel/runtime/digest"
)

// Cache holds recent results of tools that only read, by a digest of what they were asked. It
// outlives generations: a changed tool has other digests.
type Cache struct {
	mu       sync.Mutex
	entries  map[digest.Digest]*list.Element // of *cacheEntry; guarded by mu
	recent   *list.List                      // the same, most recently used first; guarded by mu
	size     int                             // bytes, about; guarded by mu
	inflight map[digest.Digest]*Flight       // guarded by mu
}

// maxCacheSize is how many bytes of results a process caches. The least recently used are removed
// first.
const maxCacheSize = 64 << 20

type cacheEntry struct {
	key    digest.Digest
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
	return &Cache{
		entries: map[digest.Digest]*list.Element{}, recent: list.New(), inflight: map[digest.Digest]*Flight{},
	}
}

// Join returns a cached result, or else a flight: to wait for, or, where owner is set, to perform
// and to Finish.
func (c *Cache) Join(key digest.Digest) (result *Cached, flight *Flight, owner bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if element := c.entries[key]; element != nil {
		entry := element.Value.(*cacheEntry)
		if time.Now().Before(entry.until) {
			c.recent.MoveToFront(element)
			return entry.result, nil, false
		}
		c.remove(element)
	}
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
	c.entries[key] = c.recent.PushFront(&cacheEntry{key, flight.Result, time.Now().Add(ttl)})
	for c.size += flight.Result.size(); c.size > maxCacheSize; {
		c.remove(c.recent.Back())
	}
}

// remove removes an entry. The caller holds mu.
func (c *Cache) remove(element *list.Element) {
	entry := c.recent.Remove(element).(*cacheEntry)
	delete(c.entries, entry.key)
	c.size -= entry.result.size()
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
