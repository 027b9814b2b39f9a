package console_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"hatchel/runtime/stage/approval"
	"hatchel/runtime/stage/task"
)

// choices returns the values of the options of the filter of a page by their texts.
func (r *reply) choices(id string) map[string]string {
	values := map[string]string{}
	for n := range r.find(id).Descendants() {
		if n.Data == "option" {
			values[textOf(n)] = attr(n, "value")
		}
	}
	return values
}

// listed returns the texts of the rows of the list of a page, and "" for a page without one.
func (r *reply) listed(id string) string {
	if list := r.find(id); list != nil {
		return textOf(list)
	}
	return ""
}

func TestEachChoiceOfTheApprovalsFindsWhatItNames(t *testing.T) {
	s := newSite(t, keysOf("vera:admin")+"console {}\n"+approvers+oneTool)
	store, err := s.host.Operator().Approvals(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, status := range approval.Statuses {
		now := time.Now()
		r := approval.Request{
			Tool: "tool_" + string(status), Message: "m", RequestedAt: now, Deadline: now.Add(time.Hour),
			Caller: approval.Requester{Remote: "192.0.2.7"},
		}
		if status == approval.Expired {
			r.Deadline = now.Add(-time.Second)
		}
		a, _, err := store.Open(t.Context(), string(status), r)
		if err == nil && (status == approval.Approved || status == approval.Used || status == approval.Rejected) {
			_, err = store.Decide(t.Context(), a.ID, status != approval.Rejected, approval.Decision{By: "ann", At: now})
		}
		if err == nil && status == approval.Used {
			_, err = store.Use(t.Context(), a)
		}
		if err == nil && status == approval.Void {
			_, err = store.Void(t.Context(), a.ID, "changed")
		}
		if err != nil {
			t.Fatal(status, err)
		}
	}
	vera := s.signedIn("vera")
	want := map[string]string{
		"pending": "pending", "approved": "approved used", "approved, call made": "used", "rejected": "rejected",
		"expired": "expired", "void": "void",
	}
	choices := vera.get("/console/approvals").choices("status")
	if len(choices) != len(want) {
		t.Errorf("the choices are %v", choices)
	}
	for text, value := range choices {
		// The list shows the address of a caller without a name, so the filter finds it.
		q := url.Values{"status": {value}, "caller": {"192.0.2.*"}}
		rows := vera.get("/console/approvals?" + q.Encode()).listed("approvals")
		for _, status := range approval.Statuses {
			found, wanted := strings.Contains(rows, "tool_"+string(status)), strings.Contains(want[text], string(status))
			if found != wanted {
				t.Errorf("the choice %q finds the %s approval: %v, not %v", text, status, found, wanted)
			}
		}
	}
	if rows := vera.get("/console/approvals?caller=198.*").listed("approvals"); rows != "" {
		t.Errorf("another caller: %s", rows)
	}
}

func TestEachChoiceOfTheTasksFindsWhatItNames(t *testing.T) {
	s := newSite(t, keysOf("vera:admin", "bob:callers")+"console {}\n"+slowTool)
	tasks, id := s.host.Operator().State.Tasks, s.begin("bob", "export")
	vera := s.signedIn("vera")
	seen := 0
	for text, value := range vera.get("/console/tasks").choices("status") {
		for saved := false; !saved; { // the process saves the task, too, when it begins with it
			t0, err := tasks.FindAny(t.Context(), id)
			if err == nil && t0.IsFinal() {
				id = s.begin("bob", "export")
				t0, err = tasks.FindAny(t.Context(), id)
			}
			if err != nil {
				t.Fatal(err)
			}
			t0.Status = value
			if saved, err = tasks.Save(t.Context(), t0); err != nil {
				t.Fatal(err)
			}
		}
		q := url.Values{"status": {value}}
		if rows := vera.get("/console/tasks?" + q.Encode()).listed("tasks"); !strings.Contains(rows, text) {
			t.Errorf("the choice %q finds %q", text, rows)
		}
		seen++
	}
	if seen != len(task.Statuses) {
		t.Errorf("there are %d choices", seen)
	}
}

func TestARefusalSaysWhoMaySeeThePage(t *testing.T) {
	const rule, group = "the rule allow of the console block", "the group admin"
	const approvers, try = "the approvals block", "try of the console block"
	const allow = `allow = "'ops' in caller.groups"`
	keys := keysOf("vera:ops", "ada:admin", "bob:approvers")
	ruled := newSite(t, keys+"console { "+allow+" }\n"+oneTool)
	unruled := newSite(t, keys+"console { try = \"none\" }\n"+oneTool)
	for _, c := range []struct {
		site               *site
		name, method, path string
		want               string
	}{
		{ruled, "vera", "GET", "/console/sessions", group},
		{ruled, "vera", "GET", "/console/sessions/x/end", group},
		{ruled, "vera", "POST", "/console/reload", group},
		{ruled, "vera", "POST", "/console/tools/refund/call", try},
		{ruled, "ada", "GET", "/console/sessions", rule},
		{ruled, "ada", "GET", "/console/audit", rule},
		{ruled, "ada", "GET", "/console/approvals", approvers},
		{unruled, "ada", "POST", "/console/tools/refund/plan", try},
		{unruled, "ada", "POST", "/console/tools/refund/call", try},
		{unruled, "vera", "GET", "/console/sessions", group},
		{unruled, "vera", "GET", "/console/tools", group},
	} {
		got := c.site.signedIn(c.name).do(c.method, c.path, nil)
		var shown []string
		for _, reason := range []string{rule, group, approvers, try} {
			if strings.Contains(textOf(got.find("error")), reason) && reason != c.want {
				shown = append(shown, reason)
			}
		}
		wrong := len(shown) > 0 && c.want != approvers
		if got.status != 403 || wrong || !strings.Contains(textOf(got.find("error")), c.want) {
			t.Errorf("%s %s as %s: %d %s", c.method, c.path, c.name, got.status, got.text())
		}
	}
}
