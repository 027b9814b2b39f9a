package approval_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/approval"
	"hatchel/runtime/state"
)

func proposal(who string) approval.Proposal {
	return approval.Proposal{Approved: true, Decision: by(who)}
}

func TestProposalKeepsOthersFromDeciding(t *testing.T) {
	onEveryStore(t, func(t *testing.T, open func() state.Store) {
		here, there := approval.NewBook(open()), approval.NewBook(open())
		a := openNew(t, here, "x")
		p, err := here.Propose(t.Context(), a.ID, proposal("bob"), "here")
		if err != nil {
			t.Fatal(err)
		}
		if used, err := there.Use(t.Context(), a); used || err != nil {
			t.Errorf("what is proposed is used (%v)", err)
		}
		var already *approval.AlreadyError
		if _, err := there.Propose(t.Context(), a.ID, proposal("eve"), "there"); !errors.As(err, &already) || already.Decision.By != "bob" || already.Error() != "bob is deciding it right now" {
			t.Errorf("another proposes: %v", err)
		}
		if _, err := there.Decide(t.Context(), a.ID, false, by("eve")); !errors.As(err, &already) || already.Decision.By != "bob" {
			t.Errorf("another decides: %v", err)
		}
		if p, err := there.Claim(t.Context(), a.ID, "there"); p != nil || err != nil {
			t.Errorf("another writes it down: %+v (%v)", p, err)
		}
		if got, err := here.Confirm(t.Context(), p); err != nil || got.Status != approval.Approved || got.Decision.By != "bob" {
			t.Fatalf("%+v (%v)", got, err)
		}
		if used, err := there.Use(t.Context(), a); !used || err != nil {
			t.Errorf("what is confirmed is not used (%v)", err)
		}
		if ids, err := there.Proposals(t.Context()); len(ids) != 0 || err != nil {
			t.Errorf("there is still %v (%v)", ids, err)
		}
	})
}

func TestOneWriterClaimsAProposal(t *testing.T) {
	onEveryStore(t, func(t *testing.T, open func() state.Store) {
		books := []*approval.Book{approval.NewBook(open()), approval.NewBook(open())}
		a := openNew(t, books[0], "x")
		p, err := books[0].Propose(t.Context(), a.ID, proposal("bob"), "")
		if err != nil {
			t.Fatal(err)
		}
		claimed := concurrently(func(i int) bool {
			got, err := books[i%2].Claim(t.Context(), a.ID, "writer")
			if err != nil {
				t.Error(err)
			}
			return got != nil
		})
		if claimed != 1 {
			t.Errorf("%d write it down", claimed)
		}
		if gone, err := books[0].Withdraw(t.Context(), p); gone || err != nil {
			t.Errorf("what is being written down is withdrawn: %v (%v)", gone, err)
		}
	})
}

func TestDroppedProposalChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newBook(t)
		a := openNew(t, b, "x")
		p, err := b.Propose(t.Context(), a.ID, proposal("bob"), "")
		if err != nil {
			t.Fatal(err)
		}
		if gone, err := b.Withdraw(t.Context(), p); !gone || err != nil {
			t.Fatalf("%v (%v)", gone, err)
		}
		if _, err = b.Propose(t.Context(), a.ID, proposal("eve"), "died"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if got, err := b.Decide(t.Context(), a.ID, false, by("ann")); err != nil || got.Decision.By != "ann" {
			t.Errorf("%+v (%v)", got, err)
		}
	})
}

// Who was held up while another one has begun to decide, and now gives up, gives up nothing of theirs.
func TestLateWithdrawLeavesLaterProposalAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newBook(t)
		a := openNew(t, b, "x")
		late, err := b.Propose(t.Context(), a.ID, proposal("bob"), "writer")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		p, err := b.Propose(t.Context(), a.ID, proposal("eve"), "writer")
		if err != nil {
			t.Fatal(err)
		}
		if gone, err := b.Withdraw(t.Context(), late); !gone || err != nil {
			t.Errorf("%v (%v)", gone, err)
		}
		var already *approval.AlreadyError
		if _, err := b.Decide(t.Context(), a.ID, false, by("ann")); !errors.As(err, &already) || already.Decision == nil || already.Decision.By != "eve" {
			t.Errorf("another decides in between: %v", err)
		}
		if got, err := b.Confirm(t.Context(), p); err != nil || got.Decision.By != "eve" {
			t.Errorf("%+v (%v)", got, err)
		}
	})
}

func TestProposalInTimeTakesEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newBook(t)
		a := openNew(t, b, "x")
		time.Sleep(5*time.Minute - time.Second)
		p, err := b.Propose(t.Context(), a.ID, proposal("bob"), "writer")
		if err != nil {
			t.Fatal(err)
		}
		waited := make(chan approval.Status, 1)
		go func() {
			got, err := b.Await(t.Context(), a, 0, nil)
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
			t.Errorf("it is %s", s)
		}
	})
}

// eager is a store in which somebody makes proposals hold before those who make them know that they were added.
type eager struct {
	state.Store
	confirm func(id string)
}

func (e *eager) Add(ctx context.Context, r *state.Record) (*state.Record, error) {
	before, err := e.Store.Add(ctx, r)
	if r.Kind == approval.ProposalKind && err == nil && before == nil {
		e.confirm(approval.Proposed(r.Name))
	}
	return before, err
}

func TestProposalMayBeConfirmedBeforeProposeReturns(t *testing.T) {
	onEveryStore(t, func(t *testing.T, open func() state.Store) {
		server := approval.NewBook(open())
		here := approval.NewBook(&eager{open(), func(id string) {
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
		if got, err := here.Find(t.Context(), a.ID); err != nil || got.Status != approval.Approved || got.Decision.By != "bob" {
			t.Errorf("%+v (%v)", got, err)
		}
	})
}
