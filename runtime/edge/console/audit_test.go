package console_test

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/operator"
)

const audited = "audit { file = \"audit.jsonl\" }\n"

// callAs calls a tool as the holder of a key.
func (s *site) callAs(name, tool, arguments string) {
	s.t.Helper()
	req := &mcp.CallRequest{Name: tool, Arguments: []byte(arguments), Caller: s.callerOf(name)}
	if _, err := s.host.CallTool(s.t.Context(), req); err != nil {
		s.t.Fatal(err)
	}
}

func TestTheAuditPageSearchesTheNewestFirst(t *testing.T) {
	s := newSite(t, keysOf("vera:ops", "bob:callers", "eve:callers")+people+audited+strings.Replace(oneTool, `limit { rate = "10/m" }`, "", 1))
	for i := range 150 {
		s.callAs([]string{"bob", "eve"}[i%2], "refund", fmt.Sprintf(`{"order":%d}`, i%90+1))
	}
	vera := s.signedIn("vera")
	page := vera.get("/console/audit")
	rows := textOf(page.find("records"))
	if strings.Count(rows, `"order"`) != 100 || strings.Index(rows, `"order":60`) > strings.Index(rows, `"order":59`) {
		t.Fatalf("%d %s", page.status, page.text())
	}
	next := vera.get(attr(page.find("after"), "href"))
	if n := strings.Count(textOf(next.find("records")), `"order"`); n < 50 || n > 100 {
		t.Errorf("%d records on the next page", n)
	}
	page = vera.get("/console/audit?caller=e*&tool=ref*&text=%22order%22:8}&since=1h&outcome=ok")
	if rows := textOf(page.find("records")); !strings.Contains(rows, `"order":8`) || strings.Contains(rows, "bob") {
		t.Errorf("the filter selects %s", page.text())
	}
	if got := textOf(page.find("command")); got != `hatchel audit --tool 'ref*' --caller 'e*' --outcome 'ok' --since '1h' --text '"order":8}' DIR` {
		t.Errorf("the command is %s", got)
	}
	if got := vera.get("/console/audit?since=soon"); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.text(), "duration") {
		t.Errorf("a wrong time: %d %s", got.status, got.text())
	}
	if got := textOf(vera.get("/console/audit?check=1").find("chain")); !strings.HasPrefix(got, "The chain holds") {
		t.Errorf("the chain: %s", got)
	}
	text, err := os.ReadFile(s.dir + "/audit.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	s.write("audit.jsonl", strings.Replace(string(text), `"eve"`, `"eva"`, 1))
	if got := vera.get("/console/audit?check=1&before=5"); !strings.HasPrefix(textOf(got.find("chain")), "The chain is broken") || !strings.Contains(textOf(got.find("summary")), "1 line") {
		t.Errorf("a changed record: %s", got.text())
	}
}

func TestTheAuditPageNeedsAnIdentityAndALog(t *testing.T) {
	s := newSite(t, "console {}\n"+oneTool)
	if got := s.withTicket().get("/console/audit"); got.status != http.StatusForbidden {
		t.Errorf("without authentication: %d", got.status)
	}
	s = newSite(t, keysOf("vera:ops")+people+oneTool)
	if got := s.signedIn("vera").get("/console/audit"); got.status != 200 || !strings.Contains(got.text(), "no audit block") {
		t.Errorf("without a log: %d %s", got.status, got.text())
	}
}

func TestTheAuditPageLinksADecisionToItsApproval(t *testing.T) {
	s := newNotes(t, keysOf("ann:approvers", "bob:callers", "vera:ops")+people+approvers+audited)
	a, said := s.ask("note", `{"text":"new"}`)
	ann := s.signedIn("ann")
	ann.decide(ann.get("/console/approvals/"+a.ID), "approve", "checked with bob")
	<-said
	vera := s.signedIn("vera")
	page := vera.get("/console/audit")
	if rows := textOf(page.find("records")); strings.Count(rows, "checked with bob") != 3 {
		t.Errorf("the records of the decision, the intent and the call show %s", rows)
	}
	for outcome, want := range map[string]int{"approved": 1, "started": 1, "ok": 1, "rejected": 0} {
		page := vera.get("/console/audit?tool=note&outcome=" + outcome)
		rows := page.find("records")
		if got := rows != nil && strings.Contains(textOf(rows), outcome); got != (want > 0) ||
			!strings.HasPrefix(textOf(page.find("summary")), strconv.Itoa(want)+" record") {
			t.Errorf("the filter of %s selects %s", outcome, page.text())
		}
	}
	if strings.Contains(page.body, "/console/calls/"+a.ID) || vera.get("/console/calls/"+a.ID).status != http.StatusNotFound {
		t.Errorf("an approval is shown as a call")
	}
}

func TestThePageOfACallNamesWhatWasCalled(t *testing.T) {
	s := newSite(t, keysOf("vera:ops", "bob:callers")+people+audited+oneTool+`
prompt "remind" {
  description = "d"
  message "user" { text = "Remember." }
}
`)
	vera := s.signedIn("vera")
	page := func() *reply {
		path := callPath.FindString(vera.get("/console/audit").body)
		return vera.get(path)
	}
	if _, err := s.host.GetPrompt(t.Context(), &mcp.CallRequest{Name: "remind", Caller: s.callerOf("bob")}); err != nil {
		t.Fatal(err)
	}
	got := page()
	if called := textOf(got.find("called")); called != "prompt remind" || !strings.Contains(got.text(), "bob") ||
		strings.Contains(got.body, "/console/tools/remind") {
		t.Errorf("a prompt: %q %s", called, got.text())
	}
	s.host.CallTool(t.Context(), &mcp.CallRequest{Name: "../x?y#z", Caller: s.callerOf("bob")})
	got = page()
	if called := textOf(got.find("called")); called != "tool ../x?y#z" || strings.Contains(got.body, "/console/tools/.") {
		t.Errorf("an unknown tool: %q %s", called, got.body)
	}
	s.host.Operator().RecordRefusal(t.Context(), operator.Refusal{Status: 403, Reason: "no", Path: "/x", Caller: s.callerOf("bob")})
	first := textOf(vera.get("/console/audit").find("records"))
	if !strings.Contains(first, "/x") || strings.Count(vera.get("/console/audit").body, "/console/calls/") != 2 {
		t.Errorf("a refused request is shown as a call: %s", first)
	}
}

var callPath = regexp.MustCompile(`/console/calls/\w+`)
