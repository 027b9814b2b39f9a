package http

import (
	"strconv"
	"testing"
)

// Whose token was not asked for the longest makes room for others.
func TestOnlySoManyTokensAreKept(t *testing.T) {
	x := newExchanges(&tokenServer{})
	of := func(n int) *tokens { return x.tokens("ada", subject{token: strconv.Itoa(n)}) }
	first, second := of(0), of(1)
	for n := range mostExchanged {
		if of(0) != first {
			t.Fatalf("after %d others the one that is asked for all the time is gone", n)
		}
		of(2 + n)
	}
	if len(x.of) != mostExchanged || x.recent.Len() != mostExchanged {
		t.Errorf("%d and %d are kept", len(x.of), x.recent.Len())
	}
	if of(1) == second {
		t.Error("the one that was not asked for is still kept")
	}
	if x.tokens("bob", subject{token: "0"}) == first {
		t.Error("two callers have the same")
	}
}
