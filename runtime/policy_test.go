package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"hatchel/adapters"
	"hatchel/runtime/call"
	"hatchel/runtime/edge/mcp"
)

// callerOf returns a caller with this subject and these groups.
func callerOf(subject string, groups ...string) *mcp.Caller {
	return &mcp.Caller{Revision: mcp.Revision20260728, Subject: subject, Identity: &mcp.Identity{Subject: subject, Key: "test", Groups: groups}}
}

// paying declares a tool that the policies of the tests are about, and another one.
const paying = `
tool "pay" {
  description = "Pays."
  input "amount" { type = number }
  input "note" { type = optional(string) }
  text = "paid ${input.amount}"
}
tool "look" {
  description = "Looks."
  text        = "seen"
}
`

// A decision: what is declared, who calls pay with which amount, what is decided by which rule, and what the caller reads.
var decisions = []struct {
	claim, declared string
	caller          *mcp.Caller
	amount          any
	verdict, rule   string
	told            string
}{
	{"without a rule everybody may call", ``, callerOf("ada"), 1, "allowed", "default", "paid 1"},
	{"a policy allows those whom it names", `policy "finance" { allow = "'finance' in caller.groups" }`, callerOf("ada", "finance"), 1, "allowed", "policy.finance.allow", "paid 1"},
	{"a policy that allows some denies others", `policy "finance" { allow = "'finance' in caller.groups" }`, callerOf("ada", "sales"), 1, "denied", "policy.finance.allow", "Unknown tool: pay"},
	{"nobody is in no group", `policy "finance" { allow = "'finance' in caller.groups" }`, &mcp.Caller{}, 1, "denied", "policy.finance.allow", "Unknown tool: pay"},
	{"the message is the policy's", `policy "finance" {
		allow   = "'finance' in caller.groups || (input.amount ?? 0) < 5"
		message = "Ask finance about ${input.amount}, ${caller.subject}: ${tool.name}."
	}`, callerOf("ada"), 7, "denied", "policy.finance.allow", "Ask finance about 7, ada: pay."},
	{"a deny goes before an allow", `policy "a" { allow = "true" }
	policy "b" { deny = "(input.amount ?? 0) > 10" }`, callerOf("ada"), 11, "denied", "policy.b.deny", "You are not allowed to make this call."},
	{"a deny that does not hold decides nothing", `policy "a" { allow = "true" }
	policy "b" { deny = "(input.amount ?? 0) > 10" }`, callerOf("ada"), 10, "allowed", "policy.a.allow", "paid 10"},
	{"one of the policies that allow is enough", `policy "a" { allow = "'a' in caller.groups" }
	policy "b" { allow = "'b' in caller.groups" }`, callerOf("ada", "b"), 1, "allowed", "policy.b.allow", "paid 1"},
	{"when no policy allows all are named and heard", `policy "a" {
		allow   = "'a' in caller.groups && (input.amount ?? 0) > 0"
		message = "Ask a."
	}
	policy "b" {
		allow   = "'b' in caller.groups && (input.amount ?? 0) > 0"
		message = "Ask b."
	}
	policy "c" {
		allow   = "'c' in caller.groups && (input.amount ?? 0) > 0"
		message = "Ask a."
	}`, callerOf("ada"), 1, "denied", "policy.a.allow, policy.b.allow, policy.c.allow", "Ask a.\nAsk b."},
	{"a policy that only denies allows everybody else", `policy "a" { deny = "caller.subject == 'eve'" }`, callerOf("ada"), 1, "allowed", "default", "paid 1"},
	{"a policy about other tools decides nothing", `policy "a" {
		tools = ["look"]
		deny  = "true"
	}`, callerOf("ada"), 1, "allowed", "default", "paid 1"},
	{"patterns name tools", `policy "a" {
		tools = ["p*"]
		deny  = "true"
	}`, callerOf("ada"), 1, "denied", "policy.a.deny", "Unknown tool: pay"},
	{"rules read what is said of the tool", `policy "a" { deny = "tool.kind == 'tool' && tool.name == 'pay' && tool.read_only && !tool.destructive && tool.idempotent && !tool.open_world && tool.title == ''" }`,
		callerOf("ada"), 1, "denied", "policy.a.deny", "Unknown tool: pay"},
	{"by default nobody may call", `server { default = "deny" }`, callerOf("ada"), 1, "denied", "default", "Unknown tool: pay"},
	{"what is denied by default is allowed by a policy", `server { default = "deny" }
	policy "a" { allow = "caller.subject == 'ada'" }`, callerOf("ada"), 1, "allowed", "policy.a.allow", "paid 1"},
	{"a policy that only denies allows nothing that is denied by default", `server { default = "deny" }
	policy "a" { deny = "caller.subject == 'eve'" }`, callerOf("ada"), 1, "denied", "default", "Unknown tool: pay"},
	{"an input that was left out is null", `policy "a" {
		tools = ["pay"]
		deny  = "input.note == null"
	}`, callerOf("ada"), 1, "denied", "policy.a.deny", "You are not allowed to make this call."},
	{"a deny that cannot be computed denies", `policy "a" { deny = "caller.claims.level > (input.amount ?? 0)" }`, callerOf("ada"), 1, "denied", "policy.a.deny",
		"This call was not made, because the server could not evaluate a rule about who may call. This is a problem on the server, not of the arguments."},
	{"an allow that cannot be computed denies", `policy "a" { allow = "caller.claims.level > (input.amount ?? 0)" }
	policy "b" { allow = "true" }`, callerOf("ada"), 1, "denied", "policy.a.allow",
		"This call was not made, because the server could not evaluate a rule about who may call. This is a problem on the server, not of the arguments."},
	{"a rule that spends what it may denies", `policy "a" { deny = "(input.amount ?? 0) > 0 && len(reduce(1..2000, #acc + #acc, 'xx')) > 0" }`, callerOf("ada"), 1, "denied", "policy.a.deny",
		"This call was not made, because the server could not evaluate a rule about who may call. This is a problem on the server, not of the arguments."},
	{"a deny that can never be computed conceals", `policy "a" { deny = "caller.claims.level > 3" }`, callerOf("ada"), 1, "denied", "policy.a.deny", "Unknown tool: pay"},
	{"an allow that can never be computed conceals", `policy "a" { allow = "caller.claims.level > 3" }
	policy "b" { allow = "true" }`, callerOf("ada"), 1, "denied", "policy.a.allow", "Unknown tool: pay"},
	{"a rule that spends what it may conceals", `policy "a" { deny = "len(reduce(1..2000, #acc + #acc, 'xx')) > 0" }`, callerOf("ada"), 1, "denied", "policy.a.deny", "Unknown tool: pay"},
	{"an allow that can never be computed does not conceal what one before it may allow", `policy "a" { allow = "(input.amount ?? 0) > 0" }
	policy "b" { allow = "caller.claims.level > 3" }`, callerOf("ada"), 1, "allowed", "policy.a.allow", "paid 1"},
	{"who may never call is told of nothing, whatever the message", `policy "a" {
		deny    = "caller.subject == 'ada'"
		message = "Not you."
	}`, callerOf("ada"), 1, "denied", "policy.a.deny", "Unknown tool: pay"},
	{"who may never call is not told what is wrong with the arguments", `policy "a" { allow = "'finance' in caller.groups" }`, callerOf("ada"), "much", "denied", "policy.a.allow", "Unknown tool: pay"},
	{"who may call is told what is wrong with the arguments", `policy "a" { deny = "(input.amount ?? 0) > 10" }`, callerOf("ada"), "much", "", "",
		"The arguments are not valid, and nothing was done:\n- amount: must be a number, got the string \"much\""},
}

func TestPoliciesDecide(t *testing.T) {
	for _, c := range decisions {
		t.Run(strings.ReplaceAll(c.claim, " ", "_"), func(t *testing.T) {
			h := newHost(t, paying+c.declared)
			arguments := fmt.Appendf(nil, `{"amount": %v}`, c.amount)
			if text, ok := c.amount.(string); ok {
				arguments = fmt.Appendf(nil, `{"amount": %q}`, text)
			}
			req := &mcp.CallRequest{Name: "pay", Arguments: arguments, Caller: c.caller}
			e, err := h.Current().Explain(t.Context(), "tool", req)
			if err != nil || e.Verdict != c.verdict || e.Rule != c.rule {
				t.Errorf("explained as %q by %q, want %q by %q (%v)", e.Verdict, e.Rule, c.verdict, c.rule, err)
			}
			got, well := callText(t, h, req)
			if got != c.told || well != (c.verdict == "allowed") {
				t.Errorf("told %q, want %q", got, c.told)
			}
			if want := e.Message + e.Invalid; c.verdict != "allowed" && want != c.told {
				t.Errorf("explained as %q, told %q", want, c.told)
			}
		})
	}
}

// callText returns the text of the result of a call, and whether it succeeded.
func callText(t testing.TB, h *Host, req *mcp.CallRequest) (text string, well bool) {
	t.Helper()
	out, err := requestTool(t.Context(), h, req)
	var e *mcp.Error
	switch {
	case errors.As(err, &e):
		return e.Message, false
	case err != nil:
		t.Fatal(err)
	}
	return outcomeText(out), !out.IsError
}

// outcomeText returns the text of an outcome.
func outcomeText(out mcp.Outcome) string {
	var r callReply
	if err := json.Unmarshal(out.AppendResult(nil, mcp.Revision20260728), &r); err != nil {
		return err.Error()
	}
	return r.text()
}

func TestARuleThatCannotBeComputedHidesAndIsLoggedOnce(t *testing.T) {
	w := newFakeBackend()
	var log bytes.Buffer
	h := newHost(t, paying+`policy "broken" {
		tools = ["pay"]
		deny  = "caller.claims.level > 3"
	}`, w.use, logTo(&log, slog.LevelInfo))
	for range 3 {
		if got := visibleTools(h, callerOf("ada")); got != "look |  |  | " {
			t.Errorf("seen %s", got)
		}
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "rule=policy.broken.deny") || !strings.Contains(got, "error=") {
		t.Errorf("logged %q", got)
	}
	log.Reset()
	if got, _ := callText(t, h, &mcp.CallRequest{Name: "pay", Arguments: []byte(`{"amount":1}`), Caller: callerOf("ada")}); got != "Unknown tool: pay" {
		t.Error(got)
	}
	if got := log.String(); !strings.Contains(got, "level=WARN") || !strings.Contains(got, "decision=denied") || !strings.Contains(got, "rule=policy.broken.deny") || !strings.Contains(got, "correlation_id=") {
		t.Errorf("logged %q", got)
	}
}

func TestEveryDecisionIsLoggedWithItsRule(t *testing.T) {
	w := newFakeBackend()
	var log bytes.Buffer
	h := newHost(t, divided, w.use, logTo(&log, slog.LevelDebug))
	for _, c := range []struct {
		caller *mcp.Caller
		want   string
	}{{callerOf("ada", "b"), "decision=allowed rule=tool.b.allow"}, {callerOf("eve"), "decision=denied rule=tool.b.allow"}} {
		log.Reset()
		callText(t, h, &mcp.CallRequest{Name: "b", Caller: c.caller})
		if !strings.Contains(log.String(), c.want) {
			t.Errorf("want %s, logged %q", c.want, log.String())
		}
	}
}

func TestWhatMayNotBeCalledIsNotReadWrittenCompletedOrFollowed(t *testing.T) {
	h := newHost(t, divided+`
prompt "c" {
  description = "C."
  argument "size" { type = enum("small", "large") }
  argument "amount" { type = integer }
  message "user" { text = "${input.size} ${input.amount}" }
}
policy "completed" {
  prompts = ["c"]
  allow   = "'b' in caller.groups"
  deny    = "input.amount > 10"
}`)
	for _, c := range []struct {
		caller *mcp.Caller
		may    bool
	}{{callerOf("ada", "b"), true}, {callerOf("eve"), false}} {
		check := func(what string, err error) {
			var e *mcp.Error
			if c.may != (err == nil) || !c.may && (!errors.As(err, &e) || !slices.Contains([]string{"Unknown prompt: q", "Resource not found: f://x", "Resource not found: doc://s"}, e.Message)) {
				t.Errorf("%s: %s is told %v", what, c.caller.Subject, err)
			}
		}
		_, err := h.GetPrompt(t.Context(), &mcp.CallRequest{Name: "q", Caller: c.caller})
		check("a prompt", err)
		_, err = h.ReadResource(t.Context(), &mcp.CallRequest{Name: "f://x", Caller: c.caller})
		check("a family", err)
		_, err = h.ReadResource(t.Context(), &mcp.CallRequest{Name: "doc://s", Caller: c.caller})
		check("a document", err)
		check("following", h.SubscribeResource(t.Context(), c.caller, "doc://s"))
		for filled, want := range map[string]string{"": "small large", `{"amount":"3"}`: "small large", `{"amount":"30"}`: ""} {
			if !c.may {
				want = "error: Unknown prompt: c (-32602)"
			}
			req := &mcp.CompleteRequest{Kind: "prompt", Name: "c", Argument: "size", Context: []byte(filled), Caller: c.caller}
			if got := complete(t, h, req); got != want {
				t.Errorf("with %q %s completes %q", filled, c.caller.Subject, got)
			}
		}
	}
}

func TestWhatAToolCallsIsDecidedToo(t *testing.T) {
	w := newFakeBackend()
	done := 0
	w.do["act"] = func(context.Context, *adapters.Call) (any, error) { done++; return "done", nil }
	h := newHost(t, `
tool "inner" {
  description = "Inner."
  fake { do = "act" }
}
tool "outer" {
  description = "Outer."
  step "inner" {
    tool "inner" {}
  }
  text = "${step.inner.text}"
}
policy "inner" {
  tools   = ["inner"]
  allow   = "'a' in caller.groups"
  message = "inner is not for you"
}`, w.use)
	for _, c := range []struct {
		caller *mcp.Caller
		want   string
		done   int
	}{{callerOf("ada", "a"), "done", 1}, {callerOf("eve"), "inner is not for you", 0}} {
		done = 0
		out, err := requestTool(t.Context(), h, &mcp.CallRequest{Name: "outer", Caller: c.caller})
		if err != nil || outcomeText(out) != c.want || done != c.done {
			t.Errorf("%s: told %q, %v, and it was done %d times", c.caller.Subject, outcomeText(out), err, done)
		}
	}
}

func TestAReportNamesPolicies(t *testing.T) {
	h := newHost(t, divided)
	load(t, h, divided+`policy "more" { deny = "false" }`)
	if got := h.Status().Last.Added; !slices.Equal(got, []string{"policy more"}) {
		t.Errorf("added %q", got)
	}
	load(t, h, strings.Replace(divided, `resources = ["s", "f"]`, `resources = ["s"]`, 1))
	if last := h.Status().Last; !slices.Equal(last.Changed, []string{"policy documents"}) || !slices.Equal(last.Removed, []string{"policy more"}) {
		t.Errorf("changed %q, removed %q", last.Changed, last.Removed)
	}
}

func TestSecretsStayOutOfWhatTheDeniedAreTold(t *testing.T) {
	h := newHost(t, neighbours+`
tool "x" {
  description = "X."
  input "a" { type = string }
  text = "${input.a}"
}
policy "p" {
  tools   = ["x"]
  deny    = "input.a != ''"
  message = "not ${input.a}"
}`)
	secret, _ := getenv("TOKEN")
	arguments := fmt.Appendf(nil, `{"a": %q}`, secret)
	out, err := requestTool(t.Context(), h, &mcp.CallRequest{Name: "x", Arguments: arguments, Caller: callerOf("ada")})
	if err != nil || outcomeText(out) != "not (secret)" {
		t.Errorf("told %q, %v", outcomeText(out), err)
	}
}

func TestExplainSaysWhatEveryRuleSays(t *testing.T) {
	h := newHost(t, paying+`
policy "finance" {
  tools = ["pay"]
  allow = "'finance' in caller.groups"
  deny  = "input.amount > 10"
}`)
	explained := func(arguments string) call.Explanation {
		e, err := h.Current().Explain(t.Context(), "tool", &mcp.CallRequest{Name: "pay", Arguments: []byte(arguments), Caller: callerOf("ada", "finance")})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	says := func(e call.Explanation) (all string) {
		for _, r := range e.Rules {
			all += r.Rule + "=" + r.Says + " "
		}
		return all
	}
	if e := explained(`{"amount": 5}`); e.Verdict != "allowed" || !e.Listed || says(e) != "policy.finance.deny=false policy.finance.allow=true " {
		t.Errorf("%+v", e)
	}
	if e := explained(`{"amount": 50}`); e.Verdict != "denied" || !e.Listed || says(e) != "policy.finance.deny=true policy.finance.allow=true " {
		t.Errorf("%+v", e)
	}
	if e := explained(`{}`); e.Verdict != "" || !e.Listed || says(e) != "policy.finance.deny= policy.finance.allow=true " || !strings.Contains(e.Invalid, "amount: is required") {
		t.Errorf("%+v", e)
	}
	for kind, name := range map[string]string{"tool": "nothing", "prompt": "nothing", "resource": "doc://nothing"} {
		if _, err := h.Current().Explain(t.Context(), kind, &mcp.CallRequest{Name: name, Caller: callerOf("ada")}); err == nil {
			t.Errorf("there is no %s, and it is explained", kind)
		}
	}
}
