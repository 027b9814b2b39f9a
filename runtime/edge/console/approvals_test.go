package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/approval"
)

const approvers = "approvals { allow = \"'approvers' in caller.groups\" }\n"

// noteTool writes a file after an approval, and shows the approver what the file has.
const noteTool = `
tool "note" {
  description = "Write a note."
  input "text" { type = string }
  approval {
    before "now" {
      file {
        directory = "notes"
        read      = "a.txt"
      }
    }
  }
  file {
    directory = "notes"
    write     = "a.txt"
    content   = input.text
    if_exists = "replace"
  }
  text = "written"
}
`

// callerOf returns the holder of a key as a caller of tools; somebody unknown without authentication.
func (s *site) callerOf(name string) *mcp.Caller {
	s.t.Helper()
	c := &mcp.Caller{Revision: mcp.Revision20260728, Header: http.Header{}, Remote: "192.0.2.7"}
	if authenticator := s.host.Authenticator(); authenticator != nil {
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.Header.Set("X-API-Key", keyOf(name))
		identity, refused := authenticator.Authenticate(r)
		if refused != nil {
			s.t.Fatal(refused)
		}
		c.SetIdentity(identity)
	}
	return c
}

// ask calls a tool as bob, who waits for its approval, and returns the approval and what he is answered. The call ends
// where nobody decides soon.
func (s *site) ask(tool, arguments string) (a *approval.Approval, answer <-chan string) {
	s.t.Helper()
	const maxWait = 30 * time.Second
	said, bob := make(chan string, 1), s.callerOf("bob")
	go func() {
		req := &mcp.CallRequest{Name: tool, Arguments: json.RawMessage(arguments), Caller: bob}
		ctx, cancel := context.WithTimeout(s.t.Context(), maxWait)
		defer cancel()
		out, err := s.host.CallTool(ctx, req)
		if err != nil {
			said <- err.Error()
			return
		}
		said <- fmt.Sprintf("%s %v", out.Content, err)
	}()
	for deadline := time.Now().Add(maxWait); ; time.Sleep(time.Millisecond) {
		approvals, err := s.host.Operator().Approvals(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		list, _, err := approvals.List(s.t.Context(), approval.ListQuery{Status: approval.Pending, Limit: 10})
		if err != nil || time.Now().After(deadline) {
			s.t.Fatalf("nothing waits: %v, %s", err, <-said)
		}
		if len(list) > 0 {
			if a, err = list[0].Approval(); err != nil {
				s.t.Fatal(err)
			}
			return a, said
		}
	}
}

// newNotes is a site with the tool note, whose file has a text.
func newNotes(t *testing.T, config string) *site {
	s := newSite(t, config+noteTool)
	if err := os.Mkdir(s.dir+"/notes", 0o755); err != nil {
		t.Fatal(err)
	}
	s.write("notes/a.txt", "one\ntwo\nthree\n")
	return s
}

func (s *site) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(s.dir+"/"+name, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// decide posts a decision about the approval of a page.
func (v *visitor) decide(page *reply, verb, reason string) *reply {
	v.t.Helper()
	form := page.find("decide")
	if form == nil {
		v.t.Fatalf("the page has no form: %s", page.text())
	}
	path, values := attr(form, "action"), url.Values{"decision": {verb}, "reason": {reason}}
	for n := range form.Descendants() {
		if attr(n, "type") == "hidden" {
			values.Set(attr(n, "name"), attr(n, "value"))
		}
	}
	return v.post(path, values)
}

func TestAnApproverSeesApprovalsAloneAndApproves(t *testing.T) {
	s := newNotes(t, keysOf("ann:approvers", "bob:callers", "vera:ops")+people+approvers)
	a, said := s.ask("note", `{"text":"one\n2\nthree\n"}`)
	ann := s.signedIn("ann")
	list := ann.get("/console/approvals")
	if list.status != 200 || !strings.Contains(textOf(list.find("approvals")), "bob") {
		t.Fatalf("%d %s", list.status, list.text())
	}
	if menu := strings.Fields(textOf(list.find("menu"))); strings.Join(menu, " ") != "Approvals (1)" {
		t.Errorf("the menu of an approver has %v", menu)
	}
	if got := ann.get("/console/"); got.header.Get("Location") != "/console/approvals" {
		t.Errorf("the first page leads to %q", got.header.Get("Location"))
	}
	page := ann.get("/console/approvals/" + a.ID)
	for _, want := range []string{"one\\ntwo\\nthree", "-two", "+2"} {
		if !strings.Contains(page.text(), want) {
			t.Errorf("the page has no %q: %s", want, page.text())
		}
	}
	if got := s.signedIn("vera").get("/console/approvals/" + a.ID); got.status != 200 || got.find("decide") != nil {
		t.Errorf("a viewer gets %d with a form: %s", got.status, got.text())
	}
	if got := s.signedIn("bob").get("/console/approvals"); got.status != http.StatusForbidden {
		t.Errorf("a caller sees approvals: %d", got.status)
	}
	if got := ann.decide(page, "approve", "checked"); got.status != http.StatusSeeOther {
		t.Fatalf("approving: %d %s", got.status, got.text())
	}
	if got := <-said; !strings.Contains(got, "written") {
		t.Error(got)
	}
	if got := ann.get("/console/approvals/" + a.ID); textOf(got.find("status")) != "approved, call made" ||
		textOf(got.find("now-title")) != "Before" || textOf(got.find("effect-title")) != "What was approved" {
		t.Errorf("after the call: %s", got.text())
	}
	if got := ann.decide(page, "reject", ""); got.status != http.StatusConflict || !strings.Contains(textOf(got.find("notice")), "ann approved it") {
		t.Errorf("deciding again: %d %s", got.status, got.text())
	}
}

func TestWhatWasSeenIsWhatIsApproved(t *testing.T) {
	s := newNotes(t, keysOf("ann:approvers", "bob:callers")+people+approvers)
	a, said := s.ask("note", `{"text":"new"}`)
	ann := s.signedIn("ann")
	old := ann.get("/console/approvals/" + a.ID)
	s.write("notes/a.txt", "something else\n")
	path := "/console/approvals/" + a.ID + "/look"
	if got := ann.post(path, url.Values{"token": {old.token(path)}}); got.status != http.StatusSeeOther {
		t.Fatalf("looking again: %d %s", got.status, got.text())
	}
	changed := ann.decide(old, "approve", "as seen")
	if changed.status != http.StatusConflict || !strings.Contains(changed.text(), "something else") ||
		attr(changed.find("reason"), "value") != "as seen" {
		t.Fatalf("what was seen before is approved: %d %s", changed.status, changed.text())
	}
	if got := ann.decide(changed, "reject", "not this file"); got.status != http.StatusSeeOther {
		t.Errorf("rejecting: %d %s", got.status, got.text())
	}
	if got := <-said; !strings.Contains(got, "not this file") {
		t.Error(got)
	}
	if got := ann.get("/console/approvals?status=rejected&tool=no*"); !strings.Contains(got.text(), "by ann") {
		t.Errorf("the rejected ones: %s", got.text())
	}
	second, said := s.ask("note", `{"text":"again"}`)
	history := strings.Join(strings.Fields(textOf(ann.get("/console/approvals/"+second.ID).find("history"))), " ")
	if !strings.Contains(history, "0 approved, 1 rejected;") {
		t.Errorf("the history of the next approval: %s", history)
	}
	s.reject(second.ID)
	<-said
	if got := ann.get("/console/approvals?tool=x*"); got.find("approvals") != nil {
		t.Errorf("the filter selects %s", got.text())
	}
}

func TestWithoutAuthenticationThePageNamesTheCommandThatDecides(t *testing.T) {
	s := newNotes(t, "console {}\n")
	a, said := s.ask("note", `{"text":"new"}`)
	page := s.withTicket().get("/console/approvals/" + a.ID)
	want := "hatchel approvals approve " + a.ID + " --digest " + a.Digest
	if textOf(page.find("command")) != want || page.find("decide") != nil {
		t.Errorf("the page has %s", page.text())
	}
	s.reject(a.ID)
	<-said
}

// reject rejects an approval, as the command does.
func (s *site) reject(id string) {
	s.t.Helper()
	approvals, err := s.host.Operator().Approvals(s.t.Context())
	if err == nil {
		_, err = approvals.Decide(s.t.Context(), id, false, approval.Decision{By: "os:ann", At: time.Now()})
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func TestTheMenuCountsThePendingApprovalsThatAPersonSees(t *testing.T) {
	s := newNotes(t, keysOf("ann:approvers", "bob:approvers", "vera:ops")+people+approvers)
	menuOf := func(name string) string {
		return strings.Join(strings.Fields(textOf(s.signedIn(name).get("/console/approvals").find("menu"))), " ")
	}
	if got := menuOf("ann"); got != "Approvals" {
		t.Errorf("without approvals: %s", got)
	}
	a, said := s.ask("note", `{"text":"new"}`)
	for name, want := range map[string]string{"ann": "Approvals (1)", "bob": "Approvals", "vera": "Approvals (1) "} {
		if got := menuOf(name); !strings.Contains(got+" ", want) || strings.Contains(got, "(") != strings.Contains(want, "(") {
			t.Errorf("the menu of %s has %s", name, got)
		}
	}
	s.reject(a.ID)
	<-said
	store, err := s.host.Operator().Approvals(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 101 {
		r := approval.Request{Tool: "note", Caller: approval.Requester{Subject: "eve"}, Deadline: time.Now().Add(time.Hour)}
		if _, _, err := store.Open(t.Context(), fmt.Sprint(i), r); err != nil {
			t.Fatal(err)
		}
	}
	if got := menuOf("ann"); got != "Approvals (100+)" {
		t.Errorf("with many: %s", got)
	}
}

func TestTheAuditLogHasTheDigestOfWhatAnApproverHasSeen(t *testing.T) {
	s := newNotes(t, keysOf("ann:approvers", "bob:callers")+people+approvers+audited)
	a, said := s.ask("note", `{"text":"new"}`)
	ann := s.signedIn("ann")
	if got := ann.decide(ann.get("/console/approvals/"+a.ID), "approve", ""); got.status != http.StatusSeeOther {
		t.Fatalf("approving: %d %s", got.status, got.text())
	}
	<-said
	log, err := os.ReadFile(s.dir + "/audit.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	digests := map[string]int{}
	for line := range strings.Lines(string(log)) {
		var r struct {
			Event    string
			Approval struct{ Digest string }
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.Approval.Digest == a.Digest {
			digests[r.Event]++
		}
	}
	if digests["approval"] != 1 || digests["call"] != 1 {
		t.Errorf("the digest is in %v of %s", digests, log)
	}
}
