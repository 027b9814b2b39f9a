package approval_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/approval"
	"hatchel/runtime/state"
)

func TestOneApprovalIsOpenForAPurpose(t *testing.T) {
	onEveryStore(t, func(t *testing.T, open func() state.Store) {
		books := []*approval.Book{approval.NewBook(open()), approval.NewBook(open())}
		ids := make([]string, 32)
		asked := concurrently(func(i int) bool {
			a, isNew, err := books[i%2].Open(t.Context(), "same", request("ann"))
			if err != nil {
				t.Error(err)
				return false
			}
			ids[i] = a.ID
			return isNew
		})
		for _, id := range ids {
			if id != ids[0] {
				t.Errorf("there are %s and %s", ids[0], id)
			}
		}
		if _, isNew, err := books[0].Open(t.Context(), "other", request("ann")); !isNew || err != nil || asked != 1 {
			t.Errorf("%d were asked for; for another purpose there is a new one: %v (%v)", asked, isNew, err)
		}
	})
}

func TestOneOfConcurrentDecisionsWins(t *testing.T) {
	onEveryStore(t, func(t *testing.T, open func() state.Store) {
		books := []*approval.Book{approval.NewBook(open()), approval.NewBook(open())}
		a := openNew(t, books[0], "x")
		winners := make(chan string, 32)
		told := make(chan string, 32)
		won := concurrently(func(i int) bool {
			_, err := books[i%2].Decide(t.Context(), a.ID, i%3 == 0, by(fmt.Sprint(i)))
			var already *approval.AlreadyError
			switch {
			case err == nil:
				winners <- fmt.Sprint(i)
			case errors.As(err, &already):
				told <- already.Decision.By
			default:
				t.Error(err)
			}
			return err == nil
		})
		if won != 1 {
			t.Fatalf("%d have decided", won)
		}
		winner := <-winners
		for range 31 {
			if got := <-told; got != winner {
				t.Errorf("%s has decided, and another is told that %s has", winner, got)
			}
		}
	})
}

func TestApprovalIsUsedOnce(t *testing.T) {
	onEveryStore(t, func(t *testing.T, open func() state.Store) {
		books := []*approval.Book{approval.NewBook(open()), approval.NewBook(open())}
		a := openNew(t, books[0], "x")
		use := func(i int) bool {
			used, err := books[i%2].Use(t.Context(), a)
			if err != nil {
				t.Error(err)
			}
			return used
		}
		if use(0) {
			t.Error("what nobody has approved is used")
		}
		if _, err := books[1].Decide(t.Context(), a.ID, true, by("bob")); err != nil {
			t.Fatal(err)
		}
		if again, isNew, err := books[0].Open(t.Context(), "x", request("ann")); isNew || err != nil || again.ID != a.ID || again.Status != approval.Approved {
			t.Errorf("the same call is asked afresh: %+v %v", again, err)
		}
		if used := concurrently(use); used != 1 {
			t.Errorf("it was used %d times", used)
		}
		if again, isNew, err := books[1].Open(t.Context(), "x", request("ann")); !isNew || err != nil || again.ID == a.ID {
			t.Errorf("the next call is not asked afresh: %+v %v", again, err)
		}
	})
}

func TestRejectedApprovalIsRequestedAnew(t *testing.T) {
	b, _ := newBook(t)
	a := openNew(t, b, "x")
	got, err := b.Decide(t.Context(), strings.ToLower(a.ID), false, by("bob"))
	if err != nil || got.Status != approval.Rejected || got.Decision.Reason != "because" {
		t.Fatalf("%+v %v", got, err)
	}
	if used, err := b.Use(t.Context(), a); used || err != nil {
		t.Errorf("it is used: %v", err)
	}
	if found, err := b.Find(t.Context(), a.ID); err != nil || found.Status != approval.Rejected || found.Decision.By != "bob" || string(found.Arguments) != `{"amount":120}` {
		t.Errorf("%+v %v", found, err)
	}
	openNew(t, b, "x")
}

func TestUndecidedApprovalExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newBook(t)
		a := openNew(t, b, "x")
		time.Sleep(5*time.Minute - time.Second)
		waited := make(chan *approval.Approval, 1)
		go func() {
			got, err := b.Await(t.Context(), a, 0, nil)
			if err != nil {
				t.Error(err)
			}
			waited <- got
		}()
		time.Sleep(time.Second)
		if got := <-waited; got == nil || got.Status != approval.Expired {
			t.Errorf("who waits is told %+v", got)
		}
		_, err := b.Decide(t.Context(), a.ID, true, by("bob"))
		var already *approval.AlreadyError
		if !errors.As(err, &already) || already.Status != approval.Expired || already.Error() != "nobody decided in time" {
			t.Errorf("it is decided: %v", err)
		}
		if used, err := b.Use(t.Context(), a); used || err != nil {
			t.Errorf("it is used: %v", err)
		}
		openNew(t, b, "x")
		time.Sleep(2 * time.Hour)
		if found, err := b.Find(t.Context(), a.ID); found != nil || err != nil {
			t.Errorf("after 2 hours there is %+v (%v)", found, err)
		}
	})
}

func TestDecidedApprovalIsKeptForAWeek(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newBook(t)
		a := openNew(t, b, "x")
		if _, err := b.Decide(t.Context(), a.ID, true, by("bob")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(6 * 24 * time.Hour)
		if found, err := b.Find(t.Context(), a.ID); err != nil || found == nil || found.Decision.By != "bob" || found.Status != approval.Expired {
			t.Errorf("after 6 days there is %+v (%v)", found, err)
		}
		time.Sleep(2 * 24 * time.Hour)
		if found, err := b.Find(t.Context(), a.ID); found != nil || err != nil {
			t.Errorf("after 8 days there is %+v (%v)", found, err)
		}
	})
}

func TestLateApprovalIsUsableForFiveMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for after, usable := range map[time.Duration]bool{5*time.Minute - time.Second: true, 5*time.Minute + time.Second: false} {
			b, _ := newBook(t)
			a := openNew(t, b, "x")
			time.Sleep(5*time.Minute - time.Second)
			if _, err := b.Decide(t.Context(), a.ID, true, by("bob")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(after)
			if used, err := b.Use(t.Context(), a); used != usable || err != nil {
				t.Errorf("%v later it is used: %v (%v)", after, used, err)
			}
			if found, _ := b.Find(t.Context(), a.ID); !usable && found.Status != approval.Expired {
				t.Errorf("it is %s", found.Status)
			}
		}
	})
}

func TestPendingApprovalsOfACallerAreLimited(t *testing.T) {
	b, _ := newBook(t)
	first := openNew(t, b, "0")
	for i := 1; i < 1024; i++ {
		openNew(t, b, fmt.Sprint(i))
	}
	if _, _, err := b.Open(t.Context(), "more", request("ann")); !errors.Is(err, approval.ErrShare) {
		t.Errorf("one more: %v", err)
	}
	if _, isNew, err := b.Open(t.Context(), "7", request("ann")); isNew || err != nil {
		t.Errorf("one that is open is not found: %v", err)
	}
	if _, isNew, err := b.Open(t.Context(), "more", request("bob")); !isNew || err != nil {
		t.Errorf("another caller: %v", err)
	}
	namesake := request("ann")
	namesake.Caller.Key = "another issuer"
	if _, isNew, err := b.Open(t.Context(), "more of a namesake", namesake); !isNew || err != nil {
		t.Errorf("one of the same name: %v", err)
	}
	for i := range 1100 {
		if _, _, err := b.Open(t.Context(), fmt.Sprint("of nobody ", i), request("")); err != nil {
			t.Fatalf("where nobody is asked who they are: %v", err)
		}
	}
	if _, err := b.Decide(t.Context(), first.ID, false, by("bob")); err != nil {
		t.Fatal(err)
	}
	openNew(t, b, "more of ann")
}

func TestIDsAreEasyToTypeAndSortByTime(t *testing.T) {
	b, _ := newBook(t)
	seen, last := map[string]bool{}, ""
	for i := range 20 {
		id := openNew(t, b, fmt.Sprint(i)).ID
		if len(id) != 16 || strings.Trim(id, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") != "" || seen[id] || id[:9] < last {
			t.Errorf("%s after %s", id, last)
		}
		seen[id], last = true, id[:9]
		typed := strings.ToLower(strings.NewReplacer("0", "o", "1", "l").Replace(id))
		if a, err := b.Find(t.Context(), typed); err != nil || a == nil || a.ID != id {
			t.Errorf("%s is not found: %+v (%v)", typed, a, err)
		}
	}
	for _, id := range []string{"", "x", strings.Repeat("U", 16), strings.Repeat("0", 17), "../../etc/passwd"} {
		if a, err := b.Find(t.Context(), id); a != nil || err != nil {
			t.Errorf("%q: %+v %v", id, a, err)
		}
		if _, err := b.Decide(t.Context(), id, true, by("bob")); !errors.Is(err, approval.ErrUnknown) {
			t.Errorf("%q: %v", id, err)
		}
	}
}
