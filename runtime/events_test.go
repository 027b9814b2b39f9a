package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"hatchel/adapters"
	"hatchel/hcl/eventkind"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/operator"
	"hatchel/runtime/observe/event"
)

// recordedEvents returns the data of all events that a caller sees, one a line.
func recordedEvents(t testing.TB, h *Host, c *mcp.Caller, operator bool, q event.Query) (kinds, data string) {
	t.Helper()
	l, err := h.Operator().Listen(t.Context(), c, operator, q)
	if err != nil {
		return "error", err.Error()
	}
	defer l.Close()
	var names, lines []string
	for {
		events, err := l.Next(t.Context())
		if err == io.EOF {
			return strings.Join(names, " "), strings.Join(lines, "\n")
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			names, lines = append(names, e.Kind.String()), append(lines, string(e.Data))
			checkMembers(t, &e)
		}
	}
}

// checkMembers compares the data of an event with the table.
func checkMembers(t testing.TB, e *event.Event) {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal(e.Data, &members); err != nil {
		t.Fatalf("%s: %v", e.Data, err)
	}
	declared := e.Kind.Declare()
	for name := range members {
		if _, ok := declared.Find(name); !ok {
			t.Errorf("%s has the member %s, which is not declared", e.Kind, name)
		}
	}
	for _, f := range declared.Fields {
		if _, ok := members[f.Name]; !ok && !f.Optional {
			t.Errorf("%s has no member %s", e.Data, f.Name)
		}
	}
}

func recordAll(t testing.TB, h *Host) {
	t.Helper()
	t.Cleanup(h.Operator().HoldEvents())
}

func TestWhoSeesWhichEvents(t *testing.T) {
	h := newHost(t, "events { allow = \"'ops' in caller.groups || 'a' in caller.groups && tool.name == 'a'\" }\n"+
		strings.Replace(divided, "allow       = \"'b' in caller.groups\"", "", 1))
	recordAll(t, h)
	ctx, ada := t.Context(), callerOf("ada")
	for _, name := range []string{"a", "b"} {
		requestTool(ctx, h, &mcp.CallRequest{Name: name, Caller: ada})
	}
	requestTool(ctx, h, &mcp.CallRequest{Name: "b", Caller: callerOf("ben")})
	h.GetPrompt(ctx, &mcp.CallRequest{Name: "p", Caller: ada})
	h.Telemetry().SessionChanged("s", nil, "begun")
	const calls = "tool_call tool_result "
	for _, c := range []struct {
		caller   *mcp.Caller
		operator bool
		own      bool
		want     string
	}{
		{callerOf("eva", "ops"), false, false, calls + calls + calls + "prompt_get session"},
		{callerOf("eva", "ops"), false, true, ""},
		{callerOf("eva", "a"), false, false, calls[:len(calls)-1]},
		{ada, false, true, calls + calls + "prompt_get"},
		{ada, false, false, "error"},
		{callerOf("ada", "a"), false, false, calls + calls + "prompt_get"},
		{callerOf("eva", "admin"), true, false, "error"},
		{&mcp.Caller{}, false, false, "error"},
		{&mcp.Caller{}, false, true, "error"},
	} {
		kinds, why := recordedEvents(t, h, c.caller, c.operator, event.Query{Own: c.own})
		if kinds != c.want {
			t.Errorf("%s of %v, operator %v, own %v: got %q, want %q: %s", c.caller.Subject, c.caller.Identity,
				c.operator, c.own, kinds, c.want, why)
		}
	}
	load(t, h, "events {}\n"+tool("a", `text = "a"`))
	if kinds, _ := recordedEvents(t, h, callerOf("eva"), true, event.Query{Kinds: eventkind.Of(eventkind.ToolCall)}); kinds !=
		"tool_call tool_call tool_call" {
		t.Errorf("an operator sees %q", kinds)
	}
	if kinds, why := recordedEvents(t, h, callerOf("eva", "ops"), false, event.Query{}); kinds != "error" ||
		!strings.Contains(why, "own=true") {
		t.Errorf("somebody else sees %q %s", kinds, why)
	}
}

func TestWithoutAnEventsBlockNothingIsPublished(t *testing.T) {
	h := newHost(t, tool("a", `text = "a"`))
	if h.Operator().HasEvents() || h.Current().Env.Events.Wants(eventkind.ToolCall) {
		t.Error("somebody wants events")
	}
	if _, err := h.Operator().Listen(t.Context(), callerOf("eva"), true, event.Query{}); !errors.Is(err, operator.ErrNoEvents) {
		t.Error(err)
	}
}

func TestAReloadDropsAListenerWhoMayNoLongerListen(t *testing.T) {
	src := tool("a", `text = "a"`)
	for what, after := range map[string]string{
		"the rule names somebody else": "events { allow = \"'dev' in caller.groups\" }\n",
		"there is no block":            "",
	} {
		h := newHost(t, "events { allow = \"'ops' in caller.groups\" }\n"+src)
		l, err := h.Operator().Listen(t.Context(), callerOf("eva", "ops"), false, event.Query{Follow: true})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			for {
				if _, err := l.Next(t.Context()); err != nil {
					ended <- err
					return
				}
			}
		}()
		load(t, h, after+src)
		select {
		case <-ended:
		case <-time.After(maxWait):
			t.Errorf("%s: the listener goes on", what)
		}
		l.Close()
	}
}

func TestSensitiveInputsAndSecretsAreInNoEvent(t *testing.T) {
	w := newFakeBackend()
	w.do = map[string]func(context.Context, *adapters.Call) (any, error){
		"fails": func(_ context.Context, c *adapters.Call) (any, error) {
			return nil, &adapters.Fault{Message: fmt.Sprint("rejected ", c.Frame.Input["pin"], ` s3cr3t/"tok"en`)}
		},
	}
	h := newHost(t, "events { results = \"redacted\" }\nsecret \"token\" { env = \"TOKEN\" }\n"+
		tool("says", "input \"pin\" {\ntype = string\nsensitive = true\n}\ninput \"n\" { type = optional(string) }\n"+
			"text = \"pin ${input.pin} ${base64encode(input.pin)} ${input.n}\"")+
		tool("fails", "input \"pin\" {\ntype = string\nsensitive = true\n}\nfake { do = \"fails\" }")+
		"prompt \"p\" {\ndescription = \"P.\"\nargument \"pin\" {\ntype = string\nsensitive = true\n}\n"+
		"message \"user\" { text = \"${input.pin}\" }\n}\n", w.use)
	recordAll(t, h)
	ctx := t.Context()
	const pin, token = "4929-pin-7731", `s3cr3t/"tok"en`
	for _, arguments := range []string{
		`{"pin":"` + pin + `","n":"` + strings.ReplaceAll(token, `"`, `\"`) + `"}`, `{"pin":["` + pin + `"]}`, `{"pin":"` + pin + `"}`,
		`{"pim":"` + pin + `"}`, `{"pin":"` + pin + `"`, `{"pin":"` + pin + `","n":7}`,
	} {
		caller := &mcp.Caller{Revision: mcp.Revision20260728, ClientInfo: []byte(`{"name":"s3cr3t/\"tok\"en","version":"1"}`)}
		for _, name := range []string{"says", "fails"} {
			requestTool(ctx, h, &mcp.CallRequest{Name: name, Arguments: []byte(arguments), Caller: caller})
		}
		h.GetPrompt(ctx, &mcp.CallRequest{Name: "p", Arguments: []byte(arguments), Caller: caller})
	}
	h.Operator().RecordRefusal(ctx, operator.Refusal{Status: http.StatusUnauthorized, Reason: "The key " + token + " is not known."})
	kinds, data := recordedEvents(t, h, callerOf("eva"), true, event.Query{})
	for _, hidden := range []string{pin, "s3cr3t", "NDkyOS1waW4tNzczM"} {
		if i := strings.Index(data, hidden); i >= 0 {
			t.Errorf("%s is in %s", hidden, data[max(0, i-300):min(len(data), i+100)])
		}
	}
	if strings.Count(kinds, "tool_result") != 12 || strings.Count(kinds, "prompt_get") != 6 ||
		!strings.Contains(data, `"output":"pin (secret) (secret)Q== (secret)"`) ||
		!strings.Contains(data, `"error":"rejected (secret) (secret)"`) {
		t.Errorf("%s\n%s", kinds, data)
	}
}

func TestArgumentsAndResultsAreInEventsOnlyAsTheBlockSays(t *testing.T) {
	const say = "input \"n\" { type = string }\ntext = \"it is ${input.n}\""
	for block, want := range map[string][2]bool{
		"events {}": {true, false}, "events { arguments = \"none\" }": {false, false},
		"events { results = \"redacted\" }": {true, true},
	} {
		h := newHost(t, block+"\n"+tool("t", say))
		release := h.Operator().HoldEvents()
		callAs(t, h, "ann", "t", `{"n":"seven"}`)
		_, data := recordedEvents(t, h, callerOf("eva"), true, event.Query{})
		got := [2]bool{strings.Contains(data, `"input":{"n":"seven"}`), strings.Contains(data, `"output":"it is seven"`)}
		if got != want {
			t.Errorf("%s: %s", block, data)
		}
		release()
	}
}

func TestAResultInAnEventIsCut(t *testing.T) {
	h := newHost(t, "events { results = \"redacted\" }\n"+tool("t", `text = join("", [for i in range(3000) : "éa"])`))
	recordAll(t, h)
	callAs(t, h, "ann", "t", `{}`)
	_, data := recordedEvents(t, h, callerOf("eva"), true, event.Query{Kinds: eventkind.Of(eventkind.ToolResult)})
	var e struct {
		Output string
		Size   int `json:"output_bytes"`
	}
	if err := json.Unmarshal([]byte(data), &e); err != nil || len(e.Output) > 4096 || len(e.Output) < 4090 || e.Size != 9000 {
		t.Errorf("%d bytes of %d, %v", len(e.Output), e.Size, err)
	}
}

func TestStepsArePublishedWithTheirOutcome(t *testing.T) {
	w := newFakeBackend()
	w.do = map[string]func(context.Context, *adapters.Call) (any, error){
		"rows": func(context.Context, *adapters.Call) (any, error) { return []any{1, 2, 3}, nil },
		"fails": func(context.Context, *adapters.Call) (any, error) {
			return nil, &adapters.Fault{Message: "no", NotSent: true}
		},
	}
	h := newHost(t, "events {}\nconnection \"db\" \"x\" {}\n"+tool("t", `
step "one" {
  fake "x" { do = "rows" }
}
step "two" {
  when = "false"
  fake { do = "rows" }
}
step "three" {
  each = [1, 2]
  fake { do = "rows" }
}
step "four" {
  fake { do = "fails" }
}
text = "x"`), w.use)
	recordAll(t, h)
	callAs(t, h, "ann", "t", `{}`)
	_, data := recordedEvents(t, h, callerOf("eva"), true, event.Query{Kinds: eventkind.Of(eventkind.ToolStep)})
	var got []string
	for line := range strings.Lines(data) {
		var e struct {
			Step, Kind, Connection, Outcome string
			Rows                            int
		}
		json.Unmarshal([]byte(line), &e)
		got = append(got, fmt.Sprint(e.Step, e.Kind, e.Connection, e.Outcome, e.Rows))
	}
	if want := "onefakedb.xok3 twofakeskipped0 threefakeok2 fourfakenot_sent0"; strings.Join(got, " ") != want {
		t.Errorf("got %q\nwant %q", strings.Join(got, " "), want)
	}
}

func TestApprovalsArePublishedOnce(t *testing.T) {
	w := newFakeBackend()
	h := newHost(t, "events {}\n"+tool("refund", refunding), w.use)
	recordAll(t, h)
	one := startCall(t, h, "ann", "refund", `{"amount":500,"card":"4929-card"}`)
	other := startCall(t, h, "ann", "refund", `{"amount":500,"card":"4929-card"}`)
	d := newApprover(t, h)
	d.decide(d.waitForPending(1)[0], true, "ticket 88")
	select { // both wait for the same approval: one uses it, the other asks again
	case <-one:
	case <-other:
		other = one
	}
	waitFor(t, func() bool {
		kinds, _ := recordedEvents(t, h, callerOf("eva"), true, event.Query{})
		return strings.Contains(kinds, "approval.decided")
	})
	kinds, data := recordedEvents(t, h, callerOf("eva"), true, event.Query{})
	if strings.Count(kinds, "approval.decided") != 1 || !strings.Contains(data, "ticket 88") || strings.Contains(data, "4929") {
		t.Errorf("%s\n%s", kinds, data)
	}
	if own, _ := recordedEvents(t, h, &mcp.Caller{Subject: "ann"}, false, event.Query{Own: true}); !strings.Contains(own,
		"approval.requested") || !strings.Contains(own, "approval.decided") {
		t.Errorf("the caller sees %q", own)
	}
	for _, a := range d.waitForPending(0) {
		d.decide(a, false, "no")
	}
	h.StopWaiting()
	<-other
}

func TestTasksReloadsAndConnectionsArePublished(t *testing.T) {
	w := newFakeBackend()
	h := newHost(t, "events {}\nconnection \"db\" \"x\" {}\n"+tool("t", task1h+`fake "x" { do = "count" }`), w.use)
	recordAll(t, h)
	mustCall(t, h, modernRequest("t", `{}`, following))
	waitFor(t, func() bool { // the event follows the status that a client can read
		kinds, _ := recordedEvents(t, h, callerOf("eva"), true, event.Query{Kinds: eventkind.Of(eventkind.TaskFinished)})
		return kinds == "task.finished"
	})
	load(t, h, "events {}\nconnection \"db\" \"x\" {}\n"+tool("u", `fake "x" { do = "count" }`))
	h.Load(t.Context(), fileSystem("tool {"))
	w.ping = func() error { return errors.New("no answer") }
	h.Current().Probes.Health(t.Context())
	w.ping = func() error { return nil }
	h.Current().Probes.Health(t.Context())
	h.Current().Probes.Health(t.Context())
	kinds, data := recordedEvents(t, h, callerOf("eva"), true, event.Query{
		Kinds: eventkind.Of(eventkind.TaskFinished, eventkind.Reload, eventkind.Connection)})
	if want := "task.finished reload reload connection connection"; kinds != want ||
		!strings.Contains(data, `"result":"failed"`) || !strings.Contains(data, `"state":"up"`) {
		t.Errorf("got %s\n%s", kinds, data)
	}
}

func TestRefusalsArePublishedOnceASecond(t *testing.T) {
	h := newHost(t, "events {}\n"+tool("t", "input \"n\" { type = integer }\ntext = \"x\"")+
		tool("u", "limit { rate = \"1/h\" }\ntext = \"x\""))
	recordAll(t, h)
	for range 50 {
		callAs(t, h, "ann", "t", `{"n":"x"}`)
		callAs(t, h, "ann", "u", `{}`)
	}
	kinds, _ := recordedEvents(t, h, callerOf("eva"), true, event.Query{
		Kinds: eventkind.Of(eventkind.Refused, eventkind.Limit)})
	if kinds != "refused limit" {
		t.Errorf("got %q", kinds)
	}
	waitFor(t, func() bool {
		_, data := recordedEvents(t, h, callerOf("eva"), true, event.Query{
			Kinds: eventkind.Of(eventkind.Refused, eventkind.Limit)})
		return strings.Contains(data, `"count":49`) && strings.Contains(data, `"count":48`)
	})
}
