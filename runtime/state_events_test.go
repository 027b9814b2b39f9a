package runtime

import (
	"context"
	"slices"
	"testing"

	"hatchel/adapters"
	"hatchel/runtime/durable/postgres/postgrestest"
	"hatchel/runtime/durable/state"
)

// dyingStore is the store of a process that dies before it can announce a change.
type dyingStore struct{ *state.Postgres }

func (s dyingStore) Replace(ctx context.Context, r *state.Record) (bool, error) {
	r.NoNotify = true
	return s.Postgres.Replace(ctx, r)
}

func TestChangesThatWereNotAnnouncedAreFound(t *testing.T) {
	address, _ := postgrestest.Schema(t)
	w := newFakeBackend()
	began := make(chan struct{}, 1)
	w.do["held"] = func(ctx context.Context, _ *adapters.Call) (any, error) {
		began <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	src := tool("held", task1h+`fake { do = "held" }`) + tool("asks", deleting)
	f := new(follower)
	here := newHost(t, src, w.use, withStore(t, func(ctx context.Context) (state.Store, error) {
		return state.OpenPostgres(ctx, address)
	}))
	here.SetNotifier(f)
	there := newHost(t, src, w.use, withStore(t, func(ctx context.Context) (state.Store, error) {
		p, err := state.OpenPostgres(ctx, address)
		return dyingStore{p}, err
	}))
	t.Run("the end of a task that works here", func(t *testing.T) {
		id := startTask(t, here, "held").TaskID
		<-began
		if _, err := taskRequest(t, there, "tasks/cancel", id, ""); err != nil {
			t.Fatal(err)
		}
		waitForTasks(t, here)
	})
	t.Run("the end of a task that is followed here", func(t *testing.T) {
		f.mu.Lock()
		f.said = nil
		f.mu.Unlock()
		id := startTask(t, there, "asks").TaskID
		waitFor(t, func() bool { return getTask(t, here, id).Status == "input_required" })
		if _, err := taskRequest(t, there, "tasks/cancel", id, ""); err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return slices.Contains(f.said, "cancelled The client has cancelled the task.")
		})
	})
}
