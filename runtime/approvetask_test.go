package runtime

import (
	"context"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"hatchel/hcl"
	"hatchel/runtime/approval"
	"hatchel/runtime/state"
	"hatchel/runtime/task"
)

// crammed is a store that takes no more tasks while it is full.
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
	w := newWorld()
	count := w.counting()
	store := new(crammed)
	s := NewState(func(ctx context.Context) (_ state.Store, err error) {
		store.Store, err = state.Open(ctx, filepath.Join(t.TempDir(), "state.db"))
		return store, err
	})
	h := NewHost(context.WithoutCancel(t.Context()), HostOptions{Build: Build{Set: w.set(), Dir: t.TempDir(), State: s}, Load: hcl.Options{Getenv: secrets}})
	t.Cleanup(func() {
		h.Close()
		s.Close()
	})
	load(t, h, tool("t", "task {}\napproval {}\nfake { do = \"count\" }\ntext = \"done\""))
	desk := deskOf(t, h)
	waiting := do(t, h, modern("t", `{}`, following)) // a task that waits, and whose approval another call uses
	a := desk.pending(1)[0]
	if _, err := taskly(t, h, "tasks/cancel", waiting.TaskID, ""); err != nil {
		t.Fatal(err)
	}
	desk.decide(a, true, "")
	store.full.Store(true)
	if r, err := try(t, h, modern("t", `{}`, following)); err == nil && !r.IsError || count() != 0 {
		t.Errorf("%+v %v", r, err)
	}
	if b, err := desk.book.Find(t.Context(), a.ID); err != nil || b.Status != approval.Approved {
		t.Errorf("%+v %v", b, err)
	}
	store.full.Store(false)
	id := do(t, h, modern("t", `{}`, following)).TaskID
	eventually(t, func() bool {
		r, err := taskly(t, h, "tasks/get", id, "")
		return err == nil && r.Status == "completed" && strings.Contains(r.Result.text(), "done")
	})
	if count() != 1 {
		t.Errorf("%d done", count())
	}
}
