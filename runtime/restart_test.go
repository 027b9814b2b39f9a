package runtime

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/adapters"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/durable/store"
	"hatchel/runtime/stage/task"
)

func TestTasksOutliveTheProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	w := newFakeBackend()
	count := w.addCounter()
	held := make(chan struct{}, 1)
	w.do["held"] = func(ctx context.Context, _ *adapters.Call) (any, error) {
		held <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	src := tool("t", task1h+`text = "done"`) + tool("asks", deleting) + tool("holds", task1h+"step \"hold\" {\n  fake { do = \"held\" }\n}\ntext = \"done\"")
	h := newHost(t, src, w.use, storedIn(t, path))
	over, waits, works := startTask(t, h, "t").TaskID, startTask(t, h, "asks").TaskID, startTask(t, h, "holds").TaskID
	waitFor(t, func() bool {
		return getTask(t, h, over).Status == "completed" && getTask(t, h, waits).Status == "input_required"
	})
	<-held
	h.Close()
	h = newHost(t, src, w.use, storedIn(t, path))
	if r := getTask(t, h, over); r.Status != "completed" || r.Result.text() != "done" {
		t.Errorf("%+v", r)
	}
	if r := getTask(t, h, works); r.Status != "failed" || !strings.Contains(r.Message, `stopped while the task was at the step "hold"`) || r.Error == nil {
		t.Errorf("%+v", r)
	}
	updateTask(t, h, waits, `{"name":`+accept+`,"sure":{"action":"accept","content":{"confirm":true}}}`)
	waitForTasks(t, h)
	if r := getTask(t, h, waits); r.Status != "completed" || r.Result.text() != "Ada true 1 2" || count() != 2 {
		t.Errorf("%+v", r)
	}
}

func TestWhatADeadProcessWorkedOnWasInterrupted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	synctest.Test(t, func(t *testing.T) {
		ctx := context.WithoutCancel(t.Context())
		opened, err := state.Open(ctx, path)
		if err != nil {
			t.Fatal(err)
		}
		defer opened.Close()
		dead := store.New(t.Context(), func(context.Context) (state.Store, error) { return opened, nil })
		left := &task.Task{Tool: "t", TTL: time.Hour.Milliseconds(), Step: "pay"}
		if _, err := dead.Tasks.Create(ctx, left, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
		dead.Process.Close() // its heartbeat ends
		w := newFakeBackend()
		count := w.addCounter()
		h := newHost(t, tool("t", task1h+"step \"pay\" {\n  fake { do = \"count\" }\n}\ntext = \"done\""), w.use, storedIn(t, path))
		if r := getTask(t, h, left.ID()); r.Status != "working" {
			t.Errorf("at once: %+v", r)
		}
		time.Sleep(state.OwnerTTL + 4*time.Second)
		r := getTask(t, h, left.ID())
		if r.Status != "failed" || !strings.Contains(r.Message, `interrupted by a restart of the server; whether the step "pay" took effect is unknown`) {
			t.Errorf("%+v", r)
		}
		if n := count(); n != 0 {
			t.Errorf("it was begun again: %d", n)
		}
	})
}

func TestProcessesShareTasks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	synctest.Test(t, func(t *testing.T) {
		w := newFakeBackend()
		count := w.addCounter()
		release := w.addHeld()
		src := tool("asks", deleting) + tool("holds", task1h+"timeout = \"50m\"\nfake { do = \"held\" }\ntext = \"done\"")
		a, b := newHost(t, src, w.use, storedIn(t, path)), newHost(t, src, w.use, storedIn(t, path))
		defer a.Close()
		defer b.Close()
		held, lost, asks := startTask(t, a, "holds").TaskID, startTask(t, a, "holds").TaskID, startTask(t, a, "asks").TaskID
		time.Sleep(time.Minute)
		if r := getTask(t, b, held); r.Status != "working" {
			t.Errorf("what another process works on: %+v", r)
		}
		var both sync.WaitGroup
		for _, h := range []*Host{a, b} {
			both.Go(func() {
				updateTask(t, h, asks, `{"name":`+accept+`,"sure":{"action":"accept","content":{"confirm":true}}}`)
			})
		}
		both.Wait()
		if _, err := taskRequest(t, b, "tasks/cancel", lost, ""); err != nil {
			t.Error(err)
		}
		close(release)
		waitForTasks(t, a)
		waitForTasks(t, b)
		for _, h := range []*Host{a, b} {
			if r := getTask(t, h, asks); r.Status != "completed" || r.Result.text() != "Ada true 1 2" {
				t.Errorf("%+v", r)
			}
			if r := getTask(t, h, held); r.Status != "completed" {
				t.Errorf("%+v", r)
			}
			if r := getTask(t, h, lost); r.Status != "cancelled" {
				t.Errorf("%+v", r)
			}
		}
		if n := count(); n != 2 {
			t.Errorf("%d steps ran", n)
		}
	})
}

func TestAStateThatCannotBeKeptIsSaidWhereItIsNeeded(t *testing.T) {
	broken := true
	s := withStore(t, func(ctx context.Context) (state.Store, error) {
		if broken {
			return nil, errors.New("the disk is on fire")
		}
		return state.Open(ctx, "")
	})
	w := newFakeBackend()
	h := newHost(t, tool("plain", `text = "plain"`), w.use, s)
	for line, body := range map[string]string{"5:1": task1h + `text = "done"`, "7:1": "step \"s\" {\n  ask \"q\" {\n    roots { }\n  }\n}\ntext = \"done\""} {
		diags := h.Load(t.Context(), fileSystem(tool("plain", `text = "plain"`)+tool("t", body)))
		if got := printDiagnostics(diags); !strings.Contains(got, "tools.hcl:"+line+": error: State cannot be kept") || !strings.Contains(got, "the disk is on fire") {
			t.Errorf("got %s", got)
		}
	}
	broken = false
	load(t, h, tool("t", task1h+`text = "done"`))
	id := startTask(t, h, "t").TaskID
	waitForTasks(t, h)
	if r := getTask(t, h, id); r.Status != "completed" {
		t.Errorf("%+v", r)
	}
}

// waitFor waits until a condition holds.
func waitFor(t testing.TB, condition func() bool) {
	t.Helper()
	limit, tick := time.After(maxWait), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("the condition does not hold within %v", maxWait)
		}
	}
}
