package runtime

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime/mcp"
	"hatchel/runtime/state"
)

// shaky is a store in which the replacement of a record can go wrong: before it is made, or before anybody is told that it was.
type shaky struct {
	state.Store
	refuses atomic.Int64 // so many are not made
	mute    atomic.Bool  // the next one is made, and its maker is not told
}

func (s *shaky) Replace(ctx context.Context, r *state.Record) (bool, error) {
	if s.refuses.Add(-1) >= 0 {
		return false, state.ErrUnavailable
	}
	if s.mute.CompareAndSwap(true, false) {
		made := *r
		s.Store.Replace(ctx, &made)
		return false, state.ErrUnavailable
	}
	return s.Store.Replace(ctx, r)
}

// shaken is a Host that remembers in a shaky store.
func (w *world) shaken(t *testing.T, path, src string) (*Host, *shaky) {
	t.Helper()
	store := new(shaky)
	s := NewState(func(ctx context.Context) (_ state.Store, err error) {
		store.Store, err = state.Open(ctx, path)
		return store, err
	})
	h := NewHost(t.Context(), HostOptions{Build: Build{Set: w.set(), Dir: t.TempDir(), State: s}, Load: hcl.Options{Getenv: secrets}})
	t.Cleanup(func() {
		h.Close()
		s.Close()
	})
	load(t, h, src)
	return h, store
}

func TestWhatATaskCameToWaitsForAStoreThatIsAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		release := make(chan struct{})
		w.do["held"] = func(context.Context, *adapters.Call) (any, error) { <-release; return nil, nil }
		h, store := w.shaken(t, path, tool("t", task1h+"fake { do = \"held\" }\ntext = \"done\""))
		defer h.Close()
		id := start(t, h, "t").TaskID
		synctest.Wait()
		store.refuses.Store(30)
		close(release)
		settled(t, h)
		if r := getTask(t, h, id); r.Status != "completed" || r.Result.text() != "done" {
			t.Errorf("%+v", r)
		}
	})
}

func TestATaskThatWasTakenWithoutKnowingItWaitsAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		count := w.counting()
		h, store := w.shaken(t, path, tool("asks", deleting))
		defer h.Close()
		id := start(t, h, "asks").TaskID
		settled(t, h)
		const answers = `{"name":` + accept + `,"sure":{"action":"accept","content":{"confirm":true}}}`
		store.mute.Store(true)
		_, err := taskly(t, h, "tasks/update", id, answers)
		var e *mcp.Error
		if !errors.As(err, &e) || e.Code != mcp.CodeBusy || !strings.Contains(e.Message, "Try again") {
			t.Errorf("got %v", err)
		}
		time.Sleep(time.Minute)
		if r := getTask(t, h, id); r.Status != "input_required" || r.keys() != "name sure" {
			t.Errorf("%+v", r)
		}
		updateTask(t, h, id, answers)
		settled(t, h)
		if r := getTask(t, h, id); r.Status != "completed" || count() != 2 {
			t.Errorf("%+v, and %d steps ran", r, count())
		}
	})
}
