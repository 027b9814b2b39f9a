package approval_test

import (
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/durable/state"
	"hatchel/runtime/stage/approval"
)

// propose proposes to approve; with claim the caller records the decision.
func propose(t testing.TB, b *approval.Store, a *approval.Approval, who string, claim bool) *approval.Approval {
	t.Helper()
	proposed, err := b.Propose(t.Context(), a.ID, true, by(who), claim)
	if err != nil {
		t.Fatal(err)
	}
	return proposed
}

func TestProposal(t *testing.T) {
	onEveryStore(t, func(t *testing.T, open func() state.Store) {
		books := bothBooks(open)
		here, there := books[0], books[1]
		a := openNew(t, here, "x")
		p := propose(t, here, a, "bob", true)
		t.Run("has no effect before it is confirmed", func(t *testing.T) {
			if use(t, there, a) {
				t.Error("the approval was used")
			}
		})
		t.Run("keeps others from proposing", func(t *testing.T) {
			_, err := there.Propose(t.Context(), a.ID, true, by("eve"), true)
			if already := alreadyDecided(t, err); already.Error() != "bob is deciding it right now" {
				t.Errorf("Propose fails with %v", err)
			}
		})
		t.Run("keeps others from deciding", func(t *testing.T) {
			_, err := there.Decide(t.Context(), a.ID, false, by("eve"))
			if already := alreadyDecided(t, err); already.Decision.By != "bob" {
				t.Errorf("Decide fails with %v", err)
			}
		})
		t.Run("cannot be claimed again", func(t *testing.T) {
			if p, err := there.Claim(t.Context(), a.ID); p != nil || err != nil {
				t.Errorf("Claim = %+v, %v", p, err)
			}
		})
		got, err := here.Confirm(t.Context(), p)
		if err != nil || got.Status != approval.Approved || got.Decision.By != "bob" {
			t.Fatalf("Confirm = %+v, %v", got, err)
		}
		t.Run("takes effect when it is confirmed", func(t *testing.T) {
			if !use(t, there, a) {
				t.Error("the approval was not used")
			}
		})
		t.Run("is gone then", func(t *testing.T) {
			if got := find(t, there, a.ID); got.Proposal != nil {
				t.Errorf("the proposal is %+v", got.Proposal)
			}
		})
	})
}

func TestOneProcessClaimsAProposal(t *testing.T) {
	onEveryStore(t, func(t *testing.T, open func() state.Store) {
		books := bothBooks(open)
		a := openNew(t, books[0], "x")
		openNew(t, books[0], "undecided")
		propose(t, books[0], openNew(t, books[0], "claimed"), "eve", true)
		p := propose(t, books[0], a, "bob", false)
		if ids, err := books[1].Unclaimed(t.Context()); len(ids) != 1 || ids[0] != a.ID || err != nil {
			t.Errorf("Unclaimed = %v, %v", ids, err)
		}
		claimed := concurrently(func(i int) bool {
			got, err := books[i%2].Claim(t.Context(), a.ID)
			if err != nil {
				t.Error(err)
			}
			return got != nil
		})
		if claimed != 1 {
			t.Errorf("%d processes have claimed it", claimed)
		}
		if err := books[0].Withdraw(t.Context(), p); err != nil {
			t.Error(err)
		}
		if got := find(t, books[0], a.ID); got.Proposal == nil || !got.Proposal.Claimed {
			t.Errorf("the claimed proposal was withdrawn: %+v", got.Proposal)
		}
	})
}

func TestDroppedProposalChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newBook(t)
		a := openNew(t, b, "x")
		if err := b.Withdraw(t.Context(), propose(t, b, a, "eve", true)); err != nil {
			t.Fatal(err)
		}
		propose(t, b, a, "eve", true) // by a process that dies
		time.Sleep(time.Minute)
		if got := decide(t, b, a, false); got.Decision.By != "bob" {
			t.Errorf("got %+v", got)
		}
	})
}

func TestUnclaimedProposalWaitsForTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newBook(t)
		a := openNew(t, b, "x")
		propose(t, b, a, "bob", false)
		time.Sleep(5*time.Minute - time.Second)
		_, err := b.Decide(t.Context(), a.ID, false, by("ann"))
		if already := alreadyDecided(t, err); already.Decision == nil || already.Decision.By != "bob" {
			t.Errorf("Decide fails with %v", err)
		}
		time.Sleep(2 * time.Second)
		_, err = b.Decide(t.Context(), a.ID, false, by("ann"))
		if already := alreadyDecided(t, err); already.Status != approval.Expired {
			t.Errorf("Decide fails with %v", err)
		}
	})
}

func TestLateWithdrawLeavesLaterProposalAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newBook(t)
		a := openNew(t, b, "x")
		late := propose(t, b, a, "bob", true)
		time.Sleep(time.Minute) // it is dropped
		p := propose(t, b, a, "eve", true)
		if err := b.Withdraw(t.Context(), late); err != nil {
			t.Error(err)
		}
		_, err := b.Decide(t.Context(), a.ID, false, by("ann"))
		if already := alreadyDecided(t, err); already.Decision == nil || already.Decision.By != "eve" {
			t.Errorf("Decide fails with %v", err)
		}
		if got, err := b.Confirm(t.Context(), p); err != nil || got.Decision.By != "eve" {
			t.Errorf("Confirm = %+v, %v", got, err)
		}
	})
}

func TestRecordedDecisionTakesEffectAfterItsProposalWasDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newBook(t)
		a := openNew(t, b, "x")
		p := propose(t, b, a, "bob", true)
		time.Sleep(time.Minute)
		if err := b.Withdraw(t.Context(), propose(t, b, a, "eve", true)); err != nil {
			t.Error(err)
		}
		if got, err := b.Confirm(t.Context(), p); err != nil || got.Status != approval.Approved || got.Decision.By != "bob" {
			t.Errorf("Confirm = %+v, %v", got, err)
		}
	})
}

func TestProposalInTimeTakesEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newBook(t)
		a := openNew(t, b, "x")
		time.Sleep(5*time.Minute - time.Second)
		p := propose(t, b, a, "bob", true)
		waited := make(chan approval.Status, 1)
		go func() {
			got, err := b.Wait(t.Context(), a, 0, nil)
			if err != nil {
				t.Error(err)
			}
			waited <- got.Status
		}()
		time.Sleep(10 * time.Second)
		if _, err := b.Confirm(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if s := <-waited; s != approval.Approved {
			t.Errorf("the status is %s", s)
		}
	})
}
