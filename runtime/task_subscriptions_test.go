package runtime

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/adapters"
	"hatchel/runtime/edge/mcp"
)

// follower is a Notifier that records the changes of tasks.
type follower struct {
	mu   sync.Mutex
	said []string // guarded by mu
}

func (f *follower) ListsChanged(func(string) mcp.Changes)          {}
func (f *follower) ResourceUpdated(string, func(*mcp.Caller) bool) {}
func (f *follower) Retain(func(*mcp.Identity) bool)                {}

func (*follower) Connected() (sessions, streams int) { return 0, 0 }
func (f *follower) FollowsTask(string) bool          { return true }
func (f *follower) TaskChanged(id string, members []byte) {
	var r callReply
	json.Unmarshal(append(append([]byte("{"), members...), '}'), &r)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.said = append(f.said, strings.TrimSpace(r.Status+" "+r.Message+" "+r.keys()))
}

func TestWhoFollowsATaskIsToldWhatBecomesOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, tool("t", task1h+`
step "half" {
  progress {
    done    = 1
    total   = 2
  }
}
step "work" {
  wait { for = "2s" }
}
step "more" {
  progress {
    done    = 2
    message = "Almost."
  }
}
step "sure" {
  ask "sure" {
    elicit { message = "Sure?" }
  }
}
text = "done"`))
		f := new(follower)
		h.SetNotifier(f)
		id := startTask(t, h, "t").TaskID
		waitForTasks(t, h)
		updateTask(t, h, id, `{"sure":{"action":"accept"}}`)
		waitForTasks(t, h)
		f.mu.Lock()
		defer f.mu.Unlock()
		if want := []string{"working 1 of 2", "working Almost.", "input_required  sure", "working", "completed"}; !slices.Equal(f.said, want) {
			t.Errorf("got %q", f.said)
		}
	})
}

func TestOfManyReportsOfATaskTheLastIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeBackend()
		w.do["reports"] = func(_ context.Context, call *adapters.Call) (any, error) {
			for n := range 1000 {
				call.Progress(float64(n+1), 1000, "")
				time.Sleep(2500 * time.Microsecond)
			}
			time.Sleep(time.Minute)
			call.Progress(1, 0, "at the end")
			call.Progress(2, 0, "too late to be told")
			return "done", nil
		}
		h := newHost(t, tool("t", task1h+"timeout = \"1h\"\nfake { do = \"reports\" }"), w.use)
		f := new(follower)
		h.SetNotifier(f)
		id := startTask(t, h, "t").TaskID
		time.Sleep(30 * time.Second)
		if r := getTask(t, h, id); r.Message != "1000 of 1000" {
			t.Errorf("%+v", r)
		}
		waitForTasks(t, h)
		time.Sleep(time.Minute)
		f.mu.Lock()
		defer f.mu.Unlock()
		want := []string{"working 1 of 1000", "…", "…", "working 1000 of 1000", "working at the end", "completed"}
		if len(f.said) != len(want) || f.said[0] != want[0] || !slices.Equal(f.said[3:], want[3:]) {
			t.Errorf("got %q", f.said)
		}
	})
}

func TestAReloadLeavesTasksAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeBackend()
		release := w.addHeld()
		w.addCounter()
		h := newHost(t, tool("t", task1h+"timeout = \"1h\"\nfake { do = \"held\" }")+tool("asks", deleting), w.use)
		works, waits, changed := startTask(t, h, "t").TaskID, startTask(t, h, "asks").TaskID, ""
		synctest.Wait()
		load(t, h, tool("t", `fake { do = "next" }`)+tool("asks", deleting)+tool("changes", deleting))
		changed = startTask(t, h, "changes").TaskID
		time.Sleep(time.Minute) // past the grace period of calls
		load(t, h, tool("t", `text = "new"`)+tool("asks", deleting)+tool("changes", strings.Replace(deleting, "Sure?", "Really?", 1)))
		time.Sleep(time.Minute)
		j := w.takeJournal()
		if slices.Contains(j, "undo held") || !slices.Contains(j, "undo next") {
			t.Errorf("journal %q", j)
		}
		updateTask(t, h, waits, `{"name":`+accept+`,"sure":{"action":"accept","content":{"confirm":true}}}`)
		updateTask(t, h, changed, `{"name":`+accept+`}`)
		close(release)
		waitForTasks(t, h)
		if r := getTask(t, h, works); r.Status != "completed" || r.Result.text() != "old" {
			t.Errorf("%+v", r)
		}
		if r := getTask(t, h, waits); r.Status != "completed" || !strings.HasPrefix(r.Result.text(), "Ada true") {
			t.Errorf("%+v", r)
		}
		if r := getTask(t, h, changed); r.Status != "failed" || !strings.Contains(r.Message, "changed") || r.Error == nil {
			t.Errorf("%+v", r)
		}
		synctest.Wait()
		if j := w.takeJournal(); !slices.Contains(j, "undo held") {
			t.Errorf("journal %q", j)
		}
	})
}

func TestAReloadLeavesToolsThatTasksCallAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeBackend()
		release := w.addHeld()
		h := newHost(t, tool("t", task1h+"timeout = \"1h\"\nstep \"one\" {\n  tool \"inner\" {}\n}\ntext = \"it was ${step.one.text}\"")+tool("inner", "timeout = \"1h\"\nfake { do = \"held\" }\ntext = \"${output.value}\"")+tool("slow", `fake { do = "waits" }`), w.use)
		works := startTask(t, h, "t").TaskID
		said := make(chan string, 1)
		go func() { said <- callTool(t, h, "slow", `{}`) }() // which the grace period of the reload ends
		synctest.Wait()
		load(t, h, tool("t", `text = "new"`))
		if got := <-said; !strings.Contains(got, "configuration was replaced") {
			t.Errorf("%s", got)
		}
		close(release)
		waitForTasks(t, h)
		if r := getTask(t, h, works); r.Status != "completed" || r.Result.text() != "it was old" {
			t.Errorf("%s: %s", r.Status, r.Result.text())
		}
	})
}

// impatient is a Notifier that answers the questions of a task at once.
type impatient struct {
	follower
	asked chan string
}

func (i *impatient) TaskChanged(id string, members []byte) {
	if strings.Contains(string(members), `"status":"input_required"`) {
		i.asked <- id
	}
}

func TestATaskIsAnsweredTheMomentItAsks(t *testing.T) {
	h := newHost(t, tool("t", task1h+`
step "one" {
  ask "one" {
    elicit { message = "One?" }
  }
}
step "two" {
  ask "two" {
    elicit { message = "Two?" }
  }
}
text = "done"`))
	const many = 50
	i := &impatient{asked: make(chan string, 2*many)}
	h.SetNotifier(i)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for id := range i.asked {
				if _, err := taskRequest(t, h, "tasks/update", id, `{"one":{"action":"accept"},"two":{"action":"accept"}}`); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var ids []string
	for range many {
		ids = append(ids, startTask(t, h, "t").TaskID)
	}
	for _, id := range ids {
		waitFor(t, func() bool { return getTask(t, h, id).Status == "completed" })
	}
	close(i.asked)
	all.Wait()
	waitForTasks(t, h)
}
