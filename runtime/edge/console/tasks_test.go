package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/task"
)

const slowTool = `
tool "export" {
  description = "Takes long."
  timeout     = "5m"
  task {
    mode = "required"
  }
  shell { command = ["sleep", "60"] }
}
`

// begin calls a tool as the holder of a key, whose call becomes a task, and returns its ID.
func (s *site) begin(name, tool string) (id string) {
	s.t.Helper()
	caller := s.callerOf(name)
	caller.Capabilities = []byte(`{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`)
	caller.ClientInfo = []byte(`{"name":"<b>client</b>","version":"1"}`)
	if _, err := s.host.CallTool(s.t.Context(), &mcp.CallRequest{Name: tool, Arguments: []byte(`{}`), Caller: caller}); err != nil {
		s.t.Fatal(err)
	}
	for _, status := range []string{task.Working, task.Waiting} {
		open, err := s.host.Operator().State.Tasks.List(s.t.Context(), status, nil, 1000)
		if err != nil {
			s.t.Fatal(err)
		}
		if len(open) > 0 {
			return open[len(open)-1].ID()
		}
	}
	s.t.Fatal("there is no task")
	return ""
}

func TestATaskIsCancelledAfterAQuestion(t *testing.T) {
	s := newSite(t, keysOf("vera:ops", "ada:admin", "bob:callers")+
		"console { allow = \"caller.subject in ['vera', 'ada']\" }\n"+audited+slowTool)
	id := s.begin("bob", "export")
	path := "/console/tasks/" + id
	ada, vera := s.signedIn("ada"), s.signedIn("vera")
	if text := textOf(vera.get("/console/tasks").find("tasks")); !strings.Contains(text, "export") || !strings.Contains(text, "working") ||
		!strings.Contains(text, "bob") {
		t.Errorf("the list: %q", text)
	}
	page := vera.get(path)
	if page.find("cancel") != nil || !strings.Contains(page.text(), "<b>client</b> 1") {
		t.Errorf("the page of somebody who looks only: %s", page.text())
	}
	for _, got := range []*reply{
		vera.get(path + "/cancel"), vera.post(path+"/cancel", url.Values{"token": {vera.get("/console/").token("/console/sign-out")}}),
	} {
		if got.status != http.StatusForbidden {
			t.Errorf("somebody who looks only cancels: %d", got.status)
		}
	}
	if got := s.signedIn("bob").get("/console/tasks"); got.status != http.StatusForbidden {
		t.Errorf("somebody who may not look: %d", got.status)
	}
	if attr(ada.get(path).find("cancel"), "href") != path+"/cancel" {
		t.Error("an administrator is offered nothing")
	}
	question := ada.get(path + "/cancel")
	if got := textOf(ada.get(path).find("state")); !strings.HasPrefix(got, "working") {
		t.Errorf("the question has cancelled the task: %s", got)
	}
	if got := ada.post(path+"/cancel", url.Values{}); got.status != http.StatusForbidden {
		t.Errorf("a form without a token: %d", got.status)
	}
	if got := ada.post(path+"/cancel", url.Values{"token": {question.token(path + "/cancel")}}); got.status != http.StatusSeeOther ||
		got.header.Get("Location") != path {
		t.Errorf("the cancellation: %d %s", got.status, got.text())
	}
	if got := textOf(ada.get(path).find("state")); !strings.HasPrefix(got, "cancelled") || !strings.Contains(got, "An operator") {
		t.Errorf("afterwards: %q", got)
	}
	if got := ada.get("/console/tasks"); got.find("tasks") != nil {
		t.Errorf("a task that has ended is listed: %s", got.text())
	}
	if got := ada.get("/console/tasks?status=cancelled"); !strings.Contains(textOf(got.find("tasks")), "An operator") {
		t.Errorf("the tasks that were cancelled: %s", got.text())
	}
	if got := ada.get(path + "/cancel"); got.status != http.StatusSeeOther {
		t.Errorf("a task that has ended can be cancelled: %d", got.status)
	}
	if rows := textOf(vera.get("/console/audit").find("records")); !strings.Contains(rows, "An operator has cancelled") || !strings.Contains(rows, "ada") {
		t.Errorf("the audit log: %s", rows)
	}
	if got := ada.get("/console/tasks/none"); got.status != http.StatusNotFound {
		t.Errorf("a task that is not there: %d", got.status)
	}
}

func TestTasksAreListedByPages(t *testing.T) {
	s := newSite(t, keysOf("vera:ops", "bob:callers")+people+strings.Replace(slowTool, `shell { command = ["sleep", "60"] }`, `
  step "sure" {
    ask "sure" {
      elicit { message = "Sure?" }
    }
  }
  text = "done"`, 1))
	v := s.signedIn("vera")
	if got := v.get("/console/tasks"); got.status != http.StatusOK || !strings.Contains(textOf(got.find("summary")), "0 tasks") {
		t.Errorf("without tasks: %d %s", got.status, got.text())
	}
	for range 101 {
		s.begin("bob", "export")
	}
	if err := s.host.Drain(t.Context()); err != nil { // until all wait for their answers
		t.Fatal(err)
	}
	first := v.get("/console/tasks?status=input_required")
	next := attr(first.find("after"), "href")
	if n := len(cells(first.find("tasks"))); n != 4*100 || next == "" {
		t.Errorf("%d cells, next %q", n, next)
	}
	if second := v.get(next); len(cells(second.find("tasks"))) != 4 || second.find("after") != nil {
		t.Errorf("the second page: %s", second.text())
	}
	if got := v.get("/console/tasks?after=none"); got.status != http.StatusSeeOther {
		t.Errorf("after a task that is gone: %d", got.status)
	}
}

func TestATaskThatWaitsForAnApprovalLeadsToIt(t *testing.T) {
	s := newSite(t, keysOf("vera:ops", "bob:callers")+people+"approvals { allow = \"true\" }\n"+
		strings.Replace(slowTool, "  shell {", "  approval { timeout = \"1h\" }\n  shell {", 1))
	id, v := s.begin("bob", "export"), s.signedIn("vera")
	for limit := time.Now().Add(30 * time.Second); textOf(v.get("/console/tasks/"+id).find("state")) != "waits for approval"; {
		if time.Now().After(limit) {
			t.Fatal("the task does not wait")
		}
		time.Sleep(10 * time.Millisecond)
	}
	for _, got := range []string{linkIn(v.get("/console/tasks").find("tasks")), linkIn(v.get("/console/tasks/" + id).find("state"))} {
		if page := v.get(got); page.find("decision-bar") == nil {
			t.Errorf("%s is no approval", got)
		}
	}
}
