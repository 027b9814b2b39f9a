package runtime

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"hatchel/adapters"
	"hatchel/runtime/mcp"
)

// TaskChanged makes an audience of the tests one that does not follow tasks.
func (audience) TaskChanged(string, []byte) {}

// answer is what a modern client reads of a result.
type answered struct {
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
	Result  *answered       `json:"result"`
	Error   json.RawMessage `json:"error"`
}

func (a answered) text() string {
	var all []string
	for _, c := range a.Content {
		all = append(all, c["text"].(string))
	}
	return strings.Join(all, "\n")
}

const everything = `{"elicitation":{},"sampling":{},"roots":{}}`

// modern is a request of a modern client.
func modern(tool, arguments, capabilities string) *mcp.CallRequest {
	return &mcp.CallRequest{Name: tool, Arguments: []byte(arguments), Caller: &mcp.Caller{Revision: mcp.Revision20260728, Capabilities: []byte(capabilities)}}
}

// call makes a request and reads the result.
func callModern(t testing.TB, h *Host, req *mcp.CallRequest) (answered, error) {
	t.Helper()
	out, err := h.CallTool(t.Context(), req)
	if err != nil {
		return answered{}, err
	}
	var a answered
	raw := string(out.AppendResult(nil, mcp.Revision20260728))
	if err := json.Unmarshal([]byte(raw), &a); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return a, nil
}

// again is the request of a client that has answered.
func again(req *mcp.CallRequest, state, answers string) *mcp.CallRequest {
	return &mcp.CallRequest{Name: req.Name, Arguments: req.Arguments, Caller: req.Caller, State: state, Answers: []byte(answers)}
}

const asking = `
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
	w, ran := newWorld(), 0
	w.do["count"] = func(context.Context, *adapters.Call) (any, error) { ran++; return nil, nil }
	h := w.host(t, tool("t", asking))
	defer h.Close()
	first := modern("t", `{}`, everything)
	a, err := callModern(t, h, first)
	if err != nil || a.ResultType != "input_required" || len(a.InputRequests) != 2 || a.RequestState == "" {
		t.Fatalf("%+v %v", a, err)
	}
	b, err := callModern(t, h, again(first, a.RequestState, `{"name":{"action":"accept","content":{"name":"Ada"}},"folders":{"roots":[]}}`))
	if err != nil || b.InputRequests["color"].Params["message"] != "Which colour, Ada?" {
		t.Fatalf("%+v %v", b, err)
	}
	c, err := callModern(t, h, again(first, b.RequestState, `{"color":{"action":"accept","content":{"color":"red"}}}`))
	if err != nil || c.text() != "Ada red true" {
		t.Fatalf("%+v %v", c, err)
	}
	if ran != 1 {
		t.Errorf("the step ran %d times", ran)
	}
}
