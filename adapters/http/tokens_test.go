package http

import (
	"strconv"
	"testing"

	"hatchel/adapters"
)

func TestExchangedTokensAreEvicted(t *testing.T) {
	x := newTokens(&oauth2{}, &service{ctx: t.Context()}, adapters.Env{Defer: func(func() error) {}})
	cacheOf := func(n int) *tokenCache { return x.cacheOf(subject{owner: "ada", token: strconv.Itoa(n)}) }
	used, unused := cacheOf(0), cacheOf(1)
	for n := range maxTokens {
		if cacheOf(0) != used {
			t.Fatalf("the token that is always used was evicted after %d others", n)
		}
		cacheOf(2 + n)
	}
	t.Run("beyond the maximum", func(t *testing.T) {
		if n := x.caches.Len(); n != maxTokens {
			t.Errorf("%d tokens are kept", n)
		}
	})
	t.Run("beginning with the least recently used", func(t *testing.T) {
		if cacheOf(1) == unused {
			t.Error("the unused token is still kept")
		}
	})
	t.Run("and never shared between callers", func(t *testing.T) {
		if x.cacheOf(subject{owner: "bob", token: "0"}) == used {
			t.Error("another caller has the same token")
		}
	})
}
