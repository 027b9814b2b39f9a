package runtime

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/adapters"
	"hatchel/internal/digest"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/durable/store"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/idempotency"
)

const keyed = "idempotency { ttl = \"1h\" }\n"

func TestTheSameKeyIsCarriedOutOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	w := newFakeBackend()
	count := w.addCounter()
	src := tool("t", keyed+`
		input "a" { type = integer }
		fake { do = "count" }
		text = "done ${output.value}"
	`) + tool("u", keyed+`fake { do = "count" }`)
	h := newHost(t, src, w.use, storedIn(t, path))
	first := callAs(t, h, "ann", "t", `{"a":1,"idempotency_key":"k"}`)
	if again := callAs(t, h, "ann", "t", `{"idempotency_key":"k","a":1.0}`); again != first || count() != 1 {
		t.Errorf("first %s, then %s", first, again)
	}
	if got := callAs(t, h, "ann", "t", `{"a":2,"idempotency_key":"k"}`); !strings.Contains(got, "other arguments") || !strings.Contains(got, "isError") || count() != 1 {
		t.Errorf("other arguments: %s", got)
	}
	h.Close()
	h = newHost(t, src, w.use, storedIn(t, path))
	if again := callAs(t, h, "ann", "t", `{"a":1,"idempotency_key":"k"}`); again != first || count() != 1 {
		t.Errorf("after a restart: %s", again)
	}
	for _, other := range [][3]string{{"ben", "t", `{"a":1,"idempotency_key":"k"}`}, {"ann", "u", `{"idempotency_key":"k"}`}, {"ann", "t", `{"a":1,"idempotency_key":"K"}`}, {"ann", "t", `{"a":1}`}, {"ann", "t", `{"a":1}`}} {
		before := count()
		if got := callAs(t, h, other[0], other[1], other[2]); count() != before+1 {
			t.Errorf("%v: %s", other, got)
		}
	}
	for _, bad := range []string{`""`, `"` + strings.Repeat("k", 256) + `"`, `"a b"`, `"ä"`, `1`, "\"a\\nb\""} {
		if got := callAs(t, h, "ann", "t", `{"a":1,"idempotency_key":`+bad+`}`); !strings.Contains(got, "not valid") {
			t.Errorf("the key %s: %s", bad, got)
		}
	}
}

func TestAKeyIsForgottenWhenItsTimeHasPassed(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	inBubble(t, tool("t", keyed+`fake { do = "count" }`), w.use, func(t *testing.T, h *Host) {
		callAs(t, h, "ann", "t", `{"idempotency_key":"k"}`)
		time.Sleep(time.Hour - time.Second)
		if callAs(t, h, "ann", "t", `{"idempotency_key":"k"}`); count() != 1 {
			t.Error("it is forgotten too early")
		}
		time.Sleep(2 * time.Second)
		if callAs(t, h, "ann", "t", `{"idempotency_key":"k"}`); count() != 2 {
			t.Error("it is not forgotten")
		}
	})
}

func TestTheSameKeyWaitsForTheFirst(t *testing.T) {
	s := newSlowBackend()
	ran := 0
	slow := s.do["slow"]
	s.do["slow"] = func(ctx context.Context, c *adapters.Call) (any, error) { ran++; return slow(ctx, c) }
	inBubble(t, tool("t", keyed+"timeout = \"10s\"\nlimit { concurrency = 1 }\nfake { do = \"slow\" }"), s.use, func(t *testing.T, h *Host) {
		s.end = make(chan struct{})
		said := make(chan string, 10)
		for range 5 {
			go func() { said <- callAs(t, h, "ann", "t", `{"idempotency_key":"k"}`) }()
		}
		time.Sleep(5 * time.Second)
		go func() {
			said <- callWithContext(contextWithTimeout(t, time.Second), h, "ann", "t", `{"idempotency_key":"k"}`)
		}()
		if got := <-said; !strings.Contains(got, "still in progress") {
			t.Errorf("who cannot wait: %s", got)
		}
		close(s.end)
		for range 5 {
			if got := <-said; !strings.Contains(got, "done") {
				t.Error(got)
			}
		}
		if ran != 1 {
			t.Errorf("it ran %d times", ran)
		}
	})
}

func TestATimeoutBeforeAnythingWasSentFreesTheKey(t *testing.T) {
	w := newFakeBackend()
	ran := 0
	w.do["busy"] = func(ctx context.Context, _ *adapters.Call) (any, error) {
		if ran++; ran > 1 {
			return map[string]any{"value": "done"}, nil
		}
		<-ctx.Done()
		return nil, &adapters.Fault{Message: "busy", Cause: ctx.Err(), NotSent: true}
	}
	inBubble(t, tool("t", keyed+"timeout = \"1s\"\nfake { do = \"busy\" }"), w.use, func(t *testing.T, h *Host) {
		if got := callAs(t, h, "ann", "t", `{"idempotency_key":"k"}`); !strings.Contains(got, "timed out after 1s; busy") {
			t.Errorf("the first call: %s", got)
		}
		if got := callAs(t, h, "ann", "t", `{"idempotency_key":"k"}`); !strings.Contains(got, "done") {
			t.Errorf("the call that is repeated: %s", got)
		}
	})
}

func TestAFailureOfAKeyIsItsResult(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	counted := w.do["count"]
	fault := error(&adapters.Fault{Message: "no money"})
	w.do["pay"] = func(ctx context.Context, c *adapters.Call) (any, error) {
		counted(ctx, c)
		return nil, fault
	}
	h := newHost(t, tool("t", keyed+"check \"not zero\" {\n that = \"input.a != 0\"\n}\ninput \"a\" { type = optional(integer) }\nfake { do = \"pay\" }\nerror = \"It failed: ${error.message}\""), w.use)
	call := func(key string) string { return callAs(t, h, "ann", "t", `{"idempotency_key":"`+key+`"}`) }
	if first, again := call("a"), call("a"); first != again || !strings.Contains(again, "It failed: no money") || count() != 1 {
		t.Errorf("first %s, then %s after %d", first, again, count())
	}
	fault = &adapters.Fault{Message: "nothing was sent", NotSent: true}
	call("b")
	if fault = nil; strings.Contains(call("b"), "isError") || count() != 3 {
		t.Error("what has done nothing uses its key up")
	}
	fault = &adapters.Fault{Message: "gone", Cause: context.DeadlineExceeded}
	call("c")
	if got := call("c"); !strings.Contains(got, "outcome is unknown") || count() != 4 {
		t.Errorf("what was not answered in time: %s", got)
	}
	fault = errors.New("a fault of ours")
	call("d")
	if got := call("d"); !strings.Contains(got, "outcome is unknown") || count() != 5 {
		t.Errorf("a fault of ours: %s", got)
	}
	callAs(t, h, "ann", "t", `{"a":0,"idempotency_key":"e"}`)
	if fault = nil; strings.Contains(call("e"), "isError") {
		t.Error("what was refused uses its key up")
	}
}

func TestWhatADeadProcessHasBegunIsNotDoneAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	synctest.Test(t, func(t *testing.T) {
		w := newFakeBackend()
		count := w.addCounter()
		s := withStore(t, func(ctx context.Context) (state.Store, error) { return state.Open(ctx, path) })
		h := newHost(t, tool("t", keyed+`fake { do = "count" }`), w.use, s)
		other := store.New(t.Context(), func(ctx context.Context) (state.Store, error) { return state.Open(ctx, path) })
		defer other.Close()
		key, arguments := digest.Of("idempotency", "t", "", "k").String(), digest.Of("arguments", "{}").String()
		dead := idempotency.New(other.Keys, key, arguments, time.Hour)
		if before, err := dead.Acquire(t.Context(), "", time.Minute); before != nil || err != nil {
			t.Fatal(before, err)
		}
		other.Process.Close() // its heartbeat ends
		for range 2 {
			if got := callAs(t, h, "", "t", `{"idempotency_key":"k"}`); !strings.Contains(got, "outcome is unknown") || !strings.Contains(got, "isError") || count() != 0 {
				t.Error(got)
			}
		}
	})
}

func TestAProcessThatIsSlowIsNotTakenForDead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := newSlowBackend()
	synctest.Test(t, func(t *testing.T) {
		s.end = make(chan struct{})
		open := func() *Host {
			st := withStore(t, func(ctx context.Context) (state.Store, error) { return state.Open(ctx, path) })
			h := newHost(t, tool("t", keyed+`fake { do = "slow" }`), s.use, st)
			return h
		}
		a, b := open(), open()
		said := make(chan string, 2)
		go func() { said <- callAs(t, a, "ann", "t", `{"idempotency_key":"k"}`) }()
		synctest.Wait()
		go func() { said <- callAs(t, b, "ann", "t", `{"idempotency_key":"k"}`) }()
		time.Sleep(40 * time.Second)
		if len(s.running) != 1 {
			t.Errorf("%d run", len(s.running))
		}
		close(s.end)
		for range 2 {
			if got := <-said; !strings.Contains(got, "done") {
				t.Error(got)
			}
		}
	})
}

func TestTheKeyOfACallReachesItsBackends(t *testing.T) {
	w := newFakeBackend()
	w.do["key"] = func(_ context.Context, c *adapters.Call) (any, error) { w.record("%s", c.Key); return c.Key, nil }
	h := newHost(t, tool("one", keyed+`fake { do = "key" }`)+tool("inner", `fake { do = "key" }`)+tool("many", keyed+`
		step "a" {
			fake { do = "key" }
		}
		step "b" {
			each = [1, 2, 3]
			parallel = 2
			fake { do = "key" }
		}
		step "c" {
			each = {x = 1, y = 2}
			fake { do = "key" }
		}
		step "d" {
			repeat {
				until = "output.value != step.a.value && false"
				max   = 2
				every = "1ms"
			}
			on_error = "continue"
			fake { do = "key" }
		}
		step "e" {
			tool "inner" {}
		}
		text = "done"
	`), w.use)
	w.takeJournal()
	callAs(t, h, "ann", "one", `{"idempotency_key":"verbatim"}`)
	callAs(t, h, "ann", "one", `{}`)
	if got := strings.Join(w.takeJournal(), ","); got != "verbatim," {
		t.Errorf("the only backend of a tool gets %q", got)
	}
	callAs(t, h, "ann", "many", `{"idempotency_key":"k"}`)
	keys := w.takeJournal()
	seen := map[string]bool{}
	for _, k := range keys {
		if k == "" || k == "k" || seen[k] {
			t.Errorf("two parts have the key %q", k)
		}
		seen[k] = true
	}
	if len(keys) != 9 {
		t.Errorf("%d parts", len(keys))
	}
	h2 := newHost(t, tool("many", keyed+"step \"a\" {\n fake { do = \"key\" }\n}\ntext = \"done\""), w.use)
	defer h2.Close()
	w.takeJournal()
	callAs(t, h2, "ann", "many", `{"idempotency_key":"k"}`)
	if again := w.takeJournal(); len(again) != 1 || again[0] != keys[0] {
		t.Errorf("the same part has the key %v, and had %v", again, keys[0])
	}
}

const pausing = keyed + `
	step "ask" {
		ask "name" {
			elicit {
				message = "Who?"
				fields  = object({ name = string })
			}
		}
	}
	step "pay" {
		fake { do = "count" }
	}
	step "again" {
		ask "really" {
			elicit {
				message = "Really?"
				fields  = object({ name = string })
			}
		}
	}
	text = "${step.ask.name.content.name} ${step.pay.value}"
`

func TestAKeyIsHeldByACallThatHasActedAndWaits(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	h := newHost(t, tool("t", pausing), w.use)
	first := modernRequest("t", `{"idempotency_key":"k"}`, everything)
	a, b := mustCall(t, h, first), mustCall(t, h, first)
	if a.keys() != "name" || b.keys() != "name" {
		t.Fatalf("nothing was done, so both are asked: %+v %+v", a, b)
	}
	const said = `{"name":` + accept + `}`
	c := mustCall(t, h, retryRequest(first, a.RequestState, said))
	if c.keys() != "really" || count() != 1 {
		t.Fatalf("%+v", c)
	}
	if got := mustCall(t, h, first); !got.IsError || !strings.Contains(got.text(), "waits for answers") {
		t.Errorf("another call: %+v", got)
	}
	if got := mustCall(t, h, retryRequest(first, b.RequestState, said)); !got.IsError || !strings.Contains(got.text(), "waits for answers") || count() != 1 {
		t.Errorf("the other that was asked: %+v", got)
	}
	done := mustCall(t, h, retryRequest(first, c.RequestState, `{"really":`+accept+`}`))
	if done.text() != "Ada 1" || count() != 1 {
		t.Errorf("%+v", done)
	}
	if got := mustCall(t, h, first); got.text() != "Ada 1" || count() != 1 {
		t.Errorf("after it is done: %+v", got)
	}
}

// The key of a call that waits is forgotten, and taken for other work before the answer comes.
func TestACallThatHasLostItsKeyIsNotAnsweredWithOtherWork(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	inBubble(t, tool("t", strings.Replace(pausing, "1h", "1m", 1)+`input "a" { type = integer }`), w.use, func(t *testing.T, h *Host) {
		paused := func(a string) (req *mcp.CallRequest, state string) {
			req = modernRequest("t", `{"a":`+a+`,"idempotency_key":"k"}`, everything)
			asked := mustCall(t, h, retryRequest(req, mustCall(t, h, req).RequestState, `{"name":`+accept+`}`))
			if asked.keys() != "really" {
				t.Fatalf("%+v", asked)
			}
			return req, asked.RequestState
		}
		first, state := paused("1")
		time.Sleep(2 * time.Minute)
		second, other := paused("2")
		if done := mustCall(t, h, retryRequest(second, other, `{"really":`+accept+`}`)); done.text() != "Ada 2" {
			t.Fatalf("%+v", done)
		}
		if got := mustCall(t, h, retryRequest(first, state, `{"really":`+accept+`}`)); !got.IsError || !strings.Contains(got.text(), "with other arguments") || count() != 2 {
			t.Errorf("%+v", got)
		}
	})
}

func TestTheSameKeyIsTheSameTask(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	h := newHost(t, tool("t", keyed+task1h+"limit { concurrency = 1 }\nfake { do = \"count\" }\ntext = \"done ${output.value}\""), w.use)
	req := modernRequest("t", `{"idempotency_key":"k"}`, following)
	a := mustCall(t, h, req)
	b := mustCall(t, h, req)
	if a.TaskID == "" || a.TaskID != b.TaskID {
		t.Fatalf("%+v %+v", a, b)
	}
	waitForTasks(t, h)
	if r := getTask(t, h, a.TaskID); r.Status != "completed" || r.Result.text() != "done 1" || count() != 1 {
		t.Errorf("%+v", r)
	}
	if got := mustCall(t, h, modernRequest("t", `{"idempotency_key":"k"}`, `{}`)); !got.IsError || !strings.Contains(got.text(), "cannot follow") || count() != 1 {
		t.Errorf("a client that cannot follow tasks: %+v", got)
	}
	if got := mustCall(t, h, modernRequest("t", `{"idempotency_key":"other"}`, `{}`)); got.text() != "done 2" {
		t.Errorf("the task keeps its place: %+v", got)
	}
}

func TestWhatCannotBeRememberedIsNotDone(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	store, err := state.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	st := withStore(t, func(context.Context) (state.Store, error) { return store, nil })
	h := newHost(t, tool("t", keyed+`fake { do = "count" }`), w.use, st)
	store.SetQuota(1)
	if got := callAs(t, h, "ann", "t", `{"idempotency_key":"k"}`); !strings.Contains(got, "Nothing was done") || count() != 0 {
		t.Errorf("where there is no room: %s", got)
	}
	store.SetQuota(1 << 30)
	if got := callAs(t, h, "ann", "t", `{"idempotency_key":"k"}`); strings.Contains(got, "isError") || count() != 1 {
		t.Errorf("where there is: %s", got)
	}
}
