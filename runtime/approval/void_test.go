package approval_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"hatchel/runtime/approval"
	"hatchel/runtime/state"
)

func TestVoidApprovalCannotBeDecided(t *testing.T) {
	onEveryStore(t, func(t *testing.T, open func() state.Store) {
		b := approval.NewBook(open())
		a := openNew(t, b, "x")
		if void, err := b.Void(t.Context(), a, "the tool was removed"); !void || err != nil {
			t.Fatal(void, err)
		}
		for _, approved := range []bool{true, false} {
			_, err := b.Decide(t.Context(), a.ID, approved, by("ann"))
			var already *approval.AlreadyError
			if !errors.As(err, &already) || already.Status != approval.Void || already.Decision.By != approval.Server {
				t.Errorf("%v", err)
			}
		}
		if _, err := b.Propose(t.Context(), a.ID, approval.Proposal{Approved: true, Decision: by("ann")}, "w"); !errors.As(err, new(*approval.AlreadyError)) {
			t.Errorf("%v", err)
		}
		if void, err := b.Void(t.Context(), a, "again"); void || err != nil {
			t.Errorf("again: %t %v", void, err)
		}
		if again := openNew(t, b, "x"); again.ID == a.ID {
			t.Error("the same is not asked for afresh")
		}
		now, err := b.Find(t.Context(), a.ID)
		if err != nil || now.Status != approval.Void || now.Decision.Reason != "the tool was removed" {
			t.Errorf("%+v %v", now, err)
		}
	})
}

func TestDecidedApprovalIsNotVoided(t *testing.T) {
	b, _ := newBook(t)
	for _, approved := range []bool{true, false} {
		a := openNew(t, b, fmt.Sprint(approved))
		if _, err := b.Decide(t.Context(), a.ID, approved, by("ann")); err != nil {
			t.Fatal(err)
		}
		if void, err := b.Void(t.Context(), a, "late"); void || err != nil { // a is as it was before
			t.Errorf("approved %t: %t %v", approved, void, err)
		}
	}
	a := openNew(t, b, "being decided")
	p, err := b.Propose(t.Context(), a.ID, approval.Proposal{Approved: true, Decision: by("ann")}, "w")
	if err != nil {
		t.Fatal(err)
	}
	if void, err := b.Void(t.Context(), a, "late"); void || err != nil {
		t.Errorf("while it is written down: %t %v", void, err)
	}
	if now, err := b.Confirm(t.Context(), p); err != nil || now.Status != approval.Approved {
		t.Errorf("%+v %v", now, err)
	}
}

func TestVoidAllSelectsByToolAndSeal(t *testing.T) {
	onEveryStore(t, func(t *testing.T, open func() state.Store) {
		b := approval.NewBook(open())
		want := map[string]approval.Status{}
		for i := range 700 { // more than are read at once
			r := request("")
			r.Until = r.Until.Add(time.Duration(i/3) * time.Millisecond)
			r.Tool, r.Seal = [...]string{"refund", "forget", "refund"}[i%3], [...]string{"old", "old", "another"}[i%3]
			a, _, err := b.Open(t.Context(), fmt.Sprint(i), r)
			if err != nil {
				t.Fatal(err)
			}
			if want[a.ID] = approval.Pending; i%3 == 0 {
				want[a.ID] = approval.Void
			}
		}
		n, err := b.VoidAll(t.Context(), map[string]approval.Ending{"refund": {Seal: "old", Why: "it was changed"}})
		if err != nil || n != 234 {
			t.Errorf("%d are void: %v", n, err)
		}
		list, _, err := b.List(t.Context(), approval.ListQuery{Limit: 1000})
		if err != nil || len(list) != len(want) {
			t.Fatal(len(list), err)
		}
		for _, e := range list {
			if e.Status != want[e.ID] {
				t.Errorf("%s about %s is %s, want %s", e.ID, e.Tool, e.Status, want[e.ID])
			}
		}
		if pending, _, err := b.List(t.Context(), approval.ListQuery{Status: approval.Pending, Limit: 1000}); err != nil || len(pending) != 466 {
			t.Errorf("%d wait: %v", len(pending), err)
		}
	})
}

func TestAwaitReturnsVoidApproval(t *testing.T) {
	b, _ := newBook(t)
	a := openNew(t, b, "x")
	told := make(chan approval.Status, 1)
	go func() {
		now, err := b.Await(t.Context(), a, 0, nil)
		if err != nil {
			t.Error(err)
			now = a
		}
		told <- now.Status
	}()
	if void, err := b.Void(t.Context(), a, "the tool was removed"); !void || err != nil {
		t.Fatal(void, err)
	}
	if s := <-told; s != approval.Void {
		t.Errorf("told %s", s)
	}
}

// A decision is written down between Propose and Confirm, so that it must hold then, whatever a reload ends at that moment.
func TestProposedApprovalIsNotVoided(t *testing.T) {
	onEveryStore(t, func(t *testing.T, open func() state.Store) {
		server, operator := approval.NewBook(open()), approval.NewBook(open())
		for i := range 100 {
			a := openNew(t, server, fmt.Sprint(i))
			var ending sync.WaitGroup
			ending.Go(func() {
				if _, err := server.Void(t.Context(), a, "the tool was removed"); err != nil {
					t.Error(err)
				}
			})
			p, err := operator.Propose(t.Context(), a.ID, approval.Proposal{Approved: true, Decision: by("ann")}, "w")
			ending.Wait()
			var already *approval.AlreadyError
			switch {
			case errors.As(err, &already):
			case err != nil:
				t.Fatal(err)
			default:
				if now, err := operator.Confirm(t.Context(), p); err != nil || now.Status != approval.Approved {
					t.Fatalf("what is written down does not hold: %+v %v", now, err)
				}
			}
		}
	})
}
