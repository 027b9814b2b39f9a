package runtime

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/approval"
)

const refunding = `
	title = "Refund"
	input "amount" { type = number }
	input "card" {
		type      = optional(string, "none")
		sensitive = true
	}
	approval {
		when    = "input.amount > 100"
		timeout = "5m"
		message = "Refund ${input.amount} to ${input.card}."
	}
	fake {
		do    = "count"
		value = "pays ${input.amount} to ${input.card}"
	}
	text = "refund ${output.value}"
`

// testApprover decides the approvals of a Host.
type testApprover struct {
	t         testing.TB
	approvals *approval.Store
}

func newApprover(t testing.TB, h *Host) *testApprover {
	t.Helper()
	return &testApprover{t, h.build.State.Approvals()}
}

// waitForPending waits until at least n approvals are pending, and returns all that are.
func (d *testApprover) waitForPending(n int) []*approval.Approval {
	d.t.Helper()
	var all []*approval.Approval
	waitFor(d.t, func() bool {
		list, _, err := d.approvals.List(d.t.Context(), approval.ListQuery{Status: approval.Pending, Limit: 2000})
		if err != nil {
			d.t.Fatal(err)
		}
		all = nil
		for _, e := range list {
			a, err := e.Approval()
			if err != nil {
				d.t.Fatal(err)
			}
			all = append(all, a)
		}
		return len(all) >= n
	})
	return all
}

func (d *testApprover) decide(a *approval.Approval, approved bool, reason string) {
	d.t.Helper()
	if _, err := d.approvals.Decide(d.t.Context(), a.ID, approved, approval.Decision{By: "os:op", At: time.Now(), Reason: reason}); err != nil {
		d.t.Fatal(err)
	}
}

// startCall begins a call that may wait, and returns a channel with its result.
func startCall(t testing.TB, h *Host, who, tool, arguments string) <-chan string {
	return startCallWithContext(t.Context(), t, h, who, tool, arguments)
}

func startCallWithContext(ctx context.Context, t testing.TB, h *Host, who, tool, arguments string) <-chan string {
	said := make(chan string, 1)
	go func() { said <- callWithContext(ctx, h, who, tool, arguments) }()
	return said
}

func isRefused(said string) bool { return strings.Contains(said, `"isError":true`) }

func TestACallWaitsUntilAnOperatorHasDecided(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	h, path := newAuditedHost(t, tool("refund", refunding), w.use)
	approver := newApprover(t, h)
	if got := callAs(t, h, "ann", "refund", `{"amount":5}`); isRefused(got) || count() != 1 {
		t.Fatalf("a small one: %s", got)
	}
	said := startCall(t, h, "ann", "refund", `{"amount":500,"card":"4711-0815"}`)
	a := approver.waitForPending(1)[0]
	if count() != 1 {
		t.Error("it did not wait")
	}
	if a.Tool != "refund" || a.Title != "Refund" || a.Message != "Refund 500 to (secret)." || a.Caller.Subject != "ann" || fmt.Sprint(a.Rules) != "[tool.refund.approval]" || !a.Audited {
		t.Errorf("asked %+v", a.Request)
	}
	if want := `{"amount":500,"card":"(secret)"}`; string(a.Arguments) != want {
		t.Errorf("arguments %s", a.Arguments)
	}
	if !strings.Contains(a.Effect, "500") {
		t.Errorf("effect %q", a.Effect)
	}
	for _, text := range []string{a.Message, a.Effect, string(a.Arguments)} {
		if strings.Contains(text, "4711") {
			t.Errorf("the reviewer is shown %q", text)
		}
	}
	approver.decide(a, true, "known customer")
	if got := <-said; isRefused(got) || !strings.Contains(got, "refund 2") || count() != 2 {
		t.Errorf("approved: %s", got)
	}
	said = startCall(t, h, "ann", "refund", `{"amount":500,"card":"4711-0815"}`)
	again := approver.waitForPending(1)[0]
	if again.ID == a.ID {
		t.Error("an approval counts twice")
	}
	approver.decide(again, false, "twice the same")
	if got := <-said; !isRefused(got) || !strings.Contains(got, "twice the same") || count() != 2 {
		t.Errorf("rejected: %s", got)
	}
	all := readRecords(t, path)
	var told []string
	for _, r := range all {
		line := r.Event + " " + r.Outcome
		if r.Approval != nil {
			line += fmt.Sprintf(" %t %s %s %v", r.Approval.ID == a.ID, r.Approval.By, r.Approval.Reason, r.Approval.Rules)
		}
		told = append(told, line)
	}
	want := "intent ; call ok; intent  true os:op known customer [tool.refund.approval]; call ok true os:op known customer [tool.refund.approval]; call refused false os:op twice the same [tool.refund.approval]"
	if got := strings.Join(told, "; "); got != want {
		t.Errorf("written down:\n%s\nwant:\n%s", got, want)
	}
}

func TestAnApprovalIsForOneCallOnly(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	path := filepath.Join(t.TempDir(), "state.db")
	src := tool("refund", refunding) + "toolset \"pay\" {\n  tools = [\"refund\"]\n}\n"
	h := newHost(t, src, w.use, storedIn(t, path))
	approver := newApprover(t, h)
	gone, leave := context.WithCancel(t.Context())
	said := startCallWithContext(gone, t, h, "ann", "refund", `{"amount":500}`)
	a := approver.waitForPending(1)[0]
	leave()
	<-said
	approver.decide(a, true, "")

	others := []<-chan string{startCall(t, h, "ann", "refund", `{"amount":501}`), startCall(t, h, "ben", "refund", `{"amount":500}`)}
	toolset := make(chan string, 1)
	go func() {
		toolset <- callWithin(t.Context(), h, &mcp.CallRequest{Name: "refund", Arguments: []byte(`{"amount":500}`), Caller: &mcp.Caller{Revision: mcp.Revision20260728, Subject: "ann", Toolset: "pay"}})
	}()
	for _, b := range approver.waitForPending(3) {
		approver.decide(b, false, "")
	}
	for _, said := range append(others, toolset) {
		if got := <-said; !isRefused(got) || count() != 0 {
			t.Errorf("something else is approved with it: %s", got)
		}
	}

	// The server is restarted, and the same call uses it; of two at once one does.
	h.Close()
	h = newHost(t, src, w.use, storedIn(t, path))
	approver = newApprover(t, h)
	first, second := startCall(t, h, "ann", "refund", `{"amount":5e2}`), startCall(t, h, "ann", "refund", `{"amount":500}`)
	b := approver.waitForPending(1)[0]
	if count() != 1 || b.ID == a.ID {
		t.Errorf("%d were done", count())
	}
	approver.decide(b, false, "no")
	if one, two := <-first, <-second; isRefused(one) == isRefused(two) || count() != 1 {
		t.Errorf("%s and %s", one, two)
	}
}

func TestAPolicyAsksForApprovalAndAllowsNothing(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	h := newHost(t, tool("t", "input \"n\" { type = optional(integer, 0) }\nfake { do = \"count\" }")+`
		policy "large" {
			tools   = ["t"]
			approve = "input.n > 10"
			approval { message = "Large: ${input.n}." }
		}
		policy "odd" {
			approve = "input.n / (input.n - 13) > 100000"
		}
		policy "who" {
			allow   = "caller.subject == 'ann' || input.n < 0"
			message = "Only Ann."
		}
	`, w.use)
	approver := newApprover(t, h)
	if got := callAs(t, h, "ben", "t", `{"n":20}`); !isRefused(got) || !strings.Contains(got, "Only Ann") {
		t.Error(got)
	}
	if got := callAs(t, h, "ann", "t", `{"n":1}`); isRefused(got) || count() != 1 {
		t.Error(got)
	}
	said := startCall(t, h, "ann", "t", `{"n":20}`)
	all := approver.waitForPending(1)
	if len(all) != 1 || all[0].Message != "Large: 20." || fmt.Sprint(all[0].Rules) != "[policy.large.approve]" {
		t.Errorf("%+v", all[0].Request)
	}
	approver.decide(all[0], true, "")
	if got := <-said; isRefused(got) || count() != 2 {
		t.Error(got)
	}
}

func TestARuleThatCannotBeComputedDenies(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	h := newHost(t, tool("t", "input \"n\" { type = list(integer) }\nfake { do = \"count\" }")+"policy \"p\" { approve = \"input.n[3] > 1\" }\n"+
		tool("u", "input \"n\" { type = list(integer) }\napproval { when = \"input.n[3] > 1\" }\nfake { do = \"count\" }"), w.use)
	for _, name := range []string{"t", "u"} {
		if got := callAs(t, h, "ann", name, `{"n":[1]}`); !isRefused(got) || !strings.Contains(got, "could not evaluate a rule") || count() != 0 {
			t.Error(got)
		}
	}
}

func TestPromptsAndResourcesNeedNoApprovalOfTheirOwn(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	h := newHost(t, tool("t", `fake { do = "count" }`)+`
		prompt "p" {
			description = "x"
			message "user" { text = "hello" }
		}
		resource "r" {
			uri  = "x://r"
			text = "hello"
		}
		policy "all" { approve = "true" }
	`, w.use)
	caller := &mcp.Caller{Revision: mcp.Revision20260728}
	if _, err := h.GetPrompt(t.Context(), &mcp.CallRequest{Name: "p", Caller: caller}); err != nil {
		t.Error(err)
	}
	if _, err := h.ReadResource(t.Context(), &mcp.CallRequest{Name: "x://r", Caller: caller}); err != nil {
		t.Error(err)
	}
	said := startCall(t, h, "ann", "t", `{}`)
	newApprover(t, h).decide(newApprover(t, h).waitForPending(1)[0], false, "no")
	if got := <-said; !isRefused(got) || count() != 0 {
		t.Error(got)
	}
}

func TestWhoHasAskedForTooMuchKeepsNobodyElseFromAsking(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	h := newHost(t, tool("refund", refunding), w.use)
	approver, now := newApprover(t, h), time.Now()
	var first *approval.Approval
	for i := range approval.MaxPendingPerCaller {
		a, _, err := approver.approvals.Open(t.Context(), fmt.Sprint(i), approval.Request{Tool: "refund", Caller: approval.Requester{Subject: "ann"}, RequestedAt: now, Deadline: now.Add(time.Hour + time.Duration(i)*time.Millisecond)})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = a
		}
	}
	if got := callAs(t, h, "ann", "refund", `{"amount":500}`); !isRefused(got) || !strings.Contains(got, "1024 calls of the same caller wait") || !strings.Contains(got, "Nothing was done") || !strings.Contains(got, `"retryAfter":`) {
		t.Errorf("one more: %s", got)
	}
	for n, who := range []string{"bob", "ann"} {
		if who == "ann" {
			approver.decide(first, false, "")
		}
		said := startCall(t, h, who, "refund", `{"amount":500}`)
		approver.decide(approver.waitForPending(approval.MaxPendingPerCaller + 1 - n)[0], true, "") // its time ends first
		if got := <-said; isRefused(got) || count() != n+1 {
			t.Errorf("%s: %s", who, got)
		}
	}
}
