package approval_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"hatchel/runtime/durable/state"
	"hatchel/runtime/stage/approval"
)

// void reports whether an approval was voided.
func void(t testing.TB, b *approval.Store, a *approval.Approval) bool {
	t.Helper()
	voided, err := b.Void(t.Context(), a.ID, "the tool was removed")
	if err != nil {
		t.Fatal(err)
	}
	return voided
}

func TestVoidApproval(t *testing.T) {
	onEveryStore(t, func(t *testing.T, open func() state.Store) {
		b := approval.NewStore(open())
		a := openNew(t, b, "x")
		if !void(t, b, a) {
			t.Fatal("it was not voided")
		}
		for claim, approved := range map[string]bool{"cannot be approved": true, "cannot be rejected": false} {
			t.Run(claim, func(t *testing.T) {
				_, err := b.Decide(t.Context(), a.ID, approved, by("ann"))
				if already := alreadyDecided(t, err); already.Status != approval.Void || already.Decision.By != approval.Server {
					t.Errorf("Decide fails with %v", err)
				}
			})
		}
		t.Run("cannot be proposed", func(t *testing.T) {
			_, err := b.Propose(t.Context(), a.ID, true, by("ann"), true)
			alreadyDecided(t, err)
		})
		t.Run("cannot be voided again", func(t *testing.T) {
			if void(t, b, a) {
				t.Error("it was voided")
			}
		})
		t.Run("can be requested again", func(t *testing.T) {
			if again := openNew(t, b, "x"); again.ID == a.ID {
				t.Error("it is the same")
			}
		})
		t.Run("keeps the reason", func(t *testing.T) {
			if now := find(t, b, a.ID); now.Status != approval.Void || now.Decision.Reason != "the tool was removed" {
				t.Errorf("got %+v", now)
			}
		})
	})
}

func TestVoidLeavesDecisionsAlone(t *testing.T) {
	b, _ := newBook(t)
	for claim, approved := range map[string]bool{"approved": true, "rejected": false} {
		t.Run(claim, func(t *testing.T) {
			a := openNew(t, b, claim)
			decide(t, b, a, approved)
			if void(t, b, a) { // a is still the pending approval
				t.Error("it was voided")
			}
		})
	}
	t.Run("proposed", func(t *testing.T) {
		a := openNew(t, b, "proposed")
		p, err := b.Propose(t.Context(), a.ID, true, by("ann"), true)
		if err != nil {
			t.Fatal(err)
		}
		if void(t, b, a) {
			t.Error("it was voided")
		}
		if now, err := b.Confirm(t.Context(), p); err != nil || now.Status != approval.Approved {
			t.Errorf("Confirm = %+v, %v", now, err)
		}
	})
}

func TestVoidAllSelectsByToolAndSeal(t *testing.T) {
	onEveryStore(t, func(t *testing.T, open func() state.Store) {
		b := approval.NewStore(open())
		want := map[string]approval.Status{}
		for i := range 700 { // more than a page
			r := request("")
			r.Deadline = r.Deadline.Add(time.Duration(i/3) * time.Millisecond)
			r.Tool, r.Seal = [...]string{"refund", "forget", "refund"}[i%3], [...]string{"old", "old", "another"}[i%3]
			a, _, err := b.Open(t.Context(), fmt.Sprint(i), r)
			if err != nil {
				t.Fatal(err)
			}
			if want[a.ID] = approval.Pending; i%3 == 0 {
				want[a.ID] = approval.Void
			}
		}
		n, err := b.VoidAll(t.Context(), map[string]approval.VoidFilter{"refund": {Seal: "old", Reason: "it was changed"}})
		if err != nil || n != 234 {
			t.Errorf("VoidAll = %d, %v", n, err)
		}
		list, _, err := b.List(t.Context(), approval.ListQuery{Limit: 1000})
		if err != nil || len(list) != len(want) {
			t.Fatal(len(list), err)
		}
		for _, e := range list {
			if e.Status != want[e.ID] {
				t.Errorf("%s of %s is %s, want %s", e.ID, e.Tool, e.Status, want[e.ID])
			}
		}
	})
}

func TestAwaitReturnsVoidApproval(t *testing.T) {
	b, _ := newBook(t)
	a := openNew(t, b, "x")
	waited := make(chan approval.Status, 1)
	go func() {
		now, err := b.Wait(t.Context(), a, 0, nil)
		if err != nil {
			t.Error(err)
			now = a
		}
		waited <- now.Status
	}()
	void(t, b, a)
	if s := <-waited; s != approval.Void {
		t.Errorf("the status is %s", s)
	}
}

// A decision is recorded between Propose and Confirm, so it must take effect whatever a reload voids at
// that moment.
func TestVoidNeverBeatsAProposal(t *testing.T) {
	onEveryStore(t, func(t *testing.T, open func() state.Store) {
		books := bothBooks(open)
		for i := range 100 {
			a := openNew(t, books[0], fmt.Sprint(i))
			var voiding sync.WaitGroup
			voiding.Go(func() { books[0].Void(t.Context(), a.ID, "the tool was removed") })
			p, err := books[1].Propose(t.Context(), a.ID, true, by("ann"), true)
			voiding.Wait()
			switch {
			case errors.As(err, new(*approval.DecidedError)):
			case err != nil:
				t.Fatal(err)
			default:
				if now, err := books[1].Confirm(t.Context(), p); err != nil || now.Status != approval.Approved {
					t.Fatalf("Confirm = %+v, %v", now, err)
				}
			}
		}
	})
}
