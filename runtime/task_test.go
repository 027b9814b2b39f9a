package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/adapters"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/task"
)

const following = `{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`

// taskRequest makes a request about a task.
func taskRequest(t testing.TB, h *Host, method, id, answers string, change ...func(*mcp.Caller)) (*callReply, error) {
	t.Helper()
	caller := &mcp.Caller{Revision: mcp.Revision20260728, Capabilities: []byte(following)}
	for _, c := range change {
		c(caller)
	}
	members, err := requestTask(t.Context(), h, &mcp.TaskRequest{Method: method, ID: id, Answers: []byte(answers), Caller: caller})
	r := new(callReply)
	if err == nil && members != nil {
		raw := append(members.AppendJSON([]byte("{")), '}')
		if err := json.Unmarshal(raw, r); err != nil {
			t.Fatalf("%v in %s", err, raw)
		}
	}
	return r, err
}

func getTask(t testing.TB, h *Host, id string) *callReply {
	t.Helper()
	r, err := taskRequest(t, h, "tasks/get", id, "")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func updateTask(t testing.TB, h *Host, id, answers string) {
	t.Helper()
	if _, err := taskRequest(t, h, "tasks/update", id, answers); err != nil {
		t.Fatal(err)
	}
}

func isUnknownTask(err error) bool {
	var e *mcp.Error
	return errors.As(err, &e) && e.Code == mcp.CodeInvalidParams && strings.Contains(e.Message, "Unknown task")
}

// startTask calls a tool and returns the task that the call became.
func startTask(t testing.TB, h *Host, tool string) *callReply {
	t.Helper()
	r := mustCall(t, h, modernRequest(tool, `{}`, following))
	if r.ResultType != "task" || r.TaskID == "" || r.Status != "working" || r.Result != nil {
		t.Fatalf("%+v", r)
	}
	return r
}

const task1h = "task {\n  mode = \"optional\"\n}\n"

func TestATaskComesToWhatTheCallWouldHave(t *testing.T) {
	for _, c := range []struct{ claim, tool, status, want string }{
		{"a result", `fake { value = "x" }`, "completed", "x"},
		{"what is only computed", `text = "computed"`, "completed", "computed"},
		{"a failure for the model is a result", `fake { do = "fault" }`, "completed", "no such order"},
		{"a panic is a failure", `fake { do = "panic" }`, "completed", "problem on the server"},
		{"an error of the protocol is a failed task", "step \"s\" {\n  fault {\n    code    = 1001\n    message = \"No.\"\n    data    = { n = 1 }\n  }\n}\ntext = \"done\"", "failed", "No."},
		{"words for the model", "step \"s\" {\n  fail {\n    message = \"Try ${1 + 1}.\"\n  }\n}\ntext = \"done\"\nerror = \"It failed: ${error.message}\"", "completed", "It failed: Try 2."},
	} {
		t.Run(c.claim, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, tool("t", task1h+c.tool))
				id := startTask(t, h, "t").TaskID
				synctest.Wait()
				waitForTasks(t, h)
				r := getTask(t, h, id)
				got := r.Message
				if r.Result != nil {
					got = r.Result.text()
				}
				if r.Status != c.status || !strings.Contains(got, c.want) || (r.Error != nil) != (c.status == "failed") {
					t.Errorf("%+v", r)
				}
			})
		})
	}
}

// waitForTasks waits until no task is running.
func waitForTasks(t testing.TB, h *Host) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := h.Drain(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestOnlyWhoCanFollowATaskGetsOne(t *testing.T) {
	h := newHost(t, tool("may", task1h+`text = "now"`)+tool("must", "task {\n  mode = \"required\"\n}\ntext = \"now\""))
	if r := mustCall(t, h, modernRequest("may", `{}`, `{}`)); r.text() != "now" || r.ResultType != "complete" {
		t.Errorf("%+v", r)
	}
	_, err := tryCall(t, h, modernRequest("must", `{}`, `{}`))
	var e *mcp.Error
	if !errors.As(err, &e) || e.Code != mcp.CodeMissingCapability || string(e.Data) != `{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}` {
		t.Errorf("got %v", err)
	}
	if got := callTool(t, h, "must", `{}`); !strings.Contains(got, `"isError":true`) || !strings.Contains(got, "tasks") {
		t.Errorf("got %s", got)
	}
	if got := callTool(t, h, "may", `{}`); !strings.Contains(got, "now") {
		t.Errorf("got %s", got)
	}
}

const deleting = task1h + `
step "before" {
  fake { do = "count" }
}
step "sure" {
  ask "sure" {
    elicit {
      message = "Sure?"
      fields  = object({ confirm = bool })
    }
  }
  ask "name" {
    elicit {
      message = "Who?"
      fields  = object({ name = string })
    }
  }
}
step "after" {
  fake { do = "count" }
}
text = "${step.sure.name.content.name} ${step.sure.sure.content.confirm} ${step.before.value} ${step.after.value}"
`

func TestATaskWaitsForItsClient(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	h := newHost(t, tool("t", deleting), w.use)
	id := startTask(t, h, "t").TaskID
	waitForTasks(t, h)
	r := getTask(t, h, id)
	if r.Status != "input_required" || r.keys() != "name sure" || r.InputRequests["sure"].Method != "elicitation/create" {
		t.Fatalf("%+v", r)
	}
	updateTask(t, h, id, `{"nobody":{},"name.2":`+accept+`}`)
	if r := getTask(t, h, id); r.keys() != "name sure" {
		t.Errorf("%+v", r)
	}
	updateTask(t, h, id, `{"sure":{"action":"accept","content":{"confirm":true,"name":"else"}}}`)
	if r := getTask(t, h, id); r.Status != "input_required" || r.keys() != "name" {
		t.Errorf("after a part: %+v", r)
	}
	updateTask(t, h, id, `{"sure":{"action":"decline"},"name":{"action":"accept","content":{"name":5}}}`)
	r = getTask(t, h, id)
	if r.Status != "input_required" || r.keys() != "name.2" || !strings.Contains(r.InputRequests["name.2"].Params["message"].(string), "must be a string") {
		t.Errorf("after a wrong answer: %+v", r)
	}
	updateTask(t, h, id, `{"name":`+accept+`}`)
	if r := getTask(t, h, id); r.keys() != "name.2" {
		t.Errorf("a key was used twice: %+v", r)
	}
	if n := count(); n != 1 {
		t.Errorf("%d steps ran", n)
	}
	updateTask(t, h, id, `{"name.2":`+accept+`}`)
	waitForTasks(t, h)
	if r := getTask(t, h, id); r.Status != "completed" || r.Result.text() != "Ada true 1 2" || r.keys() != "" {
		t.Errorf("%+v", r)
	}
	updateTask(t, h, id, `{"name.2":`+accept+`}`)
	if n := count(); n != 2 {
		t.Errorf("%d steps ran", n)
	}
}

func TestAUserWhoDeclinesEndsTheTask(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	h := newHost(t, tool("t", deleting), w.use)
	id := startTask(t, h, "t").TaskID
	waitForTasks(t, h)
	updateTask(t, h, id, `{"sure":{"action":"decline"}}`)
	waitForTasks(t, h)
	if r := getTask(t, h, id); r.Status != "completed" || !r.Result.IsError || !strings.Contains(r.Result.text(), "declined") || count() != 1 {
		t.Errorf("%+v", r)
	}
}

func TestWhatIsAskedBeforeATaskIsAskedOfTheCall(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	h := newHost(t, tool("t", strings.Replace(deleting, `"optional"`, "\"required\"\n  after = \"sure\"", 1)), w.use)
	req := modernRequest("t", `{}`, following)
	a := mustCall(t, h, req)
	if a.ResultType != "input_required" || a.TaskID != "" || a.keys() != "name sure" {
		t.Fatalf("%+v", a)
	}
	b := mustCall(t, h, retryRequest(req, a.RequestState, `{"name":`+accept+`,"sure":{"action":"accept","content":{"confirm":false}}}`))
	if b.ResultType != "task" || b.RequestState != "" {
		t.Fatalf("%+v", b)
	}
	waitForTasks(t, h)
	if r := getTask(t, h, b.TaskID); r.Status != "completed" || r.Result.text() != "Ada false 1 2" || count() != 2 {
		t.Errorf("%+v", r)
	}
}

func TestATaskIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeBackend()
		ended := w.addWaiting()
		w.addCounter()
		h := newHost(t, tool("t", task1h+`fake { do = "waits" }`)+tool("asks", deleting), w.use)
		works, waits := startTask(t, h, "t").TaskID, startTask(t, h, "asks").TaskID
		synctest.Wait()
		for _, id := range []string{works, waits} {
			for range 2 {
				if _, err := taskRequest(t, h, "tasks/cancel", id, ""); err != nil {
					t.Error(err)
				}
			}
			if r := getTask(t, h, id); r.Status != "cancelled" || r.keys() != "" {
				t.Errorf("%+v", r)
			}
		}
		<-ended
		waitForTasks(t, h)
		updateTask(t, h, waits, `{"name":`+accept+`}`)
		for _, id := range []string{works, waits} {
			if r := getTask(t, h, id); r.Status != "cancelled" || r.Result != nil {
				t.Errorf("%+v", r)
			}
		}
	})
}

func TestATaskOfAnotherDoesNotExist(t *testing.T) {
	w := newFakeBackend()
	w.addCounter()
	h := newHost(t, tool("t", deleting), w.use)
	req := modernRequest("t", `{}`, following)
	req.Caller.Subject = "ada"
	id := mustCall(t, h, req).TaskID
	waitForTasks(t, h)
	for name, change := range map[string]func(*mcp.Caller){
		"nobody":          func(*mcp.Caller) {},
		"another":         func(c *mcp.Caller) { c.Subject = "bob" },
		"another toolset": func(c *mcp.Caller) { c.Subject, c.Toolset = "ada", "set" },
	} {
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			if r, err := taskRequest(t, h, method, id, `{"sure":{"action":"decline"}}`, change); !isUnknownTask(err) {
				t.Errorf("%s %s: %+v %v", name, method, r, err)
			}
		}
	}
	if _, err := taskRequest(t, h, "tasks/get", strings.Repeat("0", len(id)), ""); !isUnknownTask(err) {
		t.Errorf("got %v", err)
	}
	if r, err := taskRequest(t, h, "tasks/get", id, "", func(c *mcp.Caller) { c.Subject = "ada" }); err != nil || r.keys() != "name sure" {
		t.Errorf("%+v %v", r, err)
	}
}

func TestATaskIsForgottenWhenItsTimeHasPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeBackend()
		ended := w.addWaiting()
		h := newHost(t, tool("t", strings.Replace(task1h, "\n}", "\n  ttl = \"10m\"\n}", 1)+"timeout = \"1h\"\nfake { do = \"waits\" }"), w.use)
		id := startTask(t, h, "t").TaskID
		time.Sleep(10*time.Minute - time.Second)
		if r := getTask(t, h, id); r.Status != "working" {
			t.Errorf("%+v", r)
		}
		time.Sleep(2 * time.Second)
		if r, err := taskRequest(t, h, "tasks/get", id, ""); !isUnknownTask(err) {
			t.Errorf("%+v %v", r, err)
		}
		if err := <-ended; !errors.Is(err, task.ErrTimedOut) {
			t.Errorf("the work ended because %v", err)
		}
	})
}

func TestWhoWaitsForTheAnswerGetsNoTask(t *testing.T) {
	h := newHost(t, tool("t", "task {\n  mode = \"required\"\n}\ntext = \"done\""))
	p, _ := h.Current().Program("t")
	out, err := p.RunToEnd(t.Context(), modernRequest("t", `{}`, `{}`), nil)
	if err != nil || !strings.Contains(string(out.AppendResult(nil, mcp.Revision20260728)), "done") {
		t.Errorf("%+v %v", out, err)
	}
}

// TestATaskKnowsHowManyServersItsCallHasPassed has servers that call each other by tasks stop.
func TestATaskKnowsHowManyServersItsCallHasPassed(t *testing.T) {
	w := newFakeBackend()
	passed := make(chan int, 1)
	w.do["hops"] = func(_ context.Context, call *adapters.Call) (any, error) {
		passed <- call.Hops
		return "done", nil
	}
	h := newHost(t, tool("t", task1h+`fake { do = "hops" }`), w.use)
	req := modernRequest("t", `{}`, following)
	req.Meta = []byte(`{"hatchel/hops":3}`)
	id := mustCall(t, h, req).TaskID
	waitFor(t, func() bool { return getTask(t, h, id).Status == "completed" })
	if n := <-passed; n != 3 {
		t.Errorf("the task has passed %d servers", n)
	}
}
