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
	"hatchel/runtime/durable/state"
	"hatchel/runtime/edge/mcp"
)

// interruptedStore is a store whose Replace fails before or after it has replaced the record.
type interruptedStore struct {
	state.Store
	refuses atomic.Int64 // how many calls of Replace fail
	mute    atomic.Bool  // the next Replace replaces and fails
}

func (s *interruptedStore) Replace(ctx context.Context, r *state.Record) (bool, error) {
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

// newInterruptedHost returns a Host with an interruptedStore in a file.
func newInterruptedHost(t *testing.T, path, src string, option func(*HostOptions)) (*Host, *interruptedStore) {
	t.Helper()
	store := new(interruptedStore)
	return newHost(t, src, option, withStoreAround(t, path, store, &store.Store)), store
}

func TestWhatATaskCameToWaitsForAStoreThatIsAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	synctest.Test(t, func(t *testing.T) {
		w := newFakeBackend()
		release := make(chan struct{})
		w.do["held"] = func(context.Context, *adapters.Call) (any, error) { <-release; return nil, nil }
		h, store := newInterruptedHost(t, path, tool("t", task1h+"fake { do = \"held\" }\ntext = \"done\""), w.use)
		id := startTask(t, h, "t").TaskID
		synctest.Wait()
		store.refuses.Store(30)
		close(release)
		waitForTasks(t, h)
		if r := getTask(t, h, id); r.Status != "completed" || r.Result.text() != "done" {
			t.Errorf("%+v", r)
		}
	})
}

func TestATaskThatWasTakenWithoutKnowingItWaitsAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	synctest.Test(t, func(t *testing.T) {
		w := newFakeBackend()
		count := w.addCounter()
		h, store := newInterruptedHost(t, path, tool("asks", deleting), w.use)
		id := startTask(t, h, "asks").TaskID
		waitForTasks(t, h)
		const answers = `{"name":` + accept + `,"sure":{"action":"accept","content":{"confirm":true}}}`
		store.mute.Store(true)
		_, err := taskRequest(t, h, "tasks/update", id, answers)
		var e *mcp.Error
		if !errors.As(err, &e) || e.Code != mcp.CodeBusy || !strings.Contains(e.Message, "Try again") {
			t.Errorf("got %v", err)
		}
		time.Sleep(time.Minute)
		if r := getTask(t, h, id); r.Status != "input_required" || r.keys() != "name sure" {
			t.Errorf("%+v", r)
		}
		updateTask(t, h, id, answers)
		waitForTasks(t, h)
		if r := getTask(t, h, id); r.Status != "completed" || count() != 2 {
			t.Errorf("%+v, and %d steps ran", r, count())
		}
	})
}

// heldStore is a store in which a record that contains "slow" is replaced once release is closed.
type heldStore struct {
	state.Store
	release chan struct{}
}

func (s *heldStore) Replace(ctx context.Context, r *state.Record) (bool, error) {
	if strings.Contains(string(r.Body), "slow") {
		<-s.release
	}
	return s.Store.Replace(ctx, r)
}

func TestSlowWriteOfATaskHoldsNoOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	synctest.Test(t, func(t *testing.T) {
		w := newFakeBackend()
		store := &heldStore{release: make(chan struct{})}
		for _, message := range []string{"slow", "quick"} {
			w.do[message] = func(ctx context.Context, c *adapters.Call) (any, error) {
				c.Progress(1, 2, message)
				<-store.release
				return nil, nil
			}
		}
		src := tool("a", task1h+"fake { do = \"slow\" }\ntext = \"done\"") + tool("b", task1h+"fake { do = \"quick\" }\ntext = \"done\"")
		h := newHost(t, src, w.use, withStoreAround(t, path, store, &store.Store))
		synctest.Wait() // until the tasks are watched: the first look at them would wait for the slow one
		startTask(t, h, "a")
		synctest.Wait()
		id := startTask(t, h, "b").TaskID
		synctest.Wait()
		if r := getTask(t, h, id); r.Message != "quick" {
			t.Errorf("%+v", r)
		}
		close(store.release)
		waitForTasks(t, h)
	})
}

// reloadingStore is a store that calls onRecord once, before it returns a record.
type reloadingStore struct {
	state.Store
	onRecord atomic.Pointer[func()]
}

func (s *reloadingStore) Record(ctx context.Context, kind, name string) (*state.Record, error) {
	if f := s.onRecord.Swap(nil); f != nil {
		(*f)()
	}
	return s.Store.Record(ctx, kind, name)
}

func TestATaskRequestIsServedFromOneConfiguration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	synctest.Test(t, func(t *testing.T) {
		w := newFakeBackend()
		w.addCounter()
		store := new(reloadingStore)
		h := newHost(t, tool("asks", deleting), w.use, withStoreAround(t, path, store, &store.Store))
		id := startTask(t, h, "asks").TaskID
		waitForTasks(t, h)
		reload := func() { load(t, h, tool("asks", deleting+"timeout = \"20s\"")) }
		store.onRecord.Store(&reload)
		updateTask(t, h, id, `{"name":`+accept+`,"sure":{"action":"accept","content":{"confirm":true}}}`)
		waitForTasks(t, h)
		if r := getTask(t, h, id); r.Status != "completed" {
			t.Errorf("%+v", r)
		}
	})
}
