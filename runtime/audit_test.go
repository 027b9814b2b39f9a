package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"hatchel/adapters"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/operator"
)

// newAuditedHost returns a Host with an audit log, and the path of that.
func newAuditedHost(t testing.TB, src string, options ...func(*HostOptions)) (*Host, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	audited := func(o *HostOptions) { o.Build.Dir, o.Build.AuditLogs = filepath.Dir(path), new(AuditLogs) }
	return newHost(t, "audit { file = \"audit.jsonl\" }\n"+src, append(options, audited)...), path
}

// readRecords returns the records of an audit log, whose chain must be intact.
func readRecords(t testing.TB, path string) (all []audit.Record) {
	t.Helper()
	if v, err := audit.Verify(t.Context(), audit.File(path)); err != nil || v.Broken != nil {
		t.Fatal(v, err)
	}
	err := audit.File(path).Read(t.Context(), func(l *audit.Line) bool {
		r, ok := l.Record()
		if ok && r.ID != "" {
			all = append(all, r)
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// summarizeRecords returns the main members of records, a line for each.
func summarizeRecords(all []audit.Record) string {
	var lines []string
	for _, r := range all {
		parts := []string{r.Event, r.Kind, r.Name, r.Outcome, strings.Join(r.Steps, "+"), strings.Join(r.Asked, "+")}
		lines = append(lines, strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " "))
	}
	return strings.Join(lines, "\n")
}

func TestWhatChangesSomethingIsWrittenDownBeforeItIsDone(t *testing.T) {
	w := newFakeBackend()
	var path, before string
	w.do["looks"] = func(context.Context, *adapters.Call) (any, error) {
		before = summarizeRecords(readRecords(t, path))
		return nil, nil
	}
	h, path2 := newAuditedHost(t, tool("t", `
input "n" { type = integer }
step "one" {
  fake { do = "looks" }
}
step "two" {
  when = "input.n > 5"
  fake { value = input.n }
}
step "three" {
  fake { value = [input.n, input.n] }
}
result = "step.three.value"`)+tool("reads", `text = "x"`), w.use)
	path = path2
	callTool(t, h, "t", `{"n":1}`)
	callTool(t, h, "reads", `{}`)
	if before != "intent tool t" {
		t.Errorf("before it began: %q", before)
	}
	all := readRecords(t, path)
	if got := summarizeRecords(all); got != "intent tool t\ncall tool t ok one+three\ncall tool reads ok" {
		t.Errorf("got\n%s", got)
	}
	if all[0].ID != all[1].ID || string(all[0].Arguments) != `{"n":1}` || all[1].Arguments != nil || all[1].Rows != 2 || all[1].Bytes == 0 {
		t.Errorf("%+v", all)
	}
	if all[2].ID == all[0].ID || string(all[2].Arguments) != `{}` || all[2].Revision != h.Current().Config.ID || all[2].Decision != "allowed" || all[2].Rule != "default" {
		t.Errorf("%+v", all[2])
	}
}

func TestNothingIsDoneThatCannotBeWrittenDown(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	h, path := newAuditedHost(t, tool("t", `fake { do = "count" }`)+tool("reads", `text = "x"`)+`
prompt "p" {
  description = "A prompt."
  message "user" { text = "x" }
}`, w.use)
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	if got := callTool(t, h, "t", `{}`); !strings.Contains(got, `"isError":true`) || !strings.Contains(got, "makes no call that it cannot write to its audit log") {
		t.Errorf("got %s", got)
	}
	if got := callTool(t, h, "reads", `{}`); !strings.Contains(got, `"isError":true`) || !strings.Contains(got, "The result is withheld") {
		t.Errorf("got %s", got)
	}
	_, err := h.GetPrompt(t.Context(), &mcp.CallRequest{Name: "p", Caller: &mcp.Caller{}})
	if e := new(mcp.Error); !errors.As(err, &e) || e.Code != mcp.CodeInternalError || !strings.Contains(e.Message, "withheld") {
		t.Errorf("got %v", err)
	}
	if r := readinessOf(t, h); r.Audit == nil || r.Audit.OK || r.Audit.Error == "" || !h.Operator().AuditUnavailable(t.Context()) {
		t.Errorf("%+v", r.Audit)
	}
	if n := count(); n != 0 {
		t.Errorf("it was done %d times", n)
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	if r := readinessOf(t, h); r.Audit == nil || !r.Audit.OK || h.Operator().AuditUnavailable(t.Context()) {
		t.Errorf("%+v", r.Audit)
	}
	if got := callTool(t, h, "t", `{}`); strings.Contains(got, "isError") || count() != 1 {
		t.Errorf("got %s", got)
	}
	readRecords(t, path)
}

func TestWhatNobodyMaySeeIsNotWrittenDown(t *testing.T) {
	w := newFakeBackend()
	w.do["tells"] = func(_ context.Context, c *adapters.Call) (any, error) {
		return nil, &adapters.Fault{Message: fmt.Sprintf("no card %v for s3cr3t/\"tok\"en", c.Frame.Input["card"])}
	}
	h, path := newAuditedHost(t, `secret "token" { env = "TOKEN" }
`+tool("pay", `
input "card" {
  type      = string
  sensitive = true
}
input "to" { type = object({ name = string }) }
fake { do = "tells" }`)+`
resource "doc" {
  uri_template = "doc://{key}"
  input "key" { sensitive = true }
  text = "x${input.key}"
}`, w.use)
	for _, arguments := range []string{
		`{"card":"4111-1111","to":{"name":"Ada"}}`,
		`{"card":"4111-1111","to":{"name":"s3cr3t/\"tok\"en"}}`,
		`{"crad":"4111-1111","to":{"name":"Ada","nip":"4111-3"}}`,
		`{"card":["4111-1111"],"to":"8642"}`,
	} {
		callTool(t, h, "pay", arguments)
	}
	if _, err := h.ReadResource(t.Context(), &mcp.CallRequest{Name: "doc://4111-2", Caller: &mcp.Caller{}}); err != nil {
		t.Error(err)
	}
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, never := range []string{"4111-", "s3cr3t"} { // which no hash holds, and no time
		if strings.Contains(string(src), never) {
			t.Errorf("%q is in\n%s", never, src)
		}
	}
	all := readRecords(t, path)
	if got, want := string(all[0].Arguments), `{"card":"(secret)","to":{"name":"Ada"}}`; got != want {
		t.Errorf("got %s", got)
	}
	if got := string(all[2].Arguments); !strings.Contains(got, `"name":"(secret)"`) {
		t.Errorf("got %s", got)
	}
	if got, want := string(all[4].Arguments), `{"crad":"(secret)","to":{"name":"Ada","nip":"(secret)"}}`; got != want {
		t.Errorf("got %s", got)
	}
	if last := all[len(all)-1]; last.URI != "" || string(last.Arguments) != `{"key":"(secret)"}` {
		t.Errorf("%+v", last)
	}
	if got := all[1].Message; got != "no card (secret) for (secret)" {
		t.Errorf("got %q", got)
	}
}

func TestLargeArgumentsAreWrittenDownByTheirBeginningAndTheirDigest(t *testing.T) {
	h, path := newAuditedHost(t, tool("t", "input \"text\" { type = string }\ntext = input.text"))
	callTool(t, h, "t", `{"text":"`+strings.Repeat("é", 20_000)+`"}`)
	r := readRecords(t, path)[0]
	if len(r.Arguments) > 9<<10 || !strings.HasPrefix(string(r.Arguments), `"{\"text\":\"éé`) || r.ArgumentsSize != 40_011 || len(r.ArgumentsDigest) != 64 {
		t.Errorf("%d bytes, %d, %q: %.40s", len(r.Arguments), r.ArgumentsSize, r.ArgumentsDigest, r.Arguments)
	}
}

func TestEveryOutcomeIsWrittenDown(t *testing.T) {
	needsOwnNames(t, "an executor refuses a call of an unknown tool, in its own name")
	w := newFakeBackend()
	w.addCounter()
	cancelled, cancel := context.WithCancel(t.Context())
	w.do["fails"] = func(context.Context, *adapters.Call) (any, error) {
		return nil, &adapters.Fault{Message: "no such order"}
	}
	w.do["breaks"] = func(context.Context, *adapters.Call) (any, error) { return nil, errors.New("10.0.0.7 is down") }
	w.do["panics"] = func(context.Context, *adapters.Call) (any, error) { panic("x") }
	w.do["cancels"] = func(ctx context.Context, _ *adapters.Call) (any, error) { cancel(); return nil, ctx.Err() }
	h, path := newAuditedHost(t, tool("fails", `fake { do = "fails" }`)+tool("breaks", `fake { do = "breaks" }`)+tool("panics", `fake { do = "panics" }`)+tool("cancels", `fake { do = "cancels" }`)+
		tool("denied", "allow = \"caller.subject == 'ada'\"\ntext = \"x\"")+
		tool("fault", "step \"s\" {\n  fault {\n    code    = 1001\n    message = \"No.\"\n  }\n}\ntext = \"x\"")+
		tool("asks", deleting)+
		`prompt "p" {
  description = "A prompt."
  argument "topic" { type = string }
  message "user" { text = input.topic }
}
resource "r" {
  uri  = "x://r"
  text = "x"
}`, w.use)
	call := func(ctx context.Context, name string, change ...func(*mcp.CallRequest)) {
		req := modernRequest(name, `{}`, `{"elicitation":{}}`)
		req.Caller.Subject, req.Caller.Remote = "ada", "10.1.2.3:4"
		for _, c := range change {
			c(req)
		}
		requestTool(ctx, h, req)
	}
	for _, name := range []string{"fails", "breaks", "panics", "fault", "asks", "gone"} {
		call(t.Context(), name)
	}
	call(t.Context(), "denied", func(r *mcp.CallRequest) { r.Caller.Subject = "eve" })
	call(cancelled, "cancels")
	h.GetPrompt(t.Context(), &mcp.CallRequest{Name: "p", Arguments: []byte(`{"topic":1}`), Caller: &mcp.Caller{}})
	h.GetPrompt(t.Context(), &mcp.CallRequest{Name: "p", Arguments: []byte(`{"topic":"x"}`), Caller: &mcp.Caller{}})
	h.ReadResource(t.Context(), &mcp.CallRequest{Name: "x://r", Caller: &mcp.Caller{}})
	h.ReadResource(t.Context(), &mcp.CallRequest{Name: "x://gone", Caller: &mcp.Caller{}})
	h.Operator().RecordRefusal(t.Context(), operator.Refusal{Status: 401, Reason: "The key is not known.", Path: "/mcp", Caller: &mcp.Caller{Remote: "10.9.9.9:1"}})
	all := readRecords(t, path)
	want := `intent tool fails
call tool fails failed fake
intent tool breaks
call tool breaks failed fake
intent tool panics
call tool panics failed fake
call tool fault error s
intent tool asks
call tool asks asked before+sure sure+name
call tool gone refused
call tool denied refused
intent tool cancels
call tool cancels cancelled fake
call prompt p refused
call prompt p ok
call resource r ok
call resource refused
request refused`
	if got := summarizeRecords(all); got != want {
		t.Errorf("got\n%s", got)
	}
	for _, r := range all {
		switch {
		case r.Name == "breaks" && r.Event == audit.EventCall && (r.ErrorID == "" || strings.Contains(r.Message, "10.0.0.7")),
			r.Name == "denied" && (r.Decision != "denied" || r.Rule != "tool.denied.allow" || r.Caller.Subject != "eve"),
			r.Name == "fails" && (r.Caller.Subject != "ada" || r.Caller.Remote != "10.1.2.3:4"),
			r.Event == audit.EventRequest && (r.Status != 401 || r.URI != "/mcp" || r.Message != "The key is not known." || r.Caller.Remote != "10.9.9.9:1"),
			r.Kind == "resource" && !strings.HasPrefix(r.URI, "x://"):
			t.Errorf("%+v", r)
		}
	}
}

func TestAReplayedAnswerIsWrittenDownAsOne(t *testing.T) {
	w := newFakeBackend()
	w.addCounter()
	w.do["fails"] = func(context.Context, *adapters.Call) (any, error) {
		return nil, &adapters.Fault{Message: "no such order"}
	}
	h, path := newAuditedHost(t, tool("reads", caching+`fake { do = "count" }`)+tool("pays", keyed+`fake { do = "count" }`)+tool("fails", keyed+`fake { do = "fails" }`), w.use)
	for _, name := range []string{"reads", "pays", "fails"} {
		for range 2 {
			arguments := `{}`
			if name != "reads" {
				arguments = `{"idempotency_key":"k"}`
			}
			callAs(t, h, "ann", name, arguments)
		}
	}
	want := []string{"call reads ok", "call reads ok cache", "intent pays", "call pays ok", "call pays ok key", "intent fails", "call fails failed", "call fails refused key"}
	all := readRecords(t, path)
	if len(all) != len(want) {
		t.Fatalf("%d records: %s", len(all), summarizeRecords(all))
	}
	for i, r := range all {
		if got := strings.Join(strings.Fields(r.Event+" "+r.Name+" "+r.Outcome+" "+r.Replayed), " "); got != want[i] {
			t.Errorf("record %d is %q, want %q", i, got, want[i])
		}
		if r.Decision != "allowed" || r.Replayed != "" && len(r.Steps) > 0 {
			t.Errorf("record %d: %+v", i, r)
		}
	}
}

func TestTasksAreWrittenDownWhenTheyBeginAndWhenTheyEnd(t *testing.T) {
	w := newFakeBackend()
	w.addCounter()
	began := make(chan struct{})
	w.do["holds"] = func(ctx context.Context, _ *adapters.Call) (any, error) {
		close(began)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	h, path := newAuditedHost(t, tool("t", task1h+`fake { do = "count" }`)+tool("holds", task1h+`fake { do = "holds" }`)+tool("asks", deleting), w.use)
	id := startTask(t, h, "t").TaskID
	waitFor(t, func() bool { return getTask(t, h, id).Status == "completed" })
	all := readRecords(t, path)
	for _, r := range all {
		if r.Task != id {
			t.Errorf("%+v", r)
		}
	}
	// The work may begin before the record of the call that became the task.
	lines := strings.Split(summarizeRecords(all), "\n")
	slices.Sort(lines)
	if got := strings.Join(lines, "\n"); got != "call tool t ok fake\ncall tool t task\nintent tool t" {
		t.Errorf("got\n%s", got)
	}
	id = startTask(t, h, "holds").TaskID
	<-began
	if _, err := taskRequest(t, h, "tasks/cancel", id, ""); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		return strings.Contains(summarizeRecords(readRecords(t, path)), "call tool holds cancelled fake")
	})
	if got := summarizeRecords(readRecords(t, path)); !strings.Contains(got, "request tool holds cancelled") {
		t.Errorf("got\n%s", got)
	}
	id = startTask(t, h, "asks").TaskID
	waitFor(t, func() bool { return getTask(t, h, id).Status == "input_required" })
	updateTask(t, h, id, `{"name":`+accept+`,"sure":{"action":"accept","content":{"confirm":true}}}`)
	waitFor(t, func() bool { return getTask(t, h, id).Status == "completed" })
	if got := summarizeRecords(readRecords(t, path)); !strings.Contains(got, "call tool asks asked before+sure sure+name") || strings.Count(got, "intent tool asks") != 2 || !strings.Contains(got, "call tool asks ok sure+after") {
		t.Errorf("got\n%s", got)
	}
}

// Calls go on while the log changes its place; none of them is missing.
func TestAReloadLosesNoRecord(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	src := tool("t", `fake { do = "count" }`)
	h, path := newAuditedHost(t, src, w.use)
	second := filepath.Join(filepath.Dir(path), "second.jsonl")
	stop := make(chan struct{})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if got := callTool(t, h, "t", `{}`); strings.Contains(got, "isError") {
					t.Errorf("got %s", got)
				}
			}
		})
	}
	for i := range 20 {
		file := []string{"second.jsonl", "audit.jsonl", "audit.jsonl"}[i%3]
		load(t, h, fmt.Sprintf("audit {\n  file = %q\n  max_files = %d\n}\n", file, i+1)+src)
	}
	close(stop)
	all.Wait()
	h.AwaitRetired()
	intents, ends := 0, 0
	for _, r := range append(readRecords(t, path), readRecords(t, second)...) {
		if r.Event == audit.EventIntent {
			intents++
		} else if r.Outcome == audit.OK {
			ends++
		}
	}
	if n := count(); n == 0 || intents != n || ends != n {
		t.Errorf("%d calls, %d intents, %d ends", n, intents, ends)
	}
}

func TestAReloadThatCannotWriteDownChangesNothing(t *testing.T) {
	src := tool("t", `text = "x"`)
	h, path := newAuditedHost(t, src)
	before := h.Current()
	for file, want := range map[string]string{"no/audit.jsonl": "its directory does not exist", ".": "cannot be"} {
		diags := h.Load(t.Context(), fileSystem("audit { file = \""+file+"\" }\n"+src))
		if !diags.HasErrors() || h.Current() != before || file != "." && !strings.Contains(printDiagnostics(diags), want) {
			t.Errorf("%s: %s", file, printDiagnostics(diags))
		}
	}
	if diags := h.Load(t.Context(), fileSystem("audit { stdout = true }\n"+src)); !strings.Contains(printDiagnostics(diags), "standard output belongs to") {
		t.Errorf("%s", printDiagnostics(diags))
	}
	callTool(t, h, "t", `{}`)
	if got := summarizeRecords(readRecords(t, path)); got != "call tool t ok" {
		t.Errorf("got %s", got)
	}
}

// What clients send beyond the types of a tool is replaced before anything reads it.
func TestEverythingReadsWhatALenientServerMakesOfTheArguments(t *testing.T) {
	const src = `
server {
  coerce           = true
  ignore_arguments = ["toolCallId"]
}` + `
tool "t" {
  description = "A tool."
  input "o" { type = optional(object({ a = integer })) }
  input "s" { type = optional(string) }
  allow = "input.o == null || input.o.a < 5"
  check "a is negative" { that = "input.o == null || input.o.a >= 0" }
  text = "${input.o.a} ${input.s}"
}
tool "declares" {
  description = "A tool."
  input "toolCallId" { type = string }
  text = "${input.toolCallId}"
}`
	h, path := newAuditedHost(t, src)
	for _, c := range []struct{ tool, arguments, want string }{
		{"t", `{"o":"{\"a\":\"1\"}","s":"{\"a\":1}","toolCallId":"x"}`, `"text":"1 {\"a\":1}"`},
		{"t", `{"o":"{\"a\": 7}"}`, `You are not allowed`},
		{"t", `{"o":"{\"a\": -1}"}`, `a is negative`},
		{"t", `{"other":"x"}`, `unknown argument \"other\"`},
		{"declares", `{"toolCallId":"x"}`, `"text":"x"`},
	} {
		if got := callTool(t, h, c.tool, c.arguments); !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s", c.arguments, got)
		}
	}
	all := readRecords(t, path)
	if got := string(all[0].Arguments); got != `{"o":{"a":1},"s":"{\"a\":1}"}` {
		t.Errorf("the record has %s", got)
	}
	if got := string(all[1].Arguments); got != `{"o":{"a":7}}` {
		t.Errorf("the record of a call that was denied has %s", got)
	}
}
