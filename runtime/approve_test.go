package runtime

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime/approval"
	"hatchel/runtime/mcp"
	"hatchel/runtime/state"
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

// desk is who decides at a Host.
type testDesk struct {
	t    testing.TB
	book *approval.Book
}

func deskOf(t testing.TB, h *Host) *testDesk {
	t.Helper()
	book, err := h.build.State.approvals(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &testDesk{t, book}
}

// pending are those that wait, at least n of them.
func (d *testDesk) pending(n int) []*approval.Approval {
	d.t.Helper()
	var all []*approval.Approval
	eventually(d.t, func() bool {
		list, _, err := d.book.List(d.t.Context(), approval.ListQuery{Status: approval.Pending, Limit: 1000})
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

func (d *testDesk) decide(a *approval.Approval, approved bool, reason string) {
	d.t.Helper()
	if _, err := d.book.Decide(d.t.Context(), a.ID, approved, approval.Decision{By: "os:op", At: time.Now(), Reason: reason}); err != nil {
		d.t.Fatal(err)
	}
}

// later makes a call that may wait, and gives what will be answered.
func later(t testing.TB, h *Host, who, tool, arguments string) <-chan string {
	return laterIn(t.Context(), t, h, who, tool, arguments)
}

func laterIn(ctx context.Context, t testing.TB, h *Host, who, tool, arguments string) <-chan string {
	said := make(chan string, 1)
	go func() { said <- outcomeIn(ctx, h, who, tool, arguments) }()
	return said
}

func refused(said string) bool { return strings.Contains(said, `"isError":true`) }

func TestACallWaitsUntilAnOperatorHasDecided(t *testing.T) {
	w := newWorld()
	count := w.counting()
	h, path := w.audited(t, tool("refund", refunding))
	desk := deskOf(t, h)
	if got := outcomeFor(t, h, "ann", "refund", `{"amount":5}`); refused(got) || count() != 1 {
		t.Fatalf("a small one: %s", got)
	}
	said := later(t, h, "ann", "refund", `{"amount":500,"card":"4711-0815"}`)
	a := desk.pending(1)[0]
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
	desk.decide(a, true, "known customer")
	if got := <-said; refused(got) || !strings.Contains(got, "refund 2") || count() != 2 {
		t.Errorf("approved: %s", got)
	}
	said = later(t, h, "ann", "refund", `{"amount":500,"card":"4711-0815"}`)
	again := desk.pending(1)[0]
	if again.ID == a.ID {
		t.Error("an approval counts twice")
	}
	desk.decide(again, false, "twice the same")
	if got := <-said; !refused(got) || !strings.Contains(got, "twice the same") || count() != 2 {
		t.Errorf("rejected: %s", got)
	}
	all := records(t, path)
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

func TestNobodyDecidesInTime(t *testing.T) {
	w := newWorld()
	count := w.counting()
	src := tool("t", "timeout = \"1s\"\napproval { timeout = \"2m\" }\nfake { do = \"count\" }") + tool("pure", "timeout = \"1s\"\napproval { timeout = \"2m\" }\ntext = \"computed\"")
	w.within(t, src, func(t *testing.T, h *Host) {
		desk := deskOf(t, h)
		for _, name := range []string{"t", "pure"} {
			began := time.Now()
			if got := outcomeFor(t, h, "ann", name, `{}`); !refused(got) || !strings.Contains(got, "nobody gave it in time") || time.Since(began) < 2*time.Minute || time.Since(began) > 3*time.Minute {
				t.Errorf("after %v: %s", time.Since(began), got)
			}
			// The timeout of the tool is shorter than the wait, and does not count it.
			said := later(t, h, "ann", name, `{}`)
			synctest.Wait()
			time.Sleep(time.Minute)
			desk.decide(desk.pending(1)[0], true, "")
			if got := <-said; refused(got) {
				t.Error(got)
			}
		}
		if count() != 1 {
			t.Errorf("%d were done", count())
		}
	})
}

func TestAnApprovalIsForOneCallOnly(t *testing.T) {
	w := newWorld()
	count := w.counting()
	path := filepath.Join(t.TempDir(), "state.db")
	src := tool("refund", refunding) + "toolset \"pay\" {\n  tools = [\"refund\"]\n}\n"
	h := w.remembering(t, path, src)
	desk := deskOf(t, h)
	gone, leave := context.WithCancel(t.Context())
	said := laterIn(gone, t, h, "ann", "refund", `{"amount":500}`)
	a := desk.pending(1)[0]
	leave()
	<-said
	desk.decide(a, true, "")

	others := []<-chan string{later(t, h, "ann", "refund", `{"amount":501}`), later(t, h, "ben", "refund", `{"amount":500}`)}
	toolset := make(chan string, 1)
	go func() {
		out, err := h.CallTool(t.Context(), &mcp.CallRequest{Name: "refund", Arguments: []byte(`{"amount":500}`), Caller: &mcp.Caller{Revision: mcp.Revision20260728, Subject: "ann", Toolset: "pay"}})
		toolset <- fmt.Sprint(string(out.AppendResult(nil, mcp.Revision20260728)), err)
	}()
	for _, b := range desk.pending(3) {
		desk.decide(b, false, "")
	}
	for _, said := range append(others, toolset) {
		if got := <-said; !refused(got) || count() != 0 {
			t.Errorf("something else is approved with it: %s", got)
		}
	}

	// The server is restarted, and the same call uses it; of two at once one does.
	h.Close()
	h = w.remembering(t, path, src)
	desk = deskOf(t, h)
	first, second := later(t, h, "ann", "refund", `{"amount":5e2}`), later(t, h, "ann", "refund", `{"amount":500}`)
	b := desk.pending(1)[0]
	if count() != 1 || b.ID == a.ID {
		t.Errorf("%d were done", count())
	}
	desk.decide(b, false, "no")
	if one, two := <-first, <-second; refused(one) == refused(two) || count() != 1 {
		t.Errorf("%s and %s", one, two)
	}
}

func TestAnApprovalThatWasGivenIsUsedInTimeOrNotAtAll(t *testing.T) {
	w := newWorld()
	count := w.counting()
	w.within(t, tool("refund", refunding), func(t *testing.T, h *Host) {
		desk := deskOf(t, h)
		said := laterIn(deadline(t, time.Second), t, h, "ann", "refund", `{"amount":500}`)
		a := desk.pending(1)[0]
		<-said
		desk.decide(a, true, "")
		time.Sleep(6 * time.Minute)
		said = later(t, h, "ann", "refund", `{"amount":500}`)
		b := desk.pending(1)[0]
		if b.ID == a.ID || count() != 0 {
			t.Error("it is used after its time")
		}
		desk.decide(b, false, "")
		<-said
	})
}

func TestWhatIsConfiguredAnewIsApprovedAnew(t *testing.T) {
	w := newWorld()
	count := w.counting()
	src := tool("refund", refunding)
	for claim, next := range map[string]string{
		"another tool":     strings.Replace(src, "pays", "gives", 1),
		"another approval": strings.Replace(src, "> 100", "> 99", 1),
		"another policy":   src + "policy \"p\" {\n  tools = [\"refund\"]\n  deny  = \"input.amount == 7\"\n}\n",
	} {
		t.Run(claim, func(t *testing.T) {
			before := count()
			h := w.host(t, src)
			defer h.Close()
			desk := deskOf(t, h)
			waits := later(t, h, "ann", "refund", `{"amount":500}`)
			a := desk.pending(1)[0]
			load(t, h, next)
			desk.decide(a, true, "")
			if got := <-waits; !refused(got) || !strings.Contains(got, "configuration was changed") || count() != before {
				t.Errorf("who waited: %s", got)
			}
			again := later(t, h, "ann", "refund", `{"amount":500}`)
			b := desk.pending(1)[0]
			if b.ID == a.ID {
				t.Error("what was approved for one configuration counts for another")
			}
			desk.decide(b, true, "")
			if got := <-again; refused(got) || count() != before+1 {
				t.Error(got)
			}
		})
	}
	t.Run("a reload that changes nothing of it", func(t *testing.T) {
		before := count()
		h := w.host(t, src)
		defer h.Close()
		desk := deskOf(t, h)
		waits := later(t, h, "ann", "refund", `{"amount":500}`)
		a := desk.pending(1)[0]
		load(t, h, src+tool("other", `text = "x"`))
		desk.decide(a, true, "")
		if got := <-waits; refused(got) || count() != before+1 {
			t.Error(got)
		}
	})
}

func TestACallThatWaitsEndsWithTheServer(t *testing.T) {
	w := newWorld()
	count := w.counting()
	path := filepath.Join(t.TempDir(), "state.db")
	src := tool("refund", refunding)
	h := w.remembering(t, path, src)
	said := later(t, h, "ann", "refund", `{"amount":500}`)
	a := deskOf(t, h).pending(1)[0]
	h.Dismiss()
	if got := <-said; !refused(got) || !strings.Contains(got, "being stopped") {
		t.Error(got)
	}
	if got := outcomeFor(t, h, "ann", "refund", `{"amount":600}`); !strings.Contains(got, "being stopped") {
		t.Error(got)
	}
	h.Close()
	h = w.remembering(t, path, src)
	said = later(t, h, "ann", "refund", `{"amount":500}`)
	desk := deskOf(t, h)
	for _, b := range desk.pending(2) {
		if b.ID == a.ID {
			desk.decide(b, true, "")
		}
	}
	if got := <-said; refused(got) || count() != 1 {
		t.Error(got)
	}
}

func TestAKeyIsFreeWhileItsCallWaitsForApproval(t *testing.T) {
	w := newWorld()
	count := w.counting()
	path := filepath.Join(t.TempDir(), "state.db")
	src := tool("t", keyed+"approval {}\nfake { do = \"count\" }\ntext = \"done ${output.value}\"")
	h := w.remembering(t, path, src)
	desk := deskOf(t, h)
	gone, leave := context.WithCancel(t.Context())
	said := laterIn(gone, t, h, "ann", "t", `{"idempotency_key":"k"}`)
	a := desk.pending(1)[0]
	k := &claim{tasks: h.build.State.tasks, name: purposeOf("deed", "t", "ann", "k").String()}
	if d, err := k.look(t.Context()); d != nil || err != nil {
		t.Errorf("something was begun: %v %v", d, err)
	}
	leave()
	<-said
	h.Close() // as a crash would leave it
	h = w.remembering(t, path, src)
	desk = deskOf(t, h)
	var all []<-chan string
	for range 3 {
		all = append(all, later(t, h, "ann", "t", `{"idempotency_key":"k"}`))
	}
	if b := desk.pending(1); len(b) != 1 || b[0].ID != a.ID {
		t.Errorf("asked again: %v", b)
	}
	desk.decide(a, true, "")
	for _, said := range all {
		if got := <-said; refused(got) || !strings.Contains(got, "done 1") {
			t.Error(got)
		}
	}
	if got := outcomeFor(t, h, "ann", "t", `{"idempotency_key":"k"}`); !strings.Contains(got, "done 1") || count() != 1 {
		t.Errorf("the answer of the key takes an approval: %s", got)
	}
}

func TestWhatNeedsApprovalIsNotAnsweredFromTheCache(t *testing.T) {
	w := newWorld()
	count := w.counting()
	h := w.host(t, tool("t", "read_only = true\ninput \"n\" { type = integer }\ninput \"m\" { type = optional(integer) }\ncache {\n  ttl = \"1h\"\n  key = input.n\n}\napproval { when = \"input.m != null\" }\nfake { do = \"count\" }"))
	defer h.Close()
	desk := deskOf(t, h)
	outcomeFor(t, h, "ann", "t", `{"n":1}`)
	if outcomeFor(t, h, "ann", "t", `{"n":1}`); count() != 1 {
		t.Error("nothing is kept")
	}
	said := later(t, h, "ann", "t", `{"n":1,"m":2}`)
	desk.decide(desk.pending(1)[0], true, "")
	if got := <-said; refused(got) || count() != 2 {
		t.Errorf("after %d: %s", count(), got)
	}
}

func TestAStepWaitsForItsOperator(t *testing.T) {
	w := newWorld()
	count := w.counting()
	src := tool("inner", "input \"n\" { type = integer }\napproval {}\nfake { do = \"count\" }") + tool("outer", `
		timeout = "5s"
		limit { concurrency = 1 }
		step "all" {
			each     = [1, 2]
			parallel = 2
			tool "inner" { n = each.value }
		}
		step "slow" {
			fake { do = "slow" }
		}
		text = "done"
	`)
	w.do["slow"] = func(ctx context.Context, c *adapters.Call) (any, error) {
		select {
		case <-time.After(4 * time.Second):
			return "slow", nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	w.within(t, src, func(t *testing.T, h *Host) {
		desk := deskOf(t, h)
		said := later(t, h, "ann", "outer", `{}`)
		synctest.Wait()
		waiting := desk.pending(2)
		for _, a := range waiting {
			if a.Caller.Subject != "ann" || a.Tool != "inner" {
				t.Errorf("%+v", a.Request)
			}
			time.Sleep(time.Minute)
			desk.decide(a, true, "")
		}
		if got := <-said; refused(got) || count() != 2 {
			t.Errorf("after %d: %s", count(), got)
		}
		direct := later(t, h, "ann", "inner", `{"n":1}`)
		nested := later(t, h, "ann", "outer", `{}`)
		synctest.Wait()
		if all := desk.pending(3); len(all) != 3 {
			t.Errorf("%d wait: what a step may do is not what a client may", len(all))
		}
		for _, a := range desk.pending(3) {
			desk.decide(a, false, "no")
		}
		if a, b := <-direct, <-nested; !refused(a) || !refused(b) || !strings.Contains(b, "rejected: no") || count() != 2 {
			t.Errorf("%s, %s", a, b)
		}
	})
}

func TestWhoWaitsHoldsNoPlace(t *testing.T) {
	w := newWorld()
	w.counting()
	w.within(t, "server {\n  limit { concurrency = 1 }\n}\n"+tool("t", "input \"n\" { type = integer }\napproval { when = \"input.n > 0\" }\nfake { do = \"count\" }"), func(t *testing.T, h *Host) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var all []<-chan string
		for n := range mostWaiting {
			all = append(all, laterIn(ctx, t, h, "ann", "t", fmt.Sprintf(`{"n":%d}`, n+1)))
		}
		synctest.Wait()
		if got := outcomeFor(t, h, "ann", "t", `{"n":0}`); refused(got) {
			t.Error(got)
		}
		if got := outcomeFor(t, h, "ann", "t", `{"n":1000}`); !refused(got) || !strings.Contains(got, "retryAfter") {
			t.Errorf("as many wait as like: %s", got)
		}
		cancel()
		for _, said := range all {
			<-said
		}
	})
}

func TestAPolicyAsksForApprovalAndAllowsNothing(t *testing.T) {
	w := newWorld()
	count := w.counting()
	h := w.host(t, tool("t", "input \"n\" { type = optional(integer, 0) }\nfake { do = \"count\" }")+`
		policy "large" {
			tools   = ["t"]
			approve = "input.n > 10"
			approval { message = "Large: ${input.n}." }
		}
		policy "odd" {
			approve = "input.n / (input.n - 13) > 100000"
		}
		policy "who" {
			allow   = "caller.subject == 'ann'"
			message = "Only Ann."
		}
	`)
	defer h.Close()
	desk := deskOf(t, h)
	if got := outcomeFor(t, h, "ben", "t", `{"n":20}`); !refused(got) || !strings.Contains(got, "Only Ann") {
		t.Error(got)
	}
	if got := outcomeFor(t, h, "ann", "t", `{"n":1}`); refused(got) || count() != 1 {
		t.Error(got)
	}
	said := later(t, h, "ann", "t", `{"n":20}`)
	all := desk.pending(1)
	if len(all) != 1 || all[0].Message != "Large: 20." || fmt.Sprint(all[0].Rules) != "[policy.large.approve]" {
		t.Errorf("%+v", all[0].Request)
	}
	desk.decide(all[0], true, "")
	if got := <-said; refused(got) || count() != 2 {
		t.Error(got)
	}
}

func TestARuleThatCannotBeComputedDenies(t *testing.T) {
	w := newWorld()
	count := w.counting()
	h := w.host(t, tool("t", "input \"n\" { type = list(integer) }\nfake { do = \"count\" }")+"policy \"p\" { approve = \"input.n[3] > 1\" }\n"+
		tool("u", "input \"n\" { type = list(integer) }\napproval { when = \"input.n[3] > 1\" }\nfake { do = \"count\" }"))
	defer h.Close()
	for _, name := range []string{"t", "u"} {
		if got := outcomeFor(t, h, "ann", name, `{"n":[1]}`); !refused(got) || !strings.Contains(got, "could not be decided") || count() != 0 {
			t.Error(got)
		}
	}
}

func TestPromptsAndResourcesNeedNoApprovalOfTheirOwn(t *testing.T) {
	w := newWorld()
	count := w.counting()
	h := w.host(t, tool("t", `fake { do = "count" }`)+`
		prompt "p" {
			description = "x"
			message "user" { text = "hello" }
		}
		resource "r" {
			uri  = "x://r"
			text = "hello"
		}
		policy "all" { approve = "true" }
	`)
	defer h.Close()
	caller := &mcp.Caller{Revision: mcp.Revision20260728}
	if _, err := h.GetPrompt(t.Context(), &mcp.CallRequest{Name: "p", Caller: caller}); err != nil {
		t.Error(err)
	}
	if _, err := h.ReadResource(t.Context(), &mcp.CallRequest{Name: "x://r", Caller: caller}); err != nil {
		t.Error(err)
	}
	said := later(t, h, "ann", "t", `{}`)
	deskOf(t, h).decide(deskOf(t, h).pending(1)[0], false, "no")
	if got := <-said; !refused(got) || count() != 0 {
		t.Error(got)
	}
}

// forgetting is a store in which approvals cannot be remembered, or not be used up.
type forgetting struct {
	state.Store
	adds, replaces error
}

func (f *forgetting) Add(ctx context.Context, r *state.Record) (*state.Record, error) {
	if f.adds != nil {
		return nil, f.adds
	}
	return f.Store.Add(ctx, r)
}

func (f *forgetting) Replace(ctx context.Context, r *state.Record) (bool, error) {
	if f.replaces != nil && r.Group == string(approval.Used) {
		return false, f.replaces
	}
	return f.Store.Replace(ctx, r)
}

func TestWhatCannotBeRememberedIsNotApproved(t *testing.T) {
	for claim, c := range map[string]struct {
		store *forgetting
		want  string
	}{
		"a store that is full":             {&forgetting{adds: state.ErrFull}, "remembers too much"},
		"a store that is away":             {&forgetting{adds: state.ErrAway}, "try again in a moment"},
		"a store that goes away meanwhile": {&forgetting{replaces: state.ErrAway}, "try again in a moment"},
	} {
		t.Run(claim, func(t *testing.T) {
			w := newWorld()
			count := w.counting()
			s := NewState(func(ctx context.Context) (_ state.Store, err error) {
				c.store.Store, err = state.Open(ctx, "")
				return c.store, err
			})
			defer s.Close()
			h := NewHost(t.Context(), HostOptions{Build: Build{Set: w.set(), Dir: t.TempDir(), State: s}, Load: hcl.Options{Getenv: secrets}})
			defer h.Close()
			load(t, h, tool("t", "approval {}\nfake { do = \"count\" }"))
			said := later(t, h, "ann", "t", `{}`)
			if c.store.adds == nil {
				deskOf(t, h).decide(deskOf(t, h).pending(1)[0], true, "")
			}
			if got := <-said; !refused(got) || !strings.Contains(got, c.want) || count() != 0 {
				t.Errorf("after %d: %s", count(), got)
			}
		})
	}
}

func TestWebhooksAreToldOnceThatAnOperatorIsAsked(t *testing.T) {
	got := make(chan string, 10)
	service := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- string(body)
	}))
	defer service.Close()
	w := newWorld()
	w.counting()
	h := w.host(t, fmt.Sprintf("webhook \"ops\" {\n  url    = %q\n  secret = \"0123456789012345678901234567\"\n}\n", service.URL)+
		tool("t", "input \"pin\" {\n  type      = string\n  sensitive = true\n}\napproval {\n  message = \"Really? ${input.pin}\"\n  notify  = [\"ops\"]\n}\nfake { do = \"count\" }\ntext = input.pin"))
	defer h.Close()
	desk := deskOf(t, h)
	ctx, leave := context.WithCancel(t.Context())
	first, second := laterIn(ctx, t, h, "ann", "t", `{"pin":"12345678"}`), laterIn(ctx, t, h, "ann", "t", `{"pin":"12345678"}`)
	a := desk.pending(1)[0]
	var body string
	select {
	case body = <-got:
	case <-time.After(time.Minute):
		t.Fatal("nobody was told")
	}
	for _, want := range []string{`"approval.requested"`, a.ID, `Really? (secret)`, `"ann"`, `"until"`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
	if strings.Contains(body, "12345678") {
		t.Errorf("told %s", body)
	}
	leave()
	<-first
	<-second
	if len(got) > 0 {
		t.Errorf("told again: %s", <-got)
	}
}
