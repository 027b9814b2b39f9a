package approval_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/durable/state"
	"hatchel/runtime/stage/approval"
)

func TestOneApprovalIsOpenForAPurpose(t *testing.T) {
	onEveryStore(t, func(t *testing.T, open func() state.Store) {
		books := bothBooks(open)
		ids := make([]string, 32)
		requested := concurrently(func(i int) bool {
			a, isNew, err := books[i%2].Open(t.Context(), "same", request("ann"))
			if err != nil {
				t.Error(err)
				return false
			}
			ids[i] = a.ID
			return isNew
		})
		if requested != 1 {
			t.Errorf("%d approvals were requested", requested)
		}
		for _, id := range ids {
			if id != ids[0] {
				t.Errorf("callers got %s and %s", ids[0], id)
			}
		}
		openNew(t, books[0], "other")
	})
}

func TestOneOfConcurrentDecisionsWins(t *testing.T) {
	onEveryStore(t, func(t *testing.T, open func() state.Store) {
		books := bothBooks(open)
		a := openNew(t, books[0], "x")
		winners, reported := make(chan string, 32), make(chan string, 32)
		won := concurrently(func(i int) bool {
			_, err := books[i%2].Decide(t.Context(), a.ID, i%3 == 0, by(fmt.Sprint(i)))
			var already *approval.DecidedError
			switch {
			case err == nil:
				winners <- fmt.Sprint(i)
			case errors.As(err, &already):
				reported <- already.Decision.By
			default:
				t.Error(err)
			}
			return err == nil
		})
		if won != 1 {
			t.Fatalf("%d decisions were stored", won)
		}
		winner := <-winners
		for range 31 {
			if got := <-reported; got != winner {
				t.Errorf("the error names %s, and %s has decided", got, winner)
			}
		}
	})
}

func TestApprovalIsUsedOnce(t *testing.T) {
	onEveryStore(t, func(t *testing.T, open func() state.Store) {
		books := bothBooks(open)
		a := openNew(t, books[0], "x")
		t.Run("not before it is approved", func(t *testing.T) {
			if use(t, books[0], a) {
				t.Error("it was used")
			}
		})
		decide(t, books[1], a, true)
		t.Run("by any call for the same purpose", func(t *testing.T) {
			same, isNew, err := books[0].Open(t.Context(), "x", request("ann"))
			if isNew || err != nil || same.ID != a.ID || same.Status != approval.Approved {
				t.Errorf("Open = %+v, %t, %v", same, isNew, err)
			}
		})
		t.Run("by one of concurrent calls", func(t *testing.T) {
			if used := concurrently(func(i int) bool { return use(t, books[i%2], a) }); used != 1 {
				t.Errorf("it was used %d times", used)
			}
		})
		t.Run("and the next call needs a new one", func(t *testing.T) {
			if next := openNew(t, books[1], "x"); next.ID == a.ID {
				t.Error("it is the same")
			}
		})
	})
}

func TestRejectedApproval(t *testing.T) {
	b, _ := newBook(t)
	a := openNew(t, b, "x")
	got, err := b.Decide(t.Context(), strings.ToLower(a.ID), false, by("bob"))
	if err != nil || got.Status != approval.Rejected || got.Decision.Reason != "because" {
		t.Fatalf("Decide = %+v, %v", got, err)
	}
	t.Run("cannot be used", func(t *testing.T) {
		if use(t, b, a) {
			t.Error("it was used")
		}
	})
	t.Run("is found with its request and decision", func(t *testing.T) {
		found := find(t, b, a.ID)
		if found.Status != approval.Rejected || found.Decision.By != "bob" || string(found.Arguments) != `{"amount":120}` {
			t.Errorf("got %+v", found)
		}
	})
	t.Run("can be requested again", func(t *testing.T) { openNew(t, b, "x") })
}

func TestUndecidedApprovalExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newBook(t)
		a := openNew(t, b, "x")
		time.Sleep(5*time.Minute - time.Second)
		waited := make(chan *approval.Approval, 1)
		go func() {
			got, err := b.Wait(t.Context(), a, 0, nil)
			if err != nil {
				t.Error(err)
			}
			waited <- got
		}()
		time.Sleep(time.Second)
		if got := <-waited; got == nil || got.Status != approval.Expired {
			t.Errorf("Await returns %+v", got)
		}
		_, err := b.Decide(t.Context(), a.ID, true, by("bob"))
		if already := alreadyDecided(t, err); already.Status != approval.Expired || already.Error() != "nobody decided in time" {
			t.Errorf("Decide fails with %v", err)
		}
		if use(t, b, a) {
			t.Error("it was used")
		}
		openNew(t, b, "x")
		time.Sleep(2 * time.Hour)
		if found := find(t, b, a.ID); found != nil {
			t.Errorf("after 2 hours the store still has %+v", found)
		}
	})
}

func TestDecidedApprovalIsKeptForAWeek(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newBook(t)
		a := openNew(t, b, "x")
		decide(t, b, a, true)
		time.Sleep(6 * 24 * time.Hour)
		if found := find(t, b, a.ID); found == nil || found.Decision.By != "bob" || found.Status != approval.Expired {
			t.Errorf("after 6 days: %+v", found)
		}
		time.Sleep(2 * 24 * time.Hour)
		if found := find(t, b, a.ID); found != nil {
			t.Errorf("after 8 days: %+v", found)
		}
	})
}

func TestLateApprovalIsUsableForFiveMinutes(t *testing.T) {
	for claim, x := range map[string]struct {
		after time.Duration
		want  bool
	}{
		"before they have passed": {5*time.Minute - time.Second, true},
		"after they have passed":  {5*time.Minute + time.Second, false},
	} {
		t.Run(claim, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, _ := newBook(t)
				a := openNew(t, b, "x")
				time.Sleep(5*time.Minute - time.Second)
				decide(t, b, a, true)
				time.Sleep(x.after)
				if used := use(t, b, a); used != x.want {
					t.Errorf("used: %t", used)
				}
				if found := find(t, b, a.ID); !x.want && found.Status != approval.Expired {
					t.Errorf("the status is %s", found.Status)
				}
			})
		})
	}
}

func TestPendingApprovalsOfACallerAreLimited(t *testing.T) {
	b, _ := newBook(t)
	first := openNew(t, b, "0")
	for i := 1; i < approval.MaxPendingPerCaller; i++ {
		openNew(t, b, fmt.Sprint(i))
	}
	isNew := func(t *testing.T, purpose string, r approval.Request) bool {
		t.Helper()
		_, isNew, err := b.Open(t.Context(), purpose, r)
		if err != nil {
			t.Error(err)
		}
		return isNew
	}
	t.Run("a request beyond the limit fails", func(t *testing.T) {
		if _, _, err := b.Open(t.Context(), "more", request("ann")); !errors.Is(err, approval.ErrTooManyOfCaller) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a pending one is still found", func(t *testing.T) {
		if isNew(t, "7", request("ann")) {
			t.Error("it was requested again")
		}
	})
	t.Run("another caller has a limit of their own", func(t *testing.T) {
		if !isNew(t, "more", request("bob")) {
			t.Error("the purpose is taken")
		}
	})
	t.Run("the same subject of another issuer is another caller", func(t *testing.T) {
		r := request("ann")
		r.Caller.Key = "another issuer"
		if !isNew(t, "more of another issuer", r) {
			t.Error("the purpose is taken")
		}
	})
	t.Run("unidentified callers have no limit", func(t *testing.T) {
		for i := range approval.MaxPendingPerCaller + 50 {
			isNew(t, fmt.Sprint("unidentified ", i), request(""))
		}
	})
	t.Run("a decision makes room", func(t *testing.T) {
		decide(t, b, first, false)
		openNew(t, b, "more of ann")
	})
}

func TestIDs(t *testing.T) {
	b, _ := newBook(t)
	var ids []string
	for i := range 20 {
		ids = append(ids, openNew(t, b, fmt.Sprint(i)).ID)
	}
	t.Run("have 16 digits of Crockford's base 32", func(t *testing.T) {
		for _, id := range ids {
			if len(id) != 16 || strings.Trim(id, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") != "" {
				t.Error(id)
			}
		}
	})
	t.Run("sort by time", func(t *testing.T) {
		for i, id := range ids[1:] {
			if id == ids[i] || id[:9] < ids[i][:9] {
				t.Errorf("%s after %s", id, ids[i])
			}
		}
	})
	t.Run("are found in lower case and with similar letters", func(t *testing.T) {
		for _, id := range ids {
			typed := strings.ToLower(strings.NewReplacer("0", "o", "1", "l").Replace(id))
			if a := find(t, b, typed); a == nil || a.ID != id {
				t.Errorf("%s is not found as %s", id, typed)
			}
		}
	})
	for _, id := range []string{"", "x", strings.Repeat("U", 16), strings.Repeat("0", 17), "../../etc/passwd"} {
		t.Run(fmt.Sprintf("%q is not found", id), func(t *testing.T) {
			if a := find(t, b, id); a != nil {
				t.Errorf("got %+v", a)
			}
			if _, err := b.Decide(t.Context(), id, true, by("bob")); !errors.Is(err, approval.ErrNotFound) {
				t.Errorf("Decide fails with %v", err)
			}
		})
	}
}
