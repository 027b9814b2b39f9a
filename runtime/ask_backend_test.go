package runtime

import (
	"context"
	"fmt"
	"strings"
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
