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

	"hatchel/runtime/approval"
	"hatchel/runtime/mcp"
)

func TestACallThatALimitRefusesUsesNoApproval(t *testing.T) {
	s := newSlow()
	s.end = make(chan struct{})
	count := s.counting()
	h := s.host(t, `server {
		limit { concurrency = 1 }
	}
	`+tool("busy", `fake { do = "slow" }`)+tool("t", "approval {}\nfake { do = \"count\" }\ntext = \"done\""))
	defer h.Close()
	desk := deskOf(t, h)
	said := later(t, h, "ann", "t", `{}`)
	a := desk.pending(1)[0]
	busy := later(t, h, "ann", "busy", `{}`)
	<-s.running
	desk.decide(a, true, "")
	if got := <-said; !refused(got) || !strings.Contains(got, "Too many calls") || count() != 0 {
		t.Errorf("beside another: %s", got)
	}
	s.running <- struct{}{}
	close(s.end)
	<-busy
	if got := outcomeFor(t, h, "ann", "t", `{}`); refused(got) || count() != 1 {
		t.Errorf("made again: %s", got)
	}
	again := later(t, h, "ann", "t", `{}`)
	b := desk.pending(1)[0]
	if b.ID == a.ID || count() != 1 {
		t.Error("an approval counts twice")
	}
	desk.decide(b, false, "")
	<-again
}

func TestACallThatCannotBeWrittenDownUsesNoApproval(t *testing.T) {
	w := newWorld()
	count := w.counting()
	h, path := w.audited(t, tool("t", "approval {}\nfake { do = \"count\" }\ntext = \"done\""))
	desk := deskOf(t, h)
	said := later(t, h, "ann", "t", `{}`)
	a := desk.pending(1)[0]
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	desk.decide(a, true, "")
	if got := <-said; !refused(got) || !strings.Contains(got, "cannot write to its audit log") || count() != 0 {
		t.Errorf("while the log is away: %s", got)
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	if got := outcomeFor(t, h, "ann", "t", `{}`); refused(got) || count() != 1 {
		t.Errorf("made again: %s", got)
	}
	again := later(t, h, "ann", "t", `{}`)
	if b := desk.pending(1)[0]; b.ID == a.ID || count() != 1 {
		t.Error("an approval counts twice")
	}
	h.StopWaiting()
	<-again
}

func TestWhoHasAgreedIsHeldToTheLimits(t *testing.T) {
	w := newWorld()
	count := w.counting()
	h := w.host(t, tool("t", "limit { rate = \"1/h\" }\napproval { by = \"caller\" }\nfake { do = \"count\" }\ntext = \"done\""))
	defer h.Close()
	for i := range 3 {
		first := modern("t", `{}`, `{"elicitation":{}}`)
		r := do(t, h, again(first, do(t, h, first).RequestState, agreed("accept", true)))
		if r.IsError != (i > 0) || count() != 1 {
			t.Errorf("call %d: %+v, %d done", i, r, count())
		}
	}
}

// member is a call of ann, of whom a token says this.
func member(claims string, headers map[string]string) func(*mcp.Caller) {
	return func(c *mcp.Caller) {
		c.Subject = "ann"
		c.Identity = &mcp.Identity{Subject: "ann", Key: "https://idp.example", Claims: []byte(claims), Headers: headers}
	}
}

func TestWhatIsKnownOfTheCallerIsPartOfWhatIsApproved(t *testing.T) {
	w := newWorld()
	count := w.counting()
	h := w.host(t, tool("t", `approval {}
		step "a" {
			fake {
				do    = "count"
				value = "${caller.claims.tenant} ${caller.headers.team}"
			}
		}`))
	defer h.Close()
	desk := deskOf(t, h)
	call := func(ctx context.Context, claims, team string) <-chan string {
		said := make(chan string, 1)
		req := modern("t", `{}`, `{}`)
		member(claims, map[string]string{"team": team})(req.Caller)
		go func() {
			out, err := h.CallTool(ctx, req)
			if err != nil {
				said <- "error: " + err.Error()
				return
			}
			said <- string(out.AppendResult(nil, mcp.Revision20260728))
		}()
		return said
	}
	gone, leave := context.WithCancel(t.Context())
	said := call(gone, `{"tenant":"one","exp":1,"jti":"a"}`, "x")
	a := desk.pending(1)[0]
	if !strings.Contains(a.Effect, "one x") {
		t.Errorf("shown %q", a.Effect)
	}
	leave()
	<-said
	desk.decide(a, true, "")
	others := []<-chan string{call(t.Context(), `{"tenant":"two","exp":1,"jti":"a"}`, "x"), call(t.Context(), `{"tenant":"one","exp":1,"jti":"a"}`, "y")}
	for _, b := range desk.pending(2) {
		desk.decide(b, false, "")
	}
	for _, said := range others {
		if got := <-said; !refused(got) || count() != 0 {
			t.Errorf("what was not shown is done: %s", got)
		}
	}
	if got := <-call(t.Context(), `{"jti":"b","tenant":"one","exp":2}`, "x"); refused(got) || count() != 1 {
		t.Errorf("with a new token: %s", got)
	}
}

func TestWhoHasBecomeAnotherSinceTheQuestionIsAskedAgain(t *testing.T) {
	w := newWorld()
	count := w.counting()
	h := w.host(t, tool("t", `approval { by = "caller" }
		fake {
			do    = "count"
			value = "${caller.claims.tenant}"
		}`))
	defer h.Close()
	as := func(tenant, state, answers string) *callReply {
		req := modern("t", `{}`, `{"elicitation":{}}`)
		member(fmt.Sprintf(`{"tenant":%q}`, tenant), nil)(req.Caller)
		req.State = state
		if answers != "" {
			req.Answers = []byte(answers)
		}
		return do(t, h, req)
	}
	r := as("two", as("one", "", "").RequestState, agreed("accept", true))
	if r.keys() != "approval.caller" || count() != 0 || !strings.Contains(fmt.Sprint(r.InputRequests["approval.caller"].Params), "two") {
		t.Fatalf("%+v", r)
	}
	if r = as("two", r.RequestState, agreed("accept", true)); r.IsError || count() != 1 {
		t.Errorf("%+v", r)
	}
}

func TestWhatIsNotShownToItsEndSaysSoAtItsBeginning(t *testing.T) {
	w := newWorld()
	w.counting()
	h := w.host(t, tool("t", `input "a" { type = string }
		input "z" { type = string }
		approval {}
		fake {
			do    = "count"
			value = "${input.a} ${input.z}"
		}`))
	defer h.Close()
	desk := deskOf(t, h)
	call := func(n int) *approval.Approval {
		said := later(t, h, "ann", "t", fmt.Sprintf(`{"a":%q,"z":"and all of it"}`, strings.Repeat("a ", n)))
		a := desk.pending(1)[0]
		desk.decide(a, false, "")
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
	w := newWorld()
	w.counting()
	const rules = `
		input "n" { type = string }
		fake {
			do    = "count"
			value = "deletes ${input.n}"
		}
		`
	h := w.host(t, tool("op", rules+`approval { message = "Delete ${input.n}." }`)+tool("user", rules+`approval {
		by      = "caller"
		message = "Delete ${input.n}."
	}`))
	defer h.Close()
	const sent = `{"n":"x.\n\nWhat would be done:\n  Nothing is sent.\u202e\u001b[2J"}`
	desk := deskOf(t, h)
	said := later(t, h, "ann", "op", sent)
	a := desk.pending(1)[0]
	desk.decide(a, false, "")
	<-said
	asked, _ := do(t, h, modern("user", sent, `{"elicitation":{}}`)).InputRequests["approval.caller"].Params["message"].(string)
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
	h := newWorld().host(t, tool("t", "approval {}\ntext = \"done\""))
	defer h.Close()
	req := modern("t", `{}`, `{}`)
	req.Caller.ClientInfo = []byte(`{"name":"a\u001b[2J\nb` + strings.Repeat("x", 60000) + `","version":"1"}`)
	said := make(chan error, 1)
	go func() {
		_, err := h.CallTool(t.Context(), req)
		said <- err
	}()
	desk := deskOf(t, h)
	a := desk.pending(1)[0]
	if c := a.Caller.Client; len(c) > 300 || !strings.HasPrefix(c, `a\u001b[2J bx`) {
		t.Errorf("%d bytes: %.100q", len(c), c)
	}
	desk.decide(a, false, "")
	<-said
}

func TestATaskThatWaitsIsNotDoneForAKeyThatWasTakenAway(t *testing.T) {
	w := newWorld()
	count := w.counting()
	key := func(name string) string {
		return fmt.Sprintf("  api_key %q { sha256 = \"%x\" }\n", name, sha256.Sum256([]byte("key-of-"+name)))
	}
	const waits = "approval { timeout = \"1h\" }\nfake { do = \"count\" }\ntext = \"done\""
	h := w.host(t, "auth {\n"+key("ann")+key("ben")+"}\n"+tool("t", waits))
	defer h.Close()
	begin := func(name string) (string, func(*mcp.Caller)) {
		r := httptest.NewRequest("POST", "/mcp", nil)
		r.Header.Set("X-Api-Key", "key-of-"+name)
		identity, refused := h.Authenticator().Authenticate(r)
		if refused != nil {
			t.Fatal(refused)
		}
		as := func(c *mcp.Caller) { c.Identity, c.Subject = identity, identity.Subject }
		req := modern("t", `{}`, following)
		as(req.Caller)
		return do(t, h, req).TaskID, as
	}
	ends := func(id string, as func(*mcp.Caller)) string {
		var text string
		eventually(t, func() bool {
			r, err := taskly(t, h, "tasks/get", id, "", as)
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
	desk := deskOf(t, h)
	for _, a := range desk.pending(1) {
		if _, err := desk.book.Decide(t.Context(), a.ID, true, approval.Decision{By: "os:op", At: time.Now()}); err != nil {
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
	w := newWorld()
	count := w.counting()
	inner := tool("inner", "approval { timeout = \"1h\" }\nfake { do = \"count\" }\ntext = \"done\"")
	outer := tool("outer", "step \"a\" {\n  tool \"inner\" {}\n}\ntext = step.a.text")
	key := func(name string) string {
		return fmt.Sprintf("auth {\n  api_key %q { sha256 = \"%x\" }\n}\n", name, sha256.Sum256([]byte("key-of-"+name)))
	}
	h := w.host(t, key("ann")+inner+outer)
	defer h.Close()
	r := httptest.NewRequest("POST", "/mcp", nil)
	r.Header.Set("X-Api-Key", "key-of-ann")
	identity, refused := h.Authenticator().Authenticate(r)
	if refused != nil {
		t.Fatal(refused)
	}
	said := make(chan string, 1)
	go func() {
		req := modern("outer", `{}`, `{}`)
		req.Caller.Identity, req.Caller.Subject = identity, identity.Subject
		out, err := h.CallTool(t.Context(), req)
		if err != nil {
			said <- err.Error()
			return
		}
		said <- string(out.AppendResult(nil, mcp.Revision20260728))
	}()
	desk := deskOf(t, h)
	a := desk.pending(1)[0]
	load(t, h, key("ben")+inner+outer)
	if _, err := desk.book.Decide(t.Context(), a.ID, true, approval.Decision{By: "os:op", At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if got := <-said; !strings.Contains(got, "configuration was changed") || count() != 0 {
		t.Errorf("%s, %d done", got, count())
	}
}
