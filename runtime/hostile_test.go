package runtime

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/adapters"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/task"
)

const guarded = `
tool "t" {
  description = "A tool."
  allow       = "caller.client.name == 'good' && input.a != 'no'"
  input "a" { type = string }
  input "b" {
    type = optional(string, "")
    complete {
      fake { do = "cities" }
      result = "[output.value]"
    }
  }
  input "c" {
    type     = optional(string, "")
    complete = ["one", "two"]
  }
  text = "${input.a}${input.b}${input.c}"
}
resource "r" {
  uri_template = "doc://{a}"
  allow        = "caller.client.name == 'good' && input.a != 'no'"
  text         = input.a
}
`

func TestWhoMayNotCallIsOfferedNothing(t *testing.T) {
	w := newFakeBackend()
	asked := 0
	w.do["cities"] = func(context.Context, *adapters.Call) (any, error) {
		asked++
		return "Rome", nil
	}
	h := newHost(t, guarded, w.use)
	good, bad := &mcp.Caller{ClientInfo: []byte(`{"name":"good"}`)}, &mcp.Caller{ClientInfo: []byte(`{"name":"bad"}`)}
	for _, c := range []struct {
		caller             *mcp.Caller
		argument, filledIn string
		want               string
	}{
		{good, "b", `{"a":"yes"}`, "Rome"},
		{good, "c", `{"a":"yes"}`, "one two"},
		{good, "c", ``, "one two"},
		{good, "b", `{"a":"no"}`, ""},
		{bad, "b", `{"a":"yes"}`, ""},
		{bad, "c", `{"a":"yes"}`, ""},
		{&mcp.Caller{}, "c", ``, ""},
	} {
		before := asked
		req := &mcp.CompleteRequest{Kind: "tool", Name: "t", Argument: c.argument, Context: []byte(c.filledIn), Caller: c.caller}
		if got := complete(t, h, req); got != c.want {
			t.Errorf("%s with %s: got %q, want %q", c.argument, c.filledIn, got, c.want)
		}
		if c.want == "" && asked != before {
			t.Errorf("%s with %s: the backend was asked", c.argument, c.filledIn)
		}
	}
}

func TestWhoMayNotReadMayNotFollow(t *testing.T) {
	h := newHost(t, guarded)
	good, bad := &mcp.Caller{ClientInfo: []byte(`{"name":"good"}`)}, &mcp.Caller{ClientInfo: []byte(`{"name":"bad"}`)}
	if err := h.SubscribeResource(t.Context(), good, "doc://yes"); err != nil {
		t.Error(err)
	}
	for uri, caller := range map[string]*mcp.Caller{"doc://no": good, "doc://yes": bad} {
		var e *mcp.Error
		if err := h.SubscribeResource(t.Context(), caller, uri); !errors.As(err, &e) || e.Code != mcp.CodeInvalidParams || !strings.Contains(string(e.Data), uri) {
			t.Errorf("%s: %v", uri, err)
		}
	}
}

func TestOnlySoManyDocumentsAreFollowedAtOnce(t *testing.T) {
	h := newHost(t, `resource "r" {
		uri_template = "doc://{a}"
		text         = input.a
	}`)
	uri := func(i int) string { return "doc://" + strconv.Itoa(i) }
	follow := func(i int) error { return h.SubscribeResource(t.Context(), &mcp.Caller{}, uri(i)) }
	for i := range 10000 {
		if err := follow(i); err != nil {
			t.Fatalf("document %d: %v", i, err)
		}
	}
	var e *mcp.Error
	if err := follow(10000); !errors.As(err, &e) || e.Code != mcp.CodeBusy {
		t.Errorf("one too many: %v", err)
	}
	if err := follow(0); err != nil {
		t.Errorf("one that is followed: %v", err)
	}
	h.UnsubscribeResource(&mcp.Caller{}, uri(1))
	if err := follow(10000); err != nil {
		t.Errorf("where there is room again: %v", err)
	}
}

func TestAPromptHasOnlySoMuchToSay(t *testing.T) {
	h := newHost(t, `prompt "p" {
		description = "Repeats itself."
		argument "times" { type = string }
		message "user" {
			each = split(",", input.times)
			text = "again"
		}
	}`)
	if got := getPrompt(t, h, "", "p", `{"times":"a,b"}`); strings.Count(got, "again") != 2 {
		t.Errorf("got %s", got)
	}
	if got := getPrompt(t, h, "", "p", `{"times":"`+strings.Repeat(",", 400000)+`"}`); !strings.Contains(got, "no more than 16 MiB can be sent") {
		t.Errorf("got %.300s", got)
	}
}

func TestWhereTheServerKeepsItsFilesIsNotTold(t *testing.T) {
	w, dir := newFakeBackend(), t.TempDir()
	w.do["read"] = func(context.Context, *adapters.Call) (any, error) {
		return nil, adapters.FileFault(fs.ErrNotExist, filepath.Join(dir, "docs", "a.txt"))
	}
	w.do["refuse"] = func(context.Context, *adapters.Call) (any, error) {
		return nil, adapters.FileFault(fs.ErrPermission, filepath.Join(dir, "docs", "b.txt"))
	}
	log := new(bytes.Buffer)
	h := newHost(t, `resource "r" {
		uri = "doc://a"
		fake { do = "read" }
	}
	prompt "p" {
		description = "Reads a file."
		fake { do = "read" }
		message "user" { text = "x" }
	}
	prompt "own" {
		description = "Reads a file."
		fake { do = "read" }
		message "user" { text = "x" }
		error = "Failed: ${error.message}"
	}
	prompt "refused" {
		description = "Reads a file."
		fake { do = "refuse" }
		message "user" { text = "x" }
	}`, w.use, logTo(log, slog.LevelInfo), inDir(dir))
	for want, got := range map[string]string{ // what is made of a file that is not there is not there itself
		"a file of the resource was not found (-32602) {\"uri\":\"doc://a\"}": readResource(t, h, "", "doc://a"),
		"a file of the prompt was not found (-32602)":                         getPrompt(t, h, "", "p", "{}"),
		"Failed: a file of the prompt was not found (-32602)":                 getPrompt(t, h, "", "own", "{}"),
		"permission denied on docs/b.txt (-32603)":                            getPrompt(t, h, "", "refused", "{}"),
	} {
		if !strings.Contains(got, want) || strings.Contains(got, dir) || strings.Contains(got, "a.txt") {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if !strings.Contains(log.String(), filepath.Join(dir, "docs", "a.txt")) {
		t.Errorf("the log does not say which file that is: %s", log)
	}
}

func TestFewLookAtAResourceAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeBackend()
		var now, most, all atomic.Int64
		w.do["slow"] = func(context.Context, *adapters.Call) (any, error) {
			n := now.Add(1)
			defer now.Add(-1)
			all.Add(1)
			most.Store(max(most.Load(), n))
			time.Sleep(time.Second)
			return "text", nil
		}
		h := newHost(t, `resource "r" {
			uri_template = "doc://{a}"
			refresh      = "1h"
			fake {
				do    = "slow"
				value = input.a
			}
		}`, w.use)
		var following sync.WaitGroup
		for i := range 50 {
			following.Go(func() {
				if err := h.SubscribeResource(t.Context(), &mcp.Caller{}, "doc://"+strconv.Itoa(i)); err != nil {
					t.Error(err)
				}
			})
		}
		following.Wait()
		if most.Load() > 8 || all.Load() != 50 {
			t.Errorf("%d looked at once, %d in all", most.Load(), all.Load())
		}
	})
}

func TestAFullStoreTakesNoNewTaskAndNoLargeState(t *testing.T) {
	w := newFakeBackend()
	s := withStore(t, func(ctx context.Context) (state.Store, error) {
		store, err := state.Open(ctx, "")
		if err == nil {
			_, err = state.Secret(ctx, store)
			store.SetQuota(1)
		}
		return store, err
	})
	h := newHost(t, tool("task", task1h+`text = "done"`)+tool("asks", `
		input "a" { type = string }
		step "large" {
			fake { value = input.a }
		}
		step "who" {
			ask "sure" {
				elicit { message = "Sure?" }
			}
		}
		text = step.large.value`), w.use, s)
	if _, err := tryCall(t, h, modernRequest("task", `{}`, following)); !errors.Is(err, task.ErrFull) {
		t.Errorf("a task was created: %v", err)
	}
	if r := mustCall(t, h, modernRequest("asks", `{"a":"small"}`, everything)); r.RequestState == "" {
		t.Errorf("a state that the client carries needs no room: %+v", r)
	}
	if r := mustCall(t, h, modernRequest("asks", `{"a":"`+strings.Repeat("x", 20<<10)+`"}`, everything)); !r.IsError || !strings.Contains(r.text(), "could not be asked") {
		t.Errorf("got %+v", r)
	}
}

func TestWhatBecomesOfATaskIsBoundedToo(t *testing.T) {
	w := newFakeBackend()
	stored := make(chan *state.SQLite, 1)
	s := withStore(t, func(ctx context.Context) (state.Store, error) {
		store, err := state.Open(ctx, "")
		stored <- store
		return store, err
	})
	goOn := make(chan struct{})
	w.do["hold"] = func(context.Context, *adapters.Call) (any, error) {
		<-goOn
		return strings.Repeat("x", 20<<10), nil
	}
	h := newHost(t, tool("holds", task1h+`
		step "hold" {
			fake { do = "hold" }
		}
		text = step.hold.value`)+tool("asks", task1h+`
		step "who" {
			ask "one" {
				elicit {
					message = "One?"
					fields  = object({ name = string("Name") })
				}
			}
			ask "two" {
				elicit { message = "Two?" }
			}
		}
		text = "done"`), w.use, s)
	holds, asks := startTask(t, h, "holds").TaskID, startTask(t, h, "asks").TaskID
	waitFor(t, func() bool { return getTask(t, h, asks).Status == "input_required" })
	(<-stored).SetQuota(1)
	close(goOn)
	waitFor(t, func() bool { return getTask(t, h, holds).Status == "failed" })
	if r := getTask(t, h, holds); !strings.Contains(r.Message, "state store is full") {
		t.Errorf("got %+v", r)
	}
	answer := func(size int) error {
		_, err := taskRequest(t, h, "tasks/update", asks, `{"one":{"action":"accept","content":{"name":"`+strings.Repeat("x", size)+`"}}}`)
		return err
	}
	if err := answer(20 << 10); err != task.ErrFull {
		t.Errorf("a large answer: %v", err)
	}
	if err := answer(10); err != nil {
		t.Errorf("a small answer: %v", err)
	}
}

func TestACallThatIsCancelledWhileItResumesIsNoFaultOfTheServer(t *testing.T) {
	w := newFakeBackend()
	w.addCounter()
	h := newHost(t, tool("t", asking), w.use)
	req := modernRequest("t", `{}`, everything)
	first := mustCall(t, h, req)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out, err := requestTool(ctx, h, retryRequest(req, first.RequestState, `{"name":`+accept+`}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(out.AppendResult(nil, mcp.Revision20260728)); !strings.Contains(got, "the call was cancelled") {
		t.Errorf("got %s", got)
	}
}
