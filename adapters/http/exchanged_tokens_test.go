package http

import (
	"strconv"
	"testing"
)

func TestExchangedTokensAreEvicted(t *testing.T) {
	x := newExchangedTokens(&tokenServer{})
	cacheOf := func(n int) *tokenCache { return x.cacheOf("ada", subject{token: strconv.Itoa(n)}) }
	used, unused := cacheOf(0), cacheOf(1)
	for n := range maxExchangedTokens {
		if cacheOf(0) != used {
			t.Fatalf("the token that is always used was evicted after %d others", n)
		}
		cacheOf(2 + n)
	}
	t.Run("beyond the maximum", func(t *testing.T) {
		if n := x.caches.Len(); n != maxExchangedTokens {
			t.Errorf("%d tokens are kept", n)
		}
	})
	t.Run("beginning with the least recently used", func(t *testing.T) {
		if cacheOf(1) == unused {
			t.Error("the unused token is still kept")
		}
	})
	t.Run("and never shared between callers", func(t *testing.T) {
		if x.cacheOf("bob", subject{token: "0"}) == used {
			t.Error("another caller has the same token")
		}
	})
}
