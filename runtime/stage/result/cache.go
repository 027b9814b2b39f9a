package result

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"hatchel/adapters"
	"hatchel/hcl/value"
	"hatchel/internal/digest"
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

// Size returns how many results are cached, and how many bytes they have, about.
func (c *Cache) Size() (results, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entries.Len(), c.size
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

// MaxCached is the maximum size in bytes of a result that is cached or kept for an idempotency key.
const MaxCached = 4 << 20

var errTooLarge = errors.New("the result of a call is too large to be cached")

// Cached is a shaped result before it is encoded, so that another call can have the same result.
type Cached struct {
	Value     json.RawMessage `json:"value,omitempty"` // nil when there is none
	Plain     bool            `json:"plain,omitempty"` // the value is a string
	HasText   bool            `json:"has_text,omitempty"`
	Text      []byte          `json:"text,omitempty"`
	Blocks    []byte          `json:"blocks,omitempty"`
	HasBlocks bool            `json:"has_blocks,omitempty"`
	Cut       *adapters.Cut   `json:"cut,omitempty"`
	Meta      json.RawMessage `json:"meta,omitempty"`

	Received adapters.Received `json:"received,omitzero"`
	// Lifted are the masks that showed the caller values: one who may not see these any more does not get the result.
	Lifted []string `json:"lifted,omitempty"`

	// Failures has those of a call that has failed in part; nil for another one.
	Failures *adapters.Failures `json:"partial,omitempty"`
}

// Cached returns a copy of a shaped result that can be cached. It fails for a result that is too
// large.
func (r *Result) Cached() (_ *Cached, err error) {
	c := &Cached{
		HasText: r.HasText, Text: bytes.Clone(r.Text), HasBlocks: r.HasBlocks, Blocks: bytes.Clone(r.Blocks),
		Cut: r.Cut, Received: r.Received, Lifted: r.Lifted, Meta: r.Meta,
	}
	if f := r.Failures; f.Failed > 0 {
		c.Failures = &f
	}
	if r.HasValue {
		_, c.Plain = r.Value.(string)
		if c.Value, err = value.AppendJSON(nil, r.Value); err != nil {
			return nil, err
		}
	}
	if c.size() > MaxCached {
		return nil, errTooLarge
	}
	return c, nil
}

// Restore makes r the result that c was copied from.
func (r *Result) Restore(c *Cached) (err error) {
	*r = Result{
		HasValue: c.Value != nil, HasText: c.HasText, HasBlocks: c.HasBlocks, Cut: c.Cut, Received: c.Received,
		Lifted: c.Lifted, Meta: c.Meta, Buffers: r.Buffers,
	}
	if c.Failures != nil {
		r.Failures = *c.Failures
		r.Failures.Cause = nil // is in the log of the call that has failed
	}
	r.Text, r.Blocks = append(r.Text[:0], c.Text...), append(r.Blocks[:0], c.Blocks...)
	switch {
	case c.Plain:
		r.Value, err = lazyJSON(c.Value).Value()
	case c.Value != nil:
		r.Value = lazyJSON(c.Value)
	}
	return err
}

// size returns about how many bytes the result takes.
func (c *Cached) size() int { return len(c.Value) + len(c.Text) + len(c.Blocks) + len(c.Meta) + 256 }

// lazyJSON is an encoded value that is decoded when something reads it.
type lazyJSON json.RawMessage

// AppendJSON implements value.LazyJSON.
func (v lazyJSON) AppendJSON(dst []byte) []byte { return append(dst, v...) }

// Value implements value.LazyJSON.
func (v lazyJSON) Value() (any, error) { return value.Decode(v) }
