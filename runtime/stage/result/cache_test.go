package result

import (
	"fmt"
	"testing"
	"time"

	"hatchel/internal/digest"
)

func TestCacheIsBounded(t *testing.T) {
	c := NewCache()
	for i := range 200 {
		key := digest.Of(fmt.Sprint(i))
		_, flight, owner := c.Join(key)
		if !owner {
			t.Fatalf("%d is cached already", i)
		}
		flight.Result = &Cached{Text: make([]byte, 1<<20)}
		c.Finish(key, flight, time.Hour)
		c.Join(digest.Of("0"))
		if c.inflight[digest.Of("0")] != nil {
			t.Fatalf("a result in use was removed after %d", i)
		}
	}
	if c.size > maxCacheSize || c.entries.Len() < 50 {
		t.Errorf("%d entries of %d bytes", c.entries.Len(), c.size)
	}
	if cached, _, _ := c.Join(digest.Of("199")); cached == nil {
		t.Error("the newest result was removed")
	}
}
