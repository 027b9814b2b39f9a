package credential

import (
	"context"
	"crypto/sha256"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// maxCallers is the maximum number of callers whose credentials a connection keeps.
const maxCallers = 10_000

// Caller is on whose behalf a credential is fetched: the owner of a call, and the token that the caller has
// authenticated with. The zero Caller is the server itself.
type Caller struct {
	Owner string
	Token string
}

// Callers holds the credentials of a connection for its callers: one for each token of a caller. It evicts the least
// recently used one. It may be used concurrently.
type Callers[T any] struct {
	fetches *Fetches

	mu     sync.Mutex
	caches *simplelru.LRU[callerKey, *Cache[T]] // guarded by mu
}

// callerKey is a caller and the digest of the caller's token, which is not kept.
type callerKey struct {
	owner  string
	digest [sha256.Size]byte
}

// NewCallers returns empty caches.
func NewCallers[T any](fetches *Fetches) *Callers[T] {
	caches, _ := simplelru.NewLRU[callerKey, *Cache[T]](maxCallers, nil) // it fails for size 0 only
	return &Callers[T]{fetches: fetches, caches: caches}
}

// Get returns the credential of a caller, as Cache.Get does.
func (c *Callers[T]) Get(
	ctx context.Context, of Caller, fetch func(context.Context) (T, Life, error),
) (credential T, err error) {
	return c.cacheOf(of).get(ctx, fetch)
}

// Invalidate drops the credential of a caller, as Cache.Invalidate does.
func (c *Callers[T]) Invalidate(of Caller, refused func(T) bool) { c.cacheOf(of).Invalidate(refused) }

// Status returns what the cache of the server itself holds. It fetches nothing.
func (c *Callers[T]) Status() Status { return c.cacheOf(Caller{}).Status() }

func (c *Callers[T]) cacheOf(of Caller) *Cache[T] {
	key := callerKey{of.Owner, sha256.Sum256([]byte(of.Token))}
	c.mu.Lock()
	defer c.mu.Unlock()
	cache, ok := c.caches.Get(key)
	if !ok {
		cache = NewCache[T](c.fetches, nil)
		c.caches.Add(key, cache)
	}
	return cache
}
