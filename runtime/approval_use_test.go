package runtime

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/approval"
)

func TestACallThatALimitRefusesUsesNoApproval(t *testing.T) {
	s := newSlowBackend()
	s.end = make(chan struct{})
	count := s.addCounter()
	h := newHost(t, `server {
		limit { concurrency = 1 }
	}
	`+tool("busy", `fake { do = "slow" }`)+tool("t", "approval {}\nfake { do = \"count\" }\ntext = \"done\""), s.use)
	approver := newApprover(t, h)
	said := startCall(t, h, "ann", "t", `{}`)
	a := approver.waitForPending(1)[0]
	busy := startCall(t, h, "ann", "busy", `{}`)
	<-s.running
	approver.decide(a, true, "")
	if got := <-said; !isRefused(got) || !strings.Contains(got, "Too many calls") || count() != 0 {
		t.Errorf("beside another: %s", got)
	}
	s.running <- struct{}{}
	close(s.end)
	<-busy
	if got := callAs(t, h, "ann", "t", `{}`); isRefused(got) || count() != 1 {
		t.Errorf("made again: %s", got)
	}
	again := startCall(t, h, "ann", "t", `{}`)
	b := approver.waitForPending(1)[0]
	if b.ID == a.ID || count() != 1 {
		t.Error("an approval counts twice")
	}
	approver.decide(b, false, "")
	<-again
}

func TestACallThatCannotBeWrittenDownUsesNoApproval(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	h, path := newAuditedHost(t, tool("t", "approval {}\nfake { do = \"count\" }\ntext = \"done\""), w.use)
	approver := newApprover(t, h)
	said := startCall(t, h, "ann", "t", `{}`)
	a := approver.waitForPending(1)[0]
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	approver.decide(a, true, "")
	if got := <-said; !isRefused(got) || !strings.Contains(got, "cannot write to its audit log") || count() != 0 {
		t.Errorf("while the log is away: %s", got)
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	if got := callAs(t, h, "ann", "t", `{}`); isRefused(got) || count() != 1 {
		t.Errorf("made again: %s", got)
	}
	again := startCall(t, h, "ann", "t", `{}`)
	if b := approver.waitForPending(1)[0]; b.ID == a.ID || count() != 1 {
		t.Error("an approval counts twice")
	}
	h.StopWaiting()
	<-again
}

func TestWhoHasAgreedIsHeldToTheLimits(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	h := newHost(t, tool("t", "limit { rate = \"1/h\" }\napproval { by = \"caller\" }\nfake { do = \"count\" }\ntext = \"done\""), w.use)
	for i := range 3 {
		first := modernRequest("t", `{}`, `{"elicitation":{}}`)
		r := mustCall(t, h, retryRequest(first, mustCall(t, h, first).RequestState, confirmation("accept", true)))
		if r.IsError != (i > 0) || count() != 1 {
			t.Errorf("call %d: %+v, %d done", i, r, count())
		}
	}
}

// withClaims makes the caller ann, with a token of these claims.
func withClaims(claims string, headers map[string]string) func(*mcp.Caller) {
	return func(c *mcp.Caller) {
		c.Subject = "ann"
		c.Identity = &mcp.Identity{Subject: "ann", Key: "https://idp.example", Claims: []byte(claims), Headers: headers}
	}
}

func TestWhatIsKnownOfTheCallerIsPartOfWhatIsApproved(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	h := newHost(t, tool("t", `approval {}
		step "a" {
			fake {
				do    = "count"
				value = "${caller.claims.tenant} ${caller.headers.team}"
			}
		}`), w.use)
	approver := newApprover(t, h)
	call := func(ctx context.Context, claims, team string) <-chan string {
		said := make(chan string, 1)
		req := modernRequest("t", `{}`, `{}`)
		withClaims(claims, map[string]string{"team": team})(req.Caller)
		go func() { said <- callWithin(ctx, h, req) }()
		return said
	}
	gone, leave := context.WithCancel(t.Context())
	said := call(gone, `{"tenant":"one","exp":1,"jti":"a"}`, "x")
	a := approver.waitForPending(1)[0]
	if !strings.Contains(a.Effect, "one x") {
		t.Errorf("shown %q", a.Effect)
	}
	leave()
	<-said
	approver.decide(a, true, "")
	others := []<-chan string{call(t.Context(), `{"tenant":"two","exp":1,"jti":"a"}`, "x"), call(t.Context(), `{"tenant":"one","exp":1,"jti":"a"}`, "y")}
	for _, b := range approver.waitForPending(2) {
		approver.decide(b, false, "")
	}
	for _, said := range others {
		if got := <-said; !isRefused(got) || count() != 0 {
			t.Errorf("what was not shown is done: %s", got)
		}
	}
	if got := <-call(t.Context(), `{"jti":"b","tenant":"one","exp":2}`, "x"); isRefused(got) || count() != 1 {
		t.Errorf("with a new token: %s", got)
	}
}

func TestWhoHasBecomeAnotherSinceTheQuestionIsAskedAgain(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	h := newHost(t, tool("t", `approval { by = "caller" }
		fake {
			do    = "count"
			value = "${caller.claims.tenant}"
		}`), w.use)
	as := func(tenant, state, answers string) *callReply {
		req := modernRequest("t", `{}`, `{"elicitation":{}}`)
		withClaims(fmt.Sprintf(`{"tenant":%q}`, tenant), nil)(req.Caller)
		req.State = state
		if answers != "" {
			req.Answers = []byte(answers)
		}
		return mustCall(t, h, req)
	}
	r := as("two", as("one", "", "").RequestState, confirmation("accept", true))
	if r.keys() != "approval.caller" || count() != 0 || !strings.Contains(fmt.Sprint(r.InputRequests["approval.caller"].Params), "two") {
		t.Fatalf("%+v", r)
	}
	if r = as("two", r.RequestState, confirmation("accept", true)); r.IsError || count() != 1 {
		t.Errorf("%+v", r)
	}
}

func TestWhatIsNotShownToItsEndSaysSoAtItsBeginning(t *testing.T) {
	w := newFakeBackend()
	w.addCounter()
	h := newHost(t, tool("t", `input "a" { type = string }
		input "z" { type = string }
		approval {}
		fake {
			do    = "count"
			value = "${input.a} ${input.z}"
		}`), w.use)
	approver := newApprover(t, h)
	call := func(n int) *approval.Approval {
		said := startCall(t, h, "ann", "t", fmt.Sprintf(`{"a":%q,"z":"and all of it"}`, strings.Repeat("a ", n)))
		a := approver.waitForPending(1)[0]
		approver.decide(a, false, "")
		<-said
		return a
	}
	if a := call(10); a.Partial || strings.Contains(a.Effect, "NOT ALL") || !strings.Contains(a.Effect, "and all of it") {
		t.Errorf("a short one: %v %s", a.Partial, a.Effect)
	}
	if a := call(6000); !a.Partial || !strings.Contains(a.Effect, "and all of it") {
		t.Errorf("long arguments: %v, %d bytes", a.Partial, len(a.Effect))
	}
	if a := call(60000); !a.Partial || !strings.HasPrefix(a.Effect, "PART OF WHAT WOULD BE DONE IS NOT SHOWN") || strings.Contains(a.Effect, "and all of it") {
		t.Errorf("a long one: %v, %d bytes", a.Partial, len(a.Effect))
	}
}

func TestWhatCallersSendDoesNotLookLikeWordsOfTheServer(t *testing.T) {
	w := newFakeBackend()
	w.addCounter()
	const rules = `
		input "n" { type = string }
		fake {
			do    = "count"
			value = "deletes ${input.n}"
		}
		`
	h := newHost(t, tool("op", rules+`approval { message = "Delete ${input.n}." }`)+tool("user", rules+`approval {
		by      = "caller"
		message = "Delete ${input.n}."
	}`), w.use)
	const sent = `{"n":"x.\n\nWhat would be done:\n  Nothing is sent.\u202e\u001b[2J"}`
	approver := newApprover(t, h)
	said := startCall(t, h, "ann", "op", sent)
	a := approver.waitForPending(1)[0]
	approver.decide(a, false, "")
	<-said
	asked, _ := mustCall(t, h, modernRequest("user", sent, `{"elicitation":{}}`)).InputRequests["approval.caller"].Params["message"].(string)
	for what, text := range map[string]string{"message": a.Message, "effect": a.Effect, "question": asked} {
		if strings.ContainsAny(text, "\u202e\x1b") || !strings.Contains(text, `\u202e\u001b[2J`) {
			t.Errorf("%s %q", what, text)
		}
	}
	if n := strings.Count(asked, "\nWhat would be done:\n"); n != 1 {
		t.Errorf("the effect begins %d times in %q", n, asked)
	}
	if !strings.Contains(a.Message, "\n  What would be done:") {
		t.Errorf("message %q", a.Message)
	}
}

func TestWhatAClientCallsItselfIsBounded(t *testing.T) {
	h := newHost(t, tool("t", "approval {}\ntext = \"done\""))
	req := modernRequest("t", `{}`, `{}`)
	req.Caller.ClientInfo = []byte(`{"name":"a\u001b[2J\nb` + strings.Repeat("x", 60000) + `","version":"1"}`)
	said := make(chan error, 1)
	go func() {
		_, err := requestTool(t.Context(), h, req)
		said <- err
	}()
	approver := newApprover(t, h)
	a := approver.waitForPending(1)[0]
	if c := a.Caller.Client; len(c) > 300 || !strings.HasPrefix(c, `a\u001b[2J bx`) {
		t.Errorf("%d bytes: %.100q", len(c), c)
	}
	approver.decide(a, false, "")
	<-said
}

func TestATaskThatWaitsIsNotDoneForAKeyThatWasTakenAway(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	key := func(name string) string {
		return fmt.Sprintf("  api_key %q { sha256 = \"%x\" }\n", name, sha256.Sum256([]byte("key-of-"+name)))
	}
	const waits = "approval { timeout = \"1h\" }\nfake { do = \"count\" }\ntext = \"done\""
	h := newHost(t, "auth {\n"+key("ann")+key("ben")+"}\n"+tool("t", waits), w.use)
	begin := func(name string) (string, func(*mcp.Caller)) {
		r := httptest.NewRequest("POST", "/mcp", nil)
		r.Header.Set("X-Api-Key", "key-of-"+name)
		identity, refused := h.Authenticator().Authenticate(r)
		if refused != nil {
			t.Fatal(refused)
		}
		as := func(c *mcp.Caller) { c.Identity, c.Subject = identity, identity.Subject }
		req := modernRequest("t", `{}`, following)
		as(req.Caller)
		return mustCall(t, h, req).TaskID, as
	}
	ends := func(id string, as func(*mcp.Caller)) string {
		var text string
		waitFor(t, func() bool {
			r, err := taskRequest(t, h, "tasks/get", id, "", as)
			if err != nil || r.Status != "completed" {
				return false
			}
			text = r.Result.text()
			return true
		})
		return text
	}
	anns, ann := begin("ann")
	bens, ben := begin("ben")
	load(t, h, "auth {\n"+key("ben")+"}\n"+tool("t", waits))
	approver := newApprover(t, h)
	for _, a := range approver.waitForPending(1) {
		if _, err := approver.approvals.Decide(t.Context(), a.ID, true, approval.Decision{By: "os:op", At: time.Now()}); err != nil {
			t.Log(err) // it has ended already
		}
	}
	if said := ends(anns, ann); !strings.Contains(said, "configuration was changed") {
		t.Errorf("without a key: %s", said)
	}
	if said := ends(bens, ben); said != "done" || count() != 1 {
		t.Errorf("with one: %s, %d done", said, count())
	}
}

func TestAStepThatWaitsIsNotDoneForAKeyThatWasTakenAway(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	inner := tool("inner", "approval { timeout = \"1h\" }\nfake { do = \"count\" }\ntext = \"done\"")
	outer := tool("outer", "step \"a\" {\n  tool \"inner\" {}\n}\ntext = step.a.text")
	key := func(name string) string {
		return fmt.Sprintf("auth {\n  api_key %q { sha256 = \"%x\" }\n}\n", name, sha256.Sum256([]byte("key-of-"+name)))
	}
	h := newHost(t, key("ann")+inner+outer, w.use)
	r := httptest.NewRequest("POST", "/mcp", nil)
	r.Header.Set("X-Api-Key", "key-of-ann")
	identity, refused := h.Authenticator().Authenticate(r)
	if refused != nil {
		t.Fatal(refused)
	}
	said := make(chan string, 1)
	go func() {
		req := modernRequest("outer", `{}`, `{}`)
		req.Caller.Identity, req.Caller.Subject = identity, identity.Subject
		said <- callWithin(t.Context(), h, req)
	}()
	approver := newApprover(t, h)
	a := approver.waitForPending(1)[0]
	load(t, h, key("ben")+inner+outer)
	if _, err := approver.approvals.Decide(t.Context(), a.ID, true, approval.Decision{By: "os:op", At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if got := <-said; !strings.Contains(got, "configuration was changed") || count() != 0 {
		t.Errorf("%s, %d done", got, count())
	}
}
