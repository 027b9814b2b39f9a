package runtime

import (
	"context"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"hatchel/runtime/durable/state"
	"hatchel/runtime/stage/approval"
	"hatchel/runtime/stage/task"
)

// crammed is a store that is full for tasks while the test says so.
type crammed struct {
	state.Store
	full atomic.Bool
}

func (c *crammed) Add(ctx context.Context, r *state.Record) (*state.Record, error) {
	if r.Kind == task.Kind && c.full.Load() {
		return nil, state.ErrFull
	}
	return c.Store.Add(ctx, r)
}

func TestACallThatCannotBecomeATaskUsesNoApproval(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	store := new(crammed)
	s := withStore(t, func(ctx context.Context) (_ state.Store, err error) {
		store.Store, err = state.Open(ctx, filepath.Join(t.TempDir(), "state.db"))
		return store, err
	})
	h := newHost(t, tool("t", "task {}\napproval {}\nfake { do = \"count\" }\ntext = \"done\""), w.use, s)
	approver := newApprover(t, h)
	waiting := mustCall(t, h, modernRequest("t", `{}`, following)) // a task that waits, and whose approval another call uses
	a := approver.waitForPending(1)[0]
	if _, err := taskRequest(t, h, "tasks/cancel", waiting.TaskID, ""); err != nil {
		t.Fatal(err)
	}
	approver.decide(a, true, "")
	store.full.Store(true)
	if r, err := tryCall(t, h, modernRequest("t", `{}`, following)); err == nil && !r.IsError || count() != 0 {
		t.Errorf("%+v %v", r, err)
	}
	if b, err := approver.approvals.Find(t.Context(), a.ID); err != nil || b.Status != approval.Approved {
		t.Errorf("%+v %v", b, err)
	}
	store.full.Store(false)
	id := mustCall(t, h, modernRequest("t", `{}`, following)).TaskID
	waitFor(t, func() bool {
		r, err := taskRequest(t, h, "tasks/get", id, "")
		return err == nil && r.Status == "completed" && strings.Contains(r.Result.text(), "done")
	})
	if count() != 1 {
		t.Errorf("%d done", count())
	}
}
