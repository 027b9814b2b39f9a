package runtime

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/adapters"
	"hatchel/hcl/schema"
)

// nameQuestion asks for a name.
func nameQuestion(key string) adapters.Question {
	name := &schema.Member{Name: "name", Type: &schema.Type{Kind: schema.String, Title: "Name"}}
	return adapters.Question{Key: key, Message: "db asks: Who?", Fields: schema.ObjectOf(name), Timeout: time.Minute}
}

// askingBackend has two actions: "ask open" holds its call open while the client answers, and "ask again" continues
// with a state.
type askingBackend struct {
	*fakeBackend
	began atomic.Int64
	ended chan error // of contexts that have ended while the client answered
}

func newAskingBackend() *askingBackend {
	w := &askingBackend{fakeBackend: newFakeBackend(), ended: make(chan error, 100)}
	describe := func(answers []adapters.Answer) string {
		texts := make([]string, len(answers))
		for i, a := range answers {
			texts[i] = fmt.Sprint(a.Action, a.Content, string(a.Sample))
		}
		return strings.Join(texts, ", ")
	}
	w.do["ask open"] = func(ctx context.Context, call *adapters.Call) (any, error) {
		w.began.Add(1)
		call.Progress(1, 0, "before")
		answers, err := call.Ask(ctx, []adapters.Question{nameQuestion("db.1")}, nil)
		if err != nil {
			w.ended <- context.Cause(ctx)
			return nil, err
		}
		call.Progress(2, 0, "after")
		return describe(answers), nil
	}
	w.do["ask again"] = func(ctx context.Context, call *adapters.Call) (any, error) {
		state := "one"
		if r := call.Resumption; r != nil {
			if state = string(r.State) + " " + describe(r.Answers); strings.HasPrefix(state, "two") {
				return state, nil
			}
			state = "two"
		} else {
			w.began.Add(1)
		}
		answers, err := call.Ask(ctx, []adapters.Question{nameQuestion("db." + state)}, []byte(state))
		if err != nil {
			return nil, err
		}
		return state + " at once " + describe(answers), nil
	}
	return w
}

const askingTools = `
tool "open" {
  description = "x"
  fake { do = "ask open" }
}
tool "again" {
  description = "x"
  fake { do = "ask again" }
}
tool "each" {
  description = "x"
  step "all" {
    each = [1, 2]
    fake { do = "ask open" }
  }
  result = "step.all"
}
tool "outer" {
  description = "x"
  step "inner" {
    tool "open" { }
  }
  result = "step.inner.result"
}
`

func TestABackendAsksTheClient(t *testing.T) {
	for _, c := range []struct{ tool, capabilities, answers, want string }{
		{"open", everything, `{"db.1":` + accept + `}`, "acceptmap[name:Ada]"},
		{"open", everything, `{"db.1":{"action":"decline"}}`, "declinemap[]"},
		{"open", `{}`, ``, "cancelmap[]"},
		{"each", everything, ``, "cancelmap[]"},
		{"outer", everything, ``, "cancelmap[]"},
	} {
		w := newAskingBackend()
		h := newHost(t, askingTools, w.use)
		req := modernRequest(c.tool, `{}`, c.capabilities)
		r := mustCall(t, h, req)
		if c.answers != "" {
			if r.keys() != "db.1" || r.InputRequests["db.1"].Params["message"] != "db asks: Who?" {
				t.Fatalf("%+v", r)
			}
			r = mustCall(t, h, retryRequest(req, r.RequestState, c.answers))
		}
		if !strings.Contains(r.text(), c.want) || r.IsError {
			t.Errorf("%s: %+v", c.tool, r)
		}
	}
}

func TestABackendThatHoldsNothingOpenContinuesWithItsState(t *testing.T) {
	w := newAskingBackend()
	h := newHost(t, askingTools, w.use)
	req := modernRequest("again", `{}`, everything)
	r := mustCall(t, h, req)
	for _, key := range []string{"db.one", "db.two"} {
		if r.keys() != key {
			t.Fatalf("%+v", r)
		}
		invalid := mustCall(t, h, retryRequest(req, r.RequestState, `{"`+key+`":{"action":"accept","content":{"name":7}}}`))
		if text := fmt.Sprint(invalid.InputRequests[key].Params["message"]); !strings.Contains(text, "The last answer is not valid") {
			t.Fatalf("%+v", invalid)
		}
		r = mustCall(t, h, retryRequest(req, invalid.RequestState, `{"`+key+`":`+accept+`}`))
	}
	if r.text() != "two acceptmap[name:Ada]" || w.began.Load() != 1 {
		t.Errorf("%+v, and it began %d times", r, w.began.Load())
	}
}

func TestALegacyClientIsAskedByABackendWhileTheCallWaits(t *testing.T) {
	w := newAskingBackend()
	inBubble(t, askingTools, w.use, func(t *testing.T, h *Host) {
		c := connectLegacyClient(t, h, `{"elicitation":{}}`)
		c.call("open")
		if m := <-c.said; fmt.Sprint(m["method"]) != "notifications/progress" {
			t.Fatalf("got %v", m)
		}
		c.answer(c.waitForQuestions(1)["db asks: Who?"], accept)
		if m := <-c.said; fmt.Sprint(m["method"]) != "notifications/progress" {
			t.Fatalf("got %v", m)
		}
		if m := fmt.Sprint(<-c.said); !strings.Contains(m, "acceptmap[name:Ada]") {
			t.Errorf("got %s", m)
		}
		c.close()
	})
}

func TestAnOpenCallEndsWhenItsClientDoesNotContinueIt(t *testing.T) {
	w := newAskingBackend()
	inBubble(t, askingTools, w.use, func(t *testing.T, h *Host) {
		req := modernRequest("open", `{}`, everything)
		r := mustCall(t, h, req)
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		<-w.ended
		if late := mustCall(t, h, retryRequest(req, r.RequestState, `{"db.1":`+accept+`}`)); !late.IsError ||
			!strings.Contains(late.text(), "it is not known whether the call took effect") {
			t.Errorf("%+v", late)
		}
		if n := h.Current().Env.OpenCalls.Waiting(); n != 0 {
			t.Errorf("%d calls wait", n)
		}
	})
}

// awaitOpenCalls waits until so many calls are open.
func awaitOpenCalls(t *testing.T, h *Host, n int) {
	t.Helper()
	for end := time.Now().Add(maxWait); h.Current().Env.OpenCalls.Waiting() != n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d calls are open, not %d", h.Current().Env.OpenCalls.Waiting(), n)
		}
	}
}

func TestACallThatIsRefusedWhenItContinuesEndsAtOnce(t *testing.T) {
	for name, policy := range map[string]string{
		"by a rule without inputs": `deny = "'late' in caller.capabilities"`,
		"by a rule with inputs":    `deny = "'late' in caller.capabilities && input.n == 1"`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newAskingBackend()
			tools := `
tool "open" {
  description = "x"
  input "n" { type = integer }
  fake { do = "ask open" }
}
`
			h := newHost(t, tools, w.use)
			req := modernRequest("open", `{"n":1}`, everything)
			r := mustCall(t, h, req)
			awaitOpenCalls(t, h, 1)
			load(t, h, tools+`
policy "late" {
  tools = ["open"]
  `+strings.ReplaceAll(policy, "'late' in caller.capabilities", "'sampling' in caller.capabilities")+`
}
`)
			refused, err := tryCall(t, h, retryRequest(req, r.RequestState, `{"db.1":`+accept+`}`))
			if err == nil && !refused.IsError {
				t.Errorf("%+v", refused)
			}
			awaitOpenCalls(t, h, 0)
			<-w.ended
		})
	}
}

func TestAnOpenCallEndsWhenItsToolIsChanged(t *testing.T) {
	w := newAskingBackend()
	h := newHost(t, askingTools, w.use)
	mustCall(t, h, modernRequest("open", `{}`, everything))
	awaitOpenCalls(t, h, 1)
	load(t, h, strings.Replace(askingTools, `description = "x"`, `description = "y"`, 1))
	awaitOpenCalls(t, h, 0)
	<-w.ended
}

func TestAnOpenCallOfAProcessThatHasStoppedIsLost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	w := newAskingBackend()
	req := modernRequest("open", `{}`, everything)
	var state string
	t.Run("before", func(t *testing.T) {
		h := newHost(t, askingTools, w.use, storedIn(t, path))
		state = mustCall(t, h, req).RequestState
	})
	<-w.ended // with its process
	h := newHost(t, askingTools, w.use, storedIn(t, path))
	lost := mustCall(t, h, retryRequest(req, state, `{"db.1":`+accept+`}`))
	if !lost.IsError || !strings.Contains(lost.text(), "it is not known whether the call took effect") || w.began.Load() != 1 {
		t.Errorf("%+v, and it began %d times", lost, w.began.Load())
	}
}

func TestACallThatPausedElsewhereContinuesWithTheStateOfItsBackend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	w := newAskingBackend()
	req := modernRequest("again", `{}`, everything)
	var state string
	t.Run("before", func(t *testing.T) {
		state = mustCall(t, newHost(t, askingTools, w.use, storedIn(t, path)), req).RequestState
	})
	h := newHost(t, askingTools, w.use, storedIn(t, path))
	if r := mustCall(t, h, retryRequest(req, state, `{"db.one":`+accept+`}`)); r.keys() != "db.two" || w.began.Load() != 1 {
		t.Errorf("%+v, and it began %d times", r, w.began.Load())
	}
}

func TestAKeyIsHeldWhileABackendAsks(t *testing.T) {
	w := newAskingBackend()
	h := newHost(t, `
tool "open" {
  description = "x"
  idempotency { }
  fake { do = "ask open" }
}
`, w.use)
	req := modernRequest("open", `{"idempotency_key":"k"}`, everything)
	r := mustCall(t, h, req)
	if again := mustCall(t, h, req); !again.IsError || !strings.Contains(again.text(), "waits for answers of its client") {
		t.Errorf("%+v", again)
	}
	if r = mustCall(t, h, retryRequest(req, r.RequestState, `{"db.1":`+accept+`}`)); r.IsError {
		t.Errorf("%+v", r)
	}
	if again := mustCall(t, h, req); again.text() != r.text() || w.began.Load() != 1 {
		t.Errorf("%+v, and it began %d times", again, w.began.Load())
	}
}

// TestOpenCallsOfManyCallersAreKeptApart has 100 callers answer at once.
func TestOpenCallsOfManyCallersAreKeptApart(t *testing.T) {
	w := newAskingBackend()
	h := newHost(t, strings.ReplaceAll(askingTools, `description = "x"`, "description = \"x\"\n  timeout = \"5m\""), w.use)
	var all sync.WaitGroup
	slots := make(chan struct{}, 60) // fewer than may be open
	for i := range 100 {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			name := fmt.Sprint("caller ", i)
			tool, key := "open", "db.1"
			if i%2 == 0 {
				tool, key = "again", "db.one"
			}
			req := modernRequest(tool, `{}`, everything)
			req.Caller.Subject = name
			answer := fmt.Sprintf(`{"action":"accept","content":{"name":%q}}`, name)
			r := mustCall(t, h, req)
			if r = mustCall(t, h, retryRequest(req, r.RequestState, `{"`+key+`":`+answer+`}`)); tool == "again" {
				r = mustCall(t, h, retryRequest(req, r.RequestState, `{"db.two":`+answer+`}`))
			}
			if !strings.Contains(r.text(), "acceptmap[name:"+name+"]") {
				t.Errorf("%s: %+v", name, r)
			}
		})
	}
	all.Wait()
}
