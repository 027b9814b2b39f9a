package result

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"hatchel/adapters/scrub"
)

// Rotation remembers the values that secrets had, because a service or a file may still answer with an earlier one. The
// zero Rotation remembers none. It is safe for concurrent use.
type Rotation struct {
	mu      sync.Mutex
	current []string             // guarded by mu
	until   map[string]time.Time // guarded by mu: by value, when it was known to be current for the last time
}

const (
	// rotatedFor is how long a value stays known after it was replaced.
	rotatedFor = 24 * time.Hour
	// maxRotated and maxRotatedSize limit the earlier values; of more, the latest are known.
	maxRotated     = 1000
	maxRotatedSize = 1 << 20 // bytes
)

// NewScrubber returns a Scrubber for the values that secrets have now, and for those that they had within the last day.
func (r *Rotation) NewScrubber(secrets []string, now time.Time) *scrub.Scrubber {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.until == nil {
		r.until = map[string]time.Time{}
	}
	for _, value := range r.current {
		r.until[value] = now
	}
	r.current = slices.Clone(secrets)
	for _, value := range secrets {
		delete(r.until, value)
	}
	latest := slices.SortedFunc(maps.Keys(r.until), func(a, b string) int {
		return cmp.Or(r.until[b].Compare(r.until[a]), cmp.Compare(a, b))
	})
	size, kept := 0, slices.Clone(secrets)
	for i, value := range latest {
		if size += len(value); i >= maxRotated || size > maxRotatedSize || now.Sub(r.until[value]) >= rotatedFor {
			delete(r.until, value)
			continue
		}
		kept = append(kept, value)
	}
	return scrub.New(kept)
}
