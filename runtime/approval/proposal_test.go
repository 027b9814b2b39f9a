package approval_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/approval"
	"hatchel/runtime/state"
)

func proposal(who string) approval.Proposal {
	return approval.Proposal{Approved: true, Decision: by(who)}
}

func propose(t testing.TB, b *approval.Store, a *approval.Approval, who, writer string) *approval.Proposal {
	t.Helper()
	p, err := b.Propose(t.Context(), a.ID, proposal(who), writer)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestProposal(t *testing.T) {
	onEveryStore(t, func(t *testing.T, open func() state.Store) {
		books := bothBooks(open)
		here, there := books[0], books[1]
		a := openNew(t, here, "x")
		p := propose(t, here, a, "bob", "here")
		t.Run("has no effect before it is confirmed", func(t *testing.T) {
			if use(t, there, a) {
				t.Error("the approval was used")
			}
		})
		t.Run("keeps others from proposing", func(t *testing.T) {
			_, err := there.Propose(t.Context(), a.ID, proposal("eve"), "there")
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
		t.Run("with a writer cannot be claimed", func(t *testing.T) {
			if p, err := there.Claim(t.Context(), a.ID, "there"); p != nil || err != nil {
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
			if ids, err := there.Proposals(t.Context()); len(ids) != 0 || err != nil {
				t.Errorf("Proposals = %v, %v", ids, err)
			}
		})
	})
}

func TestOneWriterClaimsAProposal(t *testing.T) {
	onEveryStore(t, func(t *testing.T, open func() state.Store) {
		books := bothBooks(open)
		a := openNew(t, books[0], "x")
		p := propose(t, books[0], a, "bob", "")
		claimed := concurrently(func(i int) bool {
			got, err := books[i%2].Claim(t.Context(), a.ID, "writer")
			if err != nil {
				t.Error(err)
			}
			return got != nil
		})
		if claimed != 1 {
			t.Errorf("%d writers have claimed it", claimed)
		}
		if gone, err := books[0].Withdraw(t.Context(), p); gone || err != nil {
			t.Errorf("Withdraw of the claimed proposal = %t, %v", gone, err)
		}
	})
}

func TestDroppedProposalChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newBook(t)
		a := openNew(t, b, "x")
		p := propose(t, b, a, "eve", "")
		if gone, err := b.Withdraw(t.Context(), p); !gone || err != nil {
			t.Fatalf("Withdraw = %t, %v", gone, err)
		}
		propose(t, b, a, "eve", "a process that dies")
		time.Sleep(time.Minute)
		if got := decide(t, b, a, false); got.Decision.By != "bob" {
			t.Errorf("got %+v", got)
		}
	})
}

func TestLateWithdrawLeavesLaterProposalAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newBook(t)
		a := openNew(t, b, "x")
		late := propose(t, b, a, "bob", "writer")
		time.Sleep(time.Minute) // it expires
		p := propose(t, b, a, "eve", "writer")
		if gone, err := b.Withdraw(t.Context(), late); !gone || err != nil {
			t.Errorf("Withdraw = %t, %v", gone, err)
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

func TestProposalInTimeTakesEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newBook(t)
		a := openNew(t, b, "x")
		time.Sleep(5*time.Minute - time.Second)
		p := propose(t, b, a, "bob", "writer")
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

// eager is a store that confirms proposals before Add returns.
type eager struct {
	state.Store
	confirm func(id string)
}

func (e *eager) Add(ctx context.Context, r *state.Record) (*state.Record, error) {
	before, err := e.Store.Add(ctx, r)
	if r.Kind == approval.ProposalKind && err == nil && before == nil {
		e.confirm(approval.ProposedApproval(r.Name))
	}
	return before, err
}

func TestProposalMayBeConfirmedBeforeProposeReturns(t *testing.T) {
	onEveryStore(t, func(t *testing.T, open func() state.Store) {
		server := approval.NewStore(open())
		here := approval.NewStore(&eager{open(), func(id string) {
			p, err := server.Claim(t.Context(), id, "server")
			if err != nil || p == nil {
				t.Fatalf("%v %v", p, err)
			}
			if _, err := server.Confirm(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}})
		a := openNew(t, here, "x")
		if _, err := here.Propose(t.Context(), a.ID, proposal("bob"), ""); err != nil {
			t.Error(err)
		}
		if got := find(t, here, a.ID); got.Status != approval.Approved || got.Decision.By != "bob" {
			t.Errorf("got %+v", got)
		}
	})
}
