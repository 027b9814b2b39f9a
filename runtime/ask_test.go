package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"hatchel/adapters"
	"hatchel/hcl/value"
	"hatchel/runtime/edge/mcp"
)

// callReply is what a modern client reads.
type callReply struct {
	ResultType    string `json:"resultType"`
	InputRequests map[string]struct {
		Method string         `json:"method"`
		Params map[string]any `json:"params"`
	} `json:"inputRequests"`
	RequestState string           `json:"requestState"`
	Content      []map[string]any `json:"content"`
	IsError      bool             `json:"isError"`

	TaskID  string          `json:"taskId"`
	Status  string          `json:"status"`
	Message string          `json:"statusMessage"`
	Result  *callReply      `json:"result"`
	Error   json.RawMessage `json:"error"`
}

func (r *callReply) text() string {
	var all []string
	for _, c := range r.Content {
		text, _ := c["text"].(string)
		all = append(all, text)
	}
	return strings.Join(all, "\n")
}

// keys returns the keys of the questions.
func (r *callReply) keys() string {
	asked := map[string]any{}
	for key := range r.InputRequests {
		asked[key] = nil
	}
	return strings.Join(value.Keys(asked), " ")
}

const everything = `{"elicitation":{},"sampling":{},"roots":{}}`

// modernRequest returns the request of a modern client.
func modernRequest(tool, arguments, capabilities string) *mcp.CallRequest {
	return &mcp.CallRequest{Name: tool, Arguments: []byte(arguments), Caller: &mcp.Caller{Revision: mcp.Revision20260728, Capabilities: []byte(capabilities)}}
}

// retryRequest returns the request that brings the answers of the client.
func retryRequest(req *mcp.CallRequest, state, answers string) *mcp.CallRequest {
	return &mcp.CallRequest{Name: req.Name, Arguments: req.Arguments, Caller: req.Caller, State: state, Answers: []byte(answers)}
}

func tryCall(t testing.TB, h *Host, req *mcp.CallRequest) (*callReply, error) {
	t.Helper()
	out, err := requestTool(t.Context(), h, req)
	if err != nil {
		return nil, err
	}
	r := new(callReply)
	raw := out.AppendResult(nil, mcp.Revision20260728)
	if out.Task != nil {
		raw = append(out.Task.AppendJSON([]byte(`{"resultType":"task",`)), '}')
	}
	if err := json.Unmarshal(raw, r); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return r, nil
}

func mustCall(t testing.TB, h *Host, req *mcp.CallRequest) *callReply {
	t.Helper()
	r, err := tryCall(t, h, req)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// isInvalidState reports whether an error refuses a state token.
func isInvalidState(err error) bool {
	var e *mcp.Error
	return errors.As(err, &e) && e.Code == mcp.CodeInvalidParams && strings.Contains(e.Message, "requestState")
}

// addCounter adds the backend "count", and returns a function that says how often it was called.
func (w *fakeBackend) addCounter() (count func() int) {
	n := 0
	w.do["count"] = func(context.Context, *adapters.Call) (any, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		n++
		return n, nil
	}
	return func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return n
	}
}

const accept = `{"action":"accept","content":{"name":"Ada"}}`

const asking = `
input "n" { type = optional(integer, 1) }
input "m" { type = optional(any) }
locals {
  id = uuid()
}
step "before" {
  fake { do = "count" }
}
step "first" {
  fake { value = local.id }
}
step "who" {
  ask "name" {
    elicit {
      message = "Who?"
      fields  = object({ name = string("Full name") })
    }
  }
  ask "folders" {
    when = "'roots' in caller.capabilities"
    roots { }
  }
}
step "color" {
  ask "color" {
    elicit {
      message = "Which colour, ${step.who.name.content.name}?"
      fields  = object({ color = enum("red", "blue") })
    }
  }
}
text = "${step.who.name.content.name} ${step.color.color.content.color} ${step.first.value == local.id}"
`

func TestAStepThatRanNeverRunsAgain(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	h := newHost(t, tool("t", asking), w.use)
	first := modernRequest("t", `{}`, everything)
	a := mustCall(t, h, first)
	if a.ResultType != "input_required" || a.keys() != "folders name" {
		t.Fatalf("%+v", a)
	}
	b := mustCall(t, h, retryRequest(first, a.RequestState, `{"name":`+accept+`,"folders":{"roots":[]}}`))
	if b.keys() != "color" || b.InputRequests["color"].Params["message"] != "Which colour, Ada?" || b.RequestState == a.RequestState {
		t.Fatalf("%+v", b)
	}
	c := mustCall(t, h, retryRequest(first, b.RequestState, `{"color":{"action":"accept","content":{"color":"red"}}}`))
	if c.text() != "Ada red true" || c.ResultType != "complete" {
		t.Errorf("%+v", c)
	}
	if n := count(); n != 1 {
		t.Errorf("the step ran %d times", n)
	}
}

func TestAnswersThatCannotBeUsedAreAskedForAgain(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	h := newHost(t, tool("t", asking), w.use)
	req := modernRequest("t", `{}`, everything)
	state := mustCall(t, h, req).RequestState
	for _, c := range []struct{ answers, asked, complains string }{
		{`{}`, "folders name", ""},
		{`{"nobody":{},"color":{"action":"accept","content":{"color":"red"}}}`, "folders name", ""},
		{`{"name":12345}`, "folders name", "must be an object"},
		{`{"name":{"action":"agree"}}`, "folders name", "action"},
		{`{"name":{"action":"accept","content":{"name":5}}}`, "folders name", "must be a string"},
		{`{"name":{"action":"accept"},"folders":{"roots":[{"uri":"file:///a"}]}}`, "name", "is required"},
		{`{"folders":null}`, "name", ""},
	} {
		r := mustCall(t, h, retryRequest(req, state, c.answers))
		message, _ := r.InputRequests["name"].Params["message"].(string)
		if r.ResultType != "input_required" || r.keys() != c.asked || !strings.HasPrefix(message, "Who?") || !strings.Contains(message, c.complains) || c.complains == "" && message != "Who?" {
			t.Errorf("%s: %+v", c.answers, r)
		}
		state = r.RequestState
	}
	if r := mustCall(t, h, retryRequest(req, state, `{"name":`+accept+`}`)); r.keys() != "color" {
		t.Errorf("%+v", r)
	}
	if n := count(); n != 1 {
		t.Errorf("the step ran %d times", n)
	}
}

func TestAnswersMayComeWithTheFirstRequest(t *testing.T) {
	w := newFakeBackend()
	w.addCounter()
	h := newHost(t, tool("t", asking), w.use)
	req := modernRequest("t", `{}`, `{"elicitation":{}}`)
	r := mustCall(t, h, retryRequest(req, "", `{"name":`+accept+`,"color":{"action":"accept","content":{"color":"red"}},"else":1}`))
	if r.keys() != "color" {
		t.Errorf("answers are for the round that comes next: %+v", r)
	}
}

func TestAStepThatMayFailStillAsks(t *testing.T) {
	h := newHost(t, tool("t", `
step "s" {
  on_error = "continue"
  ask "q" {
    elicit { message = "Sure?" }
  }
}
text = "${step.s.error == null ? "yes" : step.s.error.message}"`))
	req := modernRequest("t", `{}`, everything)
	for answer, want := range map[string]string{"accept": "yes", "decline": `The user declined to answer the question "q".`} {
		r := mustCall(t, h, req)
		if r.keys() != "q" {
			t.Fatalf("%+v", r)
		}
		if r = mustCall(t, h, retryRequest(req, r.RequestState, `{"q":{"action":"`+answer+`"}}`)); r.text() != want || r.IsError {
			t.Errorf("%s: %+v", answer, r)
		}
	}
}

func TestWhatIsCalledByAToolCannotAsk(t *testing.T) {
	h := newHost(t, tool("a", `text = "a"`))
	diags := h.Load(t.Context(), fileSystem(tool("inner", asking)+tool("outer", "step \"s\" {\n  tool \"inner\" {\n  }\n}\ntext = step.s.text")))
	if !diags.HasErrors() || !strings.Contains(printDiagnostics(diags), `The tool "inner" asks the client`) {
		t.Errorf("got %s", printDiagnostics(diags))
	}
}

func TestPromptsAskToo(t *testing.T) {
	h := newHost(t, `
prompt "p" {
  description = "A prompt."
  step "s" {
    ask "q" {
      elicit {
        message = "About what?"
        fields  = object({ topic = string })
      }
    }
  }
  message "user" { text = "Tell of ${step.s.q.content.topic}" }
}
`+tool("t", `text = "t"`))
	req := modernRequest("p", `{}`, everything)
	d, err := h.GetPrompt(t.Context(), req)
	if err != nil || d.Questions == nil || d.Questions.Ask[0].Key != "q" {
		t.Fatalf("%+v %v", d, err)
	}
	next := retryRequest(req, d.Questions.State, `{"q":{"action":"accept","content":{"topic":"owls"}}}`)
	if d, err = h.GetPrompt(t.Context(), next); err != nil || !strings.Contains(string(d.Members.AppendJSON(nil)), "Tell of owls") {
		t.Errorf("%+v %v", d, err)
	}
	if _, err := h.GetPrompt(t.Context(), next); !isInvalidState(err) {
		t.Errorf("got %v", err)
	}
}

func TestWhatAClientMustBeAbleToDoIsSaidFirst(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	h := newHost(t, tool("inner", "requires = [\"sampling\"]\nfake { do = \"count\" }")+tool("outer", "requires = [\"elicitation.url\"]\nstep \"s\" {\n  tool \"inner\" {\n  }\n}\ntext = step.s.text"), w.use)
	for _, c := range []struct{ tool, capabilities, missing string }{
		{"inner", `{}`, `{"requiredCapabilities":{"sampling":{}}}`},
		{"outer", `{"sampling":{}}`, `{"requiredCapabilities":{"elicitation":{"url":{}}}}`},
		{"outer", `{"elicitation":{"url":{}}}`, `{"requiredCapabilities":{"sampling":{}}}`},
	} {
		_, err := tryCall(t, h, modernRequest(c.tool, `{}`, c.capabilities))
		var e *mcp.Error
		if !errors.As(err, &e) || e.Code != mcp.CodeMissingCapability || string(e.Data) != c.missing {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if got := callTool(t, h, "inner", `{}`); !strings.Contains(got, `capability \"sampling\"`) || !strings.Contains(got, `"isError":true`) {
		t.Errorf("got %s", got)
	}
	if n := count(); n != 0 {
		t.Errorf("it was called %d times", n)
	}
	if r := mustCall(t, h, modernRequest("outer", `{}`, `{"elicitation":{"url":{}},"sampling":{}}`)); r.IsError || count() != 1 {
		t.Errorf("%+v", r)
	}
}

// TaskChanged makes an audience of the tests one that does not follow tasks.
func (audience) TaskChanged(string, []byte) {}

// FollowsTask makes it one without subscribers.
func (audience) FollowsTask(string) bool { return false }

// Retain makes an audience of the tests one that holds nobody.
func (audience) Retain(func(*mcp.Identity) bool) {}

func (audience) Connected() (sessions, streams int) { return 0, 0 }
