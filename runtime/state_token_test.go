package runtime

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/adapters"
	"hatchel/hcl/value"
	"hatchel/runtime/edge/mcp"
)

func TestAStateIsGoodOnce(t *testing.T) {
	w := newFakeBackend()
	h := newHost(t, tool("t", asking), w.use)
	first := modernRequest("t", `{}`, `{"elicitation":{}}`)
	a := mustCall(t, h, first)
	next := retryRequest(first, a.RequestState, `{"name":`+accept+`}`)
	if b := mustCall(t, h, next); b.keys() != "color" {
		t.Fatalf("%+v", b)
	}
	if b, err := tryCall(t, h, next); !isInvalidState(err) {
		t.Errorf("the state was good again: %+v %v", b, err)
	}
}

func TestAStateIsGoodForNothingElse(t *testing.T) {
	w := newFakeBackend()
	src := tool("t", asking) + tool("u", asking) + tool("quiet", `text = "quiet"`)
	h := newHost(t, src, w.use)
	ask := func() (*mcp.CallRequest, string) {
		req := modernRequest("t", `{"n":1,"m":{"a":1,"b":[2]}}`, `{"elicitation":{}}`)
		req.Caller.Subject, req.Caller.ClientInfo = "ada", []byte(`{"name":"x"}`)
		return req, mustCall(t, h, req).RequestState
	}
	for name, change := range map[string]func(*mcp.CallRequest){
		"another tool":        func(r *mcp.CallRequest) { r.Name = "u" },
		"one that asks not":   func(r *mcp.CallRequest) { r.Name = "quiet" },
		"another argument":    func(r *mcp.CallRequest) { r.Arguments = []byte(`{"n":2,"m":{"a":1,"b":[2]}}`) },
		"less arguments":      func(r *mcp.CallRequest) { r.Arguments = []byte(`{"n":1}`) },
		"an argument's depth": func(r *mcp.CallRequest) { r.Arguments = []byte(`{"n":1,"m":{"a":1,"b":[3]}}`) },
		"another subject":     func(r *mcp.CallRequest) { r.Caller.Subject = "bob" },
		"nobody":              func(r *mcp.CallRequest) { r.Caller.Subject = "" },
		"another toolset":     func(r *mcp.CallRequest) { r.Caller.Toolset = "set" },
		"an end":              func(r *mcp.CallRequest) { r.State += "A" },
		"a line break":        func(r *mcp.CallRequest) { r.State = r.State[:8] + "\n" + r.State[8:] },
		"half of it":          func(r *mcp.CallRequest) { r.State = r.State[:len(r.State)/2] },
		"a word":              func(r *mcp.CallRequest) { r.State = "state" },
	} {
		req, state := ask()
		foreign := retryRequest(req, state, `{"name":`+accept+`}`)
		caller := *req.Caller
		foreign.Caller = &caller
		change(foreign)
		p, _ := h.Current().Program(foreign.Name)
		if out, err := p.Run(t.Context(), foreign); !isInvalidState(err) {
			t.Errorf("%s: %+v %v", name, out, err)
		}
		if b := mustCall(t, h, retryRequest(req, state, `{"name":`+accept+`}`)); b.keys() != "color" {
			t.Errorf("%s: the state is not good any more: %+v", name, b)
		}
	}
	req, state := ask()
	same := retryRequest(req, state, `{"name":`+accept+`}`)
	same.Arguments = []byte(` { "m" : {"b":[2.0], "a":1}, "n":1.0}`)
	if b := mustCall(t, h, same); b.keys() != "color" {
		t.Errorf("the same arguments in other words: %+v", b)
	}
	req, state = ask()
	load(t, h, strings.Replace(src, "Who?", "Who is it?", 1))
	if out, err := tryCall(t, h, retryRequest(req, state, `{"name":`+accept+`}`)); !isInvalidState(err) {
		t.Errorf("a tool that was changed: %+v %v", out, err)
	}
}

func TestAStateOfWhichABitWasChangedIsRefused(t *testing.T) {
	w := newFakeBackend()
	h := newHost(t, tool("t", asking), w.use)
	req := modernRequest("t", `{}`, `{"elicitation":{}}`)
	state := mustCall(t, h, req).RequestState
	for i := range len(state) {
		for _, other := range []byte{'A', '_', '!', state[i] ^ 1} {
			if other == state[i] {
				continue
			}
			forged := state[:i] + string(rune(other)) + state[i+1:]
			if out, err := tryCall(t, h, retryRequest(req, forged, `{"name":`+accept+`}`)); !isInvalidState(err) {
				t.Fatalf("byte %d: %+v %v", i, out, err)
			}
		}
	}
	if b := mustCall(t, h, retryRequest(req, state, `{"name":`+accept+`}`)); b.keys() != "color" {
		t.Errorf("%+v", b)
	}
}

func TestAStateExpires(t *testing.T) {
	for timeout, life := range map[string]time.Duration{"1m": 10 * time.Minute, "30m": 30 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, tool("t", `
step "who" {
  ask "name" {
    timeout = "`+timeout+`"
    elicit { message = "Who?" }
  }
}
text = "done"`))
			req := modernRequest("t", `{}`, everything)
			a, b := mustCall(t, h, req), mustCall(t, h, req)
			time.Sleep(life - time.Second)
			if r := mustCall(t, h, retryRequest(req, a.RequestState, `{"name":{"action":"accept"}}`)); r.text() != "done" {
				t.Errorf("%+v", r)
			}
			time.Sleep(time.Second)
			if r, err := tryCall(t, h, retryRequest(req, b.RequestState, `{"name":{"action":"accept"}}`)); !isInvalidState(err) {
				t.Errorf("%+v %v", r, err)
			}
		})
	}
}

func TestWhatIsLargeStaysWithTheServer(t *testing.T) {
	w := newFakeBackend()
	large := strings.Repeat("x", 3*8<<10)
	w.do["large"] = func(context.Context, *adapters.Call) (any, error) {
		return []any{large, value.Bytes("\xff\x00"), "\xfe", map[string]any{"$bytes": "no", "": 1.5}}, nil
	}
	h := newHost(t, tool("t", `
step "large" {
  fake { do = "large" }
}
step "sure" {
  ask "sure" {
    elicit { message = "Sure?" }
  }
}
result = "{size: length(step.large.value[0]), bytes: base64encode(step.large.value[1]), last: step.large.value[3]}"`), w.use)
	req := modernRequest("t", `{}`, everything)
	a := mustCall(t, h, req)
	if n := len(a.RequestState); n > 200 {
		t.Errorf("the state has %d bytes", n)
	}
	b := mustCall(t, h, retryRequest(req, a.RequestState, `{"sure":{"action":"accept"}}`))
	if want := fmt.Sprintf(`{"bytes":"/wA=","last":{"":1.5,"$bytes":"no"},"size":%d}`, len(large)); b.text() != want {
		t.Errorf("got %s", b.text())
	}
	if r, err := tryCall(t, h, retryRequest(req, a.RequestState, `{"sure":{"action":"accept"}}`)); !isInvalidState(err) {
		t.Errorf("%+v %v", r, err)
	}
}

func TestWhatIsTooLargeToBeRememberedEndsTheCall(t *testing.T) {
	w := newFakeBackend()
	w.do["large"] = func(context.Context, *adapters.Call) (any, error) { return strings.Repeat("x", 4<<20), nil }
	h := newHost(t, tool("t", task1h+`
step "large" {
  fake { do = "large" }
}
step "sure" {
  ask "sure" {
    elicit { message = "Sure?" }
  }
}
text = "done ${step.sure.sure.action}"`), w.use)
	if r := mustCall(t, h, modernRequest("t", `{}`, everything)); !r.IsError || !strings.Contains(r.text(), "too large to be stored") {
		t.Errorf("%+v", r)
	}
	id := startTask(t, h, "t").TaskID
	waitForTasks(t, h)
	if r := getTask(t, h, id); r.Status != "completed" || !r.Result.IsError || !strings.Contains(r.Result.text(), "too large to be stored") {
		t.Errorf("%+v", r)
	}
}
