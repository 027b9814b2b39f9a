package credential_test

import (
	"context"
	"strconv"
	"testing"

	"hatchel/adapters"
	"hatchel/adapters/credential"
)

func TestCredentialsOfCallersAreEvicted(t *testing.T) {
	const maxCallers = 10_000
	fetches := 0
	x := credential.NewCallers[int](credential.NewFetches(t.Context(), adapters.Env{Defer: func(func() error) {}}))
	get := func(owner string, token int) int {
		t.Helper()
		of := credential.Caller{Owner: owner, Token: strconv.Itoa(token)}
		got, err := x.Get(t.Context(), of, func(context.Context) (int, credential.Life, error) {
			fetches++
			return fetches, credential.Life{}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	used, unused := get("ada", 0), get("ada", 1)
	for n := range maxCallers {
		if get("ada", 0) != used {
			t.Fatalf("the credential that is always used was evicted after %d others", n)
		}
		get("ada", 2+n)
	}
	t.Run("beginning with the least recently used", func(t *testing.T) {
		if get("ada", 1) == unused {
			t.Error("the unused credential is still kept")
		}
	})
	t.Run("not below the maximum", func(t *testing.T) {
		if before := fetches; get("ada", maxCallers) == 0 || fetches != before {
			t.Errorf("%d more were fetched", fetches-before)
		}
	})
	t.Run("and never shared between callers", func(t *testing.T) {
		if get("bob", 0) == used {
			t.Error("another caller has the same credential")
		}
	})
}
