package approval_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/stage/approval"
)

// ended opens an approval and lets it be decided; not at all for an empty decision.
func ended(t *testing.T, b *approval.Store, r approval.Request, decision string) {
	t.Helper()
	a, isNew, err := b.Open(t.Context(), strconv.FormatInt(time.Now().UnixNano(), 10), r)
	if err == nil && isNew && decision != "" {
		_, err = b.Decide(t.Context(), a.ID, decision == "approve", by("bob"))
	}
	if err != nil || !isNew {
		t.Fatal(isNew, err)
	}
	time.Sleep(time.Second)
}

func TestHistoryCountsWhatOneCallerHasAskedOfOneToolInAWeek(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newBook(t)
		ended(t, b, request("ann"), "approve") // too long ago
		time.Sleep(7*24*time.Hour - 30*time.Second)
		for _, decision := range []string{"approve", "approve", "reject", ""} {
			ended(t, b, request("ann"), decision)
		}
		ended(t, b, request("eve"), "approve")
		foreign, other := request("ann"), request("ann")
		foreign.Caller.Key, other.Tool = "issuer", "export"
		ended(t, b, foreign, "approve")
		ended(t, b, other, "reject")
		time.Sleep(20 * time.Minute) // until one has expired, and two were not used
		current, _, err := b.Open(t.Context(), "current", request("ann"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.History(t.Context(), current)
		if want := (approval.History{Approved: 2, Rejected: 1, Expired: 1}); err != nil || *got != want {
			t.Errorf("got %+v, %v", got, err)
		}
		for range 500 {
			ended(t, b, request("eve"), "reject")
		}
		if got, err = b.History(t.Context(), current); err != nil || !got.Incomplete {
			t.Errorf("with more than can be read: %+v, %v", got, err)
		}
	})
}

func TestAnUnidentifiedCallerHasNoHistory(t *testing.T) {
	b, _ := newBook(t)
	a, _, err := b.Open(t.Context(), "x", request(""))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := b.History(t.Context(), a); got != nil || err != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}
