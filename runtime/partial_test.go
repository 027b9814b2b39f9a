package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hatchel/adapters"
	"hatchel/hcl/eventkind"
	"hatchel/hcl/value"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/observe/event"
	"hatchel/runtime/observe/metrics"
	"hatchel/runtime/stage/approval"
)

// addPicky adds the backend "picky", which fails for ben and for eve, the second before the first.
func (w *fakeBackend) addPicky() {
	w.do["picky"] = func(_ context.Context, call *adapters.Call) (any, error) {
		name := "ben"
		if e := call.Frame.Each; e != nil {
			name, _ = value.Text(e.Value)
		}
		switch name {
		case "ben":
			time.Sleep(20 * time.Millisecond)
			return nil, &adapters.Fault{Message: "no such person"}
		case "eve":
			return nil, &adapters.Fault{Message: "not today"}
		}
		return name, nil
	}
}

const pickyStep = "on_error = \"continue\"\nfake { do = \"picky\" }\n"

// partialOutcome is what one reader is told of a call that has failed in part.
type partialOutcome struct {
	Outcome    string `json:"outcome"`
	Failed     int    `json:"failed"`
	Of         int    `json:"of"`
	FailedStep string `json:"failed_step"`
	FailedKey  string `json:"failed_key"`
	Error      string `json:"error"`
}

// partialCalls are the ways in which a call fails in part.
var partialCalls = []struct {
	claim, blocks, arguments string
	want                     partialOutcome
}{
	{"an element of an object", tool("t", "step \"s\" {\neach = { ann = \"ann\", ben = \"ben\", cid = \"cid\" }\n"+pickyStep+"}\ntext = \"done\""), `{}`,
		partialOutcome{"partial", 1, 3, "s", "ben", `the element with the key "ben": no such person`}},
	{"elements of a list, at once, the first in its order", tool("t", "step \"s\" {\neach = [\"ann\", \"ben\", \"cid\", \"eve\"]\nparallel = 4\n"+pickyStep+"}\ntext = \"done\""), `{}`,
		partialOutcome{"partial", 2, 4, "s", "1", `the element with the key 1: no such person`}},
	{"elements of a list with a key", tool("t", "step \"s\" {\neach = [\"eve\", \"ann\", \"ben\"]\nkey = \"k-${each.value}\"\nparallel = 2\n"+pickyStep+"}\ntext = \"done\""), `{}`,
		partialOutcome{"partial", 2, 3, "s", "k-eve", `the element with the key "k-eve": not today`}},
	{"a step", tool("t", "step \"a\" {\non_error = \"continue\"\nfake { value = 1 }\n}\nstep \"s\" {\n"+pickyStep+"}\ntext = \"done\""), `{}`,
		partialOutcome{"partial", 1, 2, "s", "", "no such person"}},
	{"an element of a called tool", tool("inner", "step \"s\" {\neach = [\"ann\", \"ben\"]\n"+pickyStep+"}\ntext = \"done\"") + tool("t", "step \"calls\" {\ntool \"inner\" {}\n}\ntext = \"done\""), `{}`,
		partialOutcome{"partial", 1, 2, "calls", "1", "the element with the key 1: no such person"}},
	{"called tools, one of which has failed in part", tool("inner", "input \"n\" { type = list(string) }\nstep \"s\" {\neach = input.n\n"+pickyStep+"}\ntext = \"done\"") +
		tool("t", "step \"calls\" {\neach = { a = [\"ann\"], b = [\"cid\", \"ben\"] }\ntool \"inner\" { n = each.value }\n}\ntext = \"done\""), `{}`,
		partialOutcome{"partial", 1, 3, "calls", "b", `the element with the key "b": the element with the key 1: no such person`}},
	{"the last attempt of many", tool("inner", "step \"s\" {\n"+pickyStep+"}\nresult = \"0\"") +
		tool("t", "step \"calls\" {\ntool \"inner\" {}\nrepeat {\nuntil = \"false\"\nmax = 3\nevery = \"1ms\"\n}\non_error = \"continue\"\n}\ntext = \"done\""), `{}`,
		partialOutcome{"partial", 1, 1, "calls", "", "after 3 attempts the output is still not the one that repeat waits for; it is not known whether the step \"s\" of the tool \"inner\" took effect, so check before calling again"}},
	{"in the words of the author", tool("t", "step \"s\" {\neach = { ben = \"ben\" }\n"+pickyStep+"}\ntext = \"done\"\nerror = \"Failed: ${error.message} (${error.step})\""), `{}`,
		partialOutcome{"partial", 1, 1, "s", "ben", `the element with the key "ben": Failed: no such person (s)`}},
	{"a result of the cache", tool("t", caching+"step \"s\" {\n"+strings.Replace(pickyStep, "picky", "look up picky", 1)+"}\ntext = \"done\""), `{}`,
		partialOutcome{"partial", 1, 1, "s", "", "no such person"}},
	{"a result of a key", tool("t", keyed+"step \"s\" {\neach = { ben = \"ben\" }\n"+pickyStep+"}\ntext = \"done\""), `{"idempotency_key":"k"}`,
		partialOutcome{"partial", 1, 1, "s", "ben", `the element with the key "ben": no such person`}},
	{"with a sensitive input", tool("t", "input \"who\" {\ntype = string\nsensitive = true\n}\nstep \"s\" {\neach = { \"${input.who}\" = \"ben\" }\n"+pickyStep+"}\ntext = \"done\""), `{"who":"ann"}`,
		partialOutcome{"partial", 1, 1, "s", "(secret)", `the element with the key "(secret)": no such person`}},
}

func TestAllReadersAreToldThatACallHasFailedInPart(t *testing.T) {
	for _, c := range partialCalls {
		t.Run(c.claim, func(t *testing.T) {
			var log bytes.Buffer
			w := newFakeBackend()
			w.addPicky()
			w.do["look up picky"] = w.do["picky"]
			h, path := newAuditedHost(t, c.blocks+"events {}\ntelemetry {\nmetrics { callers = 10 }\n}\n", w.use,
				storedIn(t, filepath.Join(t.TempDir(), "state.db")), func(o *HostOptions) {
					o.Build.Metrics, o.Build.Log = new(metrics.Exporter), slog.New(slog.NewJSONHandler(&log, nil))
				})
			recordAll(t, h)
			log.Reset()
			for _, call := range []string{"the call", "the same call made again"} {
				meta := partialOutcomeOfResult(t, callAs(t, h, "ann", "t", c.arguments))
				if strings.Contains(c.claim, "sensitive") { // who has sent it may see it
					meta.FailedKey, meta.Error = c.want.FailedKey, c.want.Error
				}
				if meta != c.want {
					t.Errorf("%s has in _meta\n%+v, want\n%+v", call, meta, c.want)
				}
			}
			for _, r := range readRecords(t, path) {
				if got := (partialOutcome{r.Outcome, r.Failed, r.Of, r.FailedStep, r.FailedKey, r.Message}); r.Event == audit.EventCall && got != c.want {
					t.Errorf("the audit log has\n%+v, want\n%+v", got, c.want)
				}
			}
			_, data := recordedEvents(t, h, callerOf("eva"), true, event.Query{Kinds: eventkind.Of(eventkind.ToolResult)})
			for line := range strings.Lines(data) {
				var got partialOutcome
				if json.Unmarshal([]byte(line), &got); got != c.want {
					t.Errorf("the event has\n%+v, want\n%+v", got, c.want)
				}
			}
			for line := range strings.Lines(log.String()) {
				var got struct {
					partialOutcome
					Msg, Level, Message string
				}
				json.Unmarshal([]byte(line), &got)
				if got.Error = got.Message; got.partialOutcome != c.want || got.Msg != "call partly failed" || got.Level != "INFO" {
					t.Errorf("the log has\n%s", line)
				}
			}
			if n := strings.Count(data, "\n") + 1; n != 2 || strings.Count(log.String(), "\n") != 2 {
				t.Errorf("%d events, log\n%s", n, log.String())
			}
			m, _ := h.Telemetry().Metrics()
			r := httptest.NewRecorder()
			m.ServeHTTP(r, httptest.NewRequest("GET", "/metrics", nil))
			if text := r.Body.String(); !strings.Contains(text, `name="t",outcome="partial"`) || strings.Contains(text, `outcome="ok",replayed`) ||
				!strings.Contains(text, `hatchel_caller_calls_total{outcome="partial",subject="ann"} 2`) {
				t.Errorf("the metrics are\n%s", text)
			}
			history, _ := h.Telemetry().History(t.Context())
			if chart, _ := history.Chart("t"); chart.Hours[metrics.HoursKept-1].OK > 0 {
				t.Errorf("the chart counts it as ok: %+v", chart.Hours[metrics.HoursKept-1])
			}
		})
	}
}

// partialOutcomeOfResult returns what the metadata of a result has.
func partialOutcomeOfResult(t testing.TB, result string) partialOutcome {
	t.Helper()
	var decoded struct {
		IsError bool
		Meta    struct {
			Outcome, FailedStep, FailedKey, Error string
			Failed, Of                            int
		} `json:"_meta"`
	}
	if err := json.Unmarshal([]byte(result), &decoded); err != nil || decoded.IsError {
		t.Fatalf("%v in %s", err, result)
	}
	m := decoded.Meta
	return partialOutcome{m.Outcome, m.Failed, m.Of, m.FailedStep, m.FailedKey, m.Error}
}

func TestACallWithoutFailuresIsOk(t *testing.T) {
	w := newFakeBackend()
	w.addPicky()
	h, path := newAuditedHost(t, tool("t", "input \"n\" { type = list(string) }\nstep \"s\" {\neach = input.n\n"+pickyStep+"}\nstep \"x\" {\nwhen = \"false\"\n"+pickyStep+"}\ntext = \"done\""), w.use)
	for _, arguments := range []string{`{"n":["ann"]}`, `{"n":[]}`} {
		if got := callAs(t, h, "ann", "t", arguments); strings.Contains(got, "_meta") {
			t.Error(got)
		}
	}
	if got := summarizeRecords(readRecords(t, path)); strings.Count(got, "call tool t ok s") != 2 {
		t.Error(got)
	}
}

func TestPromptsAndResourcesFailInPart(t *testing.T) {
	w := newFakeBackend()
	w.addPicky()
	w.do["look up"] = w.do["picky"]
	const step = "step \"s\" {\neach = { ben = \"ben\" }\non_error = \"continue\"\nfake { do = \"look up\" }\n}\n"
	h, path := newAuditedHost(t, "events {}\nprompt \"p\" {\ndescription = \"P.\"\n"+step+"message \"user\" { text = \"x\" }\n}\n"+
		"resource \"r\" {\nuri = \"x://r\"\n"+step+"text = \"x\"\n}\n", w.use)
	recordAll(t, h)
	p, err := h.GetPrompt(t.Context(), &mcp.CallRequest{Name: "p", Caller: callerOf("ann")})
	r, err2 := h.ReadResource(t.Context(), &mcp.CallRequest{Name: "x://r", Caller: callerOf("ann")})
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	const want = `{"outcome":"partial","failed":1,"of":1,"failedStep":"s","failedKey":"ben","error":"the element with the key \"ben\": no such person"}`
	for _, d := range []mcp.Document{p, r} {
		if d.Meta == nil || string(d.Meta.AppendJSON(nil)) != want {
			t.Errorf("got %v", d.Meta)
		}
	}
	if got := summarizeRecords(readRecords(t, path)); got != "call prompt p partial s\ncall resource r partial s" {
		t.Error(got)
	}
	_, data := recordedEvents(t, h, callerOf("eva"), true, event.Query{Outcomes: []string{"partial"}})
	if strings.Count(data, `"outcome":"partial","failed":1,"of":1,"failed_step":"s","failed_key":"ben"`) != 2 {
		t.Error(data)
	}
}

func TestATaskSaysThatItsCallHasFailedInPart(t *testing.T) {
	w := newFakeBackend()
	w.addPicky()
	h, path := newAuditedHost(t, "events {}\n"+tool("t", task1h+"step \"s\" {\neach = { ben = \"ben\" }\n"+pickyStep+"}\ntext = \"done\"")+
		tool("fails", task1h+"fake { do = \"picky\" }"), w.use)
	recordAll(t, h)
	id, failing := startTask(t, h, "t").TaskID, startTask(t, h, "fails").TaskID
	waitForTasks(t, h)
	raw, err := requestTask(t.Context(), h, &mcp.TaskRequest{Method: "tasks/get", ID: id, Caller: modernRequest("t", "{}", following).Caller})
	if err != nil {
		t.Fatal(err)
	}
	if text := string(raw.AppendJSON(nil)); !strings.Contains(text, `"_meta":{"outcome":"partial","failed":1,"of":1,"failedStep":"s","failedKey":"ben"`) {
		t.Error(text)
	}
	_, data := recordedEvents(t, h, callerOf("eva"), true, event.Query{Kinds: eventkind.Of(eventkind.TaskFinished)})
	for id, outcome := range map[string]string{id: "partial", failing: "failed"} {
		if !strings.Contains(data, `"task":"`+id+`","status":"completed","outcome":"`+outcome+`"`) {
			t.Errorf("no %s in\n%s", outcome, data)
		}
	}
	if got := summarizeRecords(readRecords(t, path)); !strings.Contains(got, "call tool t partial s") {
		t.Error(got)
	}
}

func TestACallThatHasFailedInPartIsStillSoAfterAQuestion(t *testing.T) {
	w := newFakeBackend()
	w.addPicky()
	h, path := newAuditedHost(t, tool("t", "step \"s\" {\neach = { ann = \"ann\", ben = \"ben\" }\n"+pickyStep+"}\n"+`
step "sure" {
  ask "sure" {
    elicit {
      message = "Sure?"
      fields  = object({ confirm = bool })
    }
  }
}
step "again" {
`+pickyStep+"}\ntext = \"done\""), w.use)
	req := modernRequest("t", `{}`, everything)
	first := mustCall(t, h, req)
	out, err := requestTool(t.Context(), h, retryRequest(req, first.RequestState, `{"sure":{"action":"accept","content":{"confirm":true}}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := partialOutcome{"partial", 2, 3, "s", "ben", `the element with the key "ben": no such person`}
	if got := partialOutcomeOfResult(t, string(out.AppendResult(nil, mcp.Revision20260728))); got != want {
		t.Errorf("got %+v", got)
	}
	if got := summarizeRecords(readRecords(t, path)); !strings.HasSuffix(got, "call tool t partial sure+again") {
		t.Error(got)
	}
}

func TestAStepSaysThatItHasFailedInPart(t *testing.T) {
	w := newFakeBackend()
	w.addPicky()
	h := newHost(t, "events {}\n"+tool("t", "step \"each\" {\neach = { ann = \"ann\", ben = \"ben\" }\n"+pickyStep+"}\nstep \"one\" {\n"+pickyStep+"}\nstep \"fine\" {\nfake { value = 1 }\n}\ntext = \"done\""), w.use)
	recordAll(t, h)
	callAs(t, h, "ann", "t", `{}`)
	_, data := recordedEvents(t, h, callerOf("eva"), true, event.Query{Kinds: eventkind.Of(eventkind.ToolStep)})
	var got []string
	for line := range strings.Lines(data) {
		var e struct {
			partialOutcome
			Step string
		}
		json.Unmarshal([]byte(line), &e)
		got = append(got, fmt.Sprintf("%s %s %d/%d %s %s", e.Step, e.Outcome, e.Failed, e.Of, e.FailedKey, e.Error))
	}
	want := "each partial 1/2 ben the element with the key \"ben\": no such person\none failed 1/1  no such person\nfine ok 0/0  "
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("got\n%s", text)
	}
}

func TestAnApprovalSaysWhatItsCallCameTo(t *testing.T) {
	w := newFakeBackend()
	w.addPicky()
	h := newHost(t, tool("partial", "approval {}\nstep \"s\" {\neach = { ben = \"ben\" }\n"+pickyStep+"}\ntext = \"done\"")+
		tool("fails", "approval {}\nfake { do = \"picky\" }")+tool("fine", "approval {}\nfake { value = 1 }")+
		tool("outer", "step \"calls\" {\ntool \"partial\" {}\n}\ntext = \"done\""), w.use)
	approver := newApprover(t, h)
	for name, want := range map[string]approval.Call{
		"partial": {Outcome: "partial", Failed: 1, Of: 1, FailedStep: "s", FailedKey: "ben", Message: `the element with the key "ben": no such person`},
		"outer":   {Outcome: "partial", Failed: 1, Of: 1, FailedStep: "s", FailedKey: "ben", Message: `the element with the key "ben": no such person`},
		"fails":   {Outcome: "failed", Message: "no such person"},
		"fine":    {Outcome: "ok"},
	} {
		said := startCall(t, h, "ann", name, `{}`)
		a := approver.waitForPending(1)[0]
		approver.decide(a, true, "")
		<-said
		used, err := approver.approvals.Find(t.Context(), a.ID)
		if err != nil || used.Status != approval.Used || used.Call == nil || used.Call.At.IsZero() {
			t.Fatalf("%s: %+v %v", name, used, err)
		}
		if used.Call.At = (time.Time{}); *used.Call != want {
			t.Errorf("%s: got %+v", name, *used.Call)
		}
	}
}

func TestTheRecordOfAKeySaysThatItsCallHasFailedInPart(t *testing.T) {
	w := newFakeBackend()
	w.addPicky()
	path := filepath.Join(t.TempDir(), "state.db")
	src := tool("t", keyed+"step \"s\" {\neach = { ben = \"ben\" }\n"+pickyStep+"}\ntext = \"done\"")
	h := newHost(t, src, w.use, storedIn(t, path))
	want := partialOutcomeOfResult(t, callAs(t, h, "ann", "t", `{"idempotency_key":"k"}`))
	h.Close()
	w.do["picky"] = func(context.Context, *adapters.Call) (any, error) { return nil, nil }
	h = newHost(t, src, w.use, storedIn(t, path))
	if got := partialOutcomeOfResult(t, callAs(t, h, "ann", "t", `{"idempotency_key":"k"}`)); got != want || got.Failed != 1 {
		t.Errorf("after a restart %+v", got)
	}
}

func TestACauseThatNobodyReadsIsInTheLogOfACallThatGoesOn(t *testing.T) {
	var log bytes.Buffer
	h := newHost(t, tool("t", "step \"s\" {\non_error = \"continue\"\nfake { do = \"broken\" }\n}\ntext = \"done\""), logTo(&log, slog.LevelInfo))
	log.Reset()
	if got := callAs(t, h, "ann", "t", `{}`); strings.Contains(got, "10.0.0.7") || !strings.Contains(got, "problem on the server") {
		t.Error(got)
	}
	if text := log.String(); !strings.Contains(text, "level=WARN") || !strings.Contains(text, "cause=") {
		t.Error(text)
	}
}

func TestKeysOfElementsAreTextsThatNoOtherElementHas(t *testing.T) {
	w := newFakeBackend()
	w.do["key"] = func(_ context.Context, call *adapters.Call) (any, error) {
		w.record("%s", call.Key)
		return nil, nil
	}
	h := newHost(t, tool("t", keyed+`
input "rows" { type = list(any) }
step "s" {
  each     = input.rows
  key      = each.value.id
  fake { value = "${each.key}=${each.value.id}" }
}
step "k" {
  each = input.rows
  key  = each.value.id
  fake { do = "key" }
}
result = "map(step.s, {{key: .key, value: .value}})"`), w.use)
	w.takeJournal()
	call := func(rows string) (string, map[string]bool) {
		got := callAs(t, h, "ann", "t", `{"idempotency_key":"k`+fmt.Sprintf("%x", rows)+`","rows":`+rows+`}`)
		keys := map[string]bool{}
		for _, key := range w.takeJournal() {
			keys[key] = true
		}
		return got, keys
	}
	got, _ := call(`[{"id":"b"},{"id":7},{"id":"a"}]`)
	if !strings.Contains(got, `"structuredContent":[{"key":"b","value":"b=b"},{"key":"7","value":"7=7"},{"key":"a","value":"a=a"}]`) {
		t.Error(got)
	}
	for rows, want := range map[string]string{
		`[{"id":"a"},{"id":"b"},{"id":"a"}]`: `the key of the step \"s\" is \"a\" for two elements, those with the index 0 and 2: each must have a key of its own`,
		`[{"id":"7"},{"id":7}]`:              `the key of the step \"s\" is \"7\" for two elements, those with the index 0 and 1: each must have a key of its own`,
		`[{"id":"a"},{"id":null}]`:           `the key of the step \"s\" must be a string or a number, and is a null for the element with the index 1`,
		`[{"id":["a"]}]`:                     `the key of the step \"s\" must be a string or a number, and is a list for the element with the index 0`,
	} {
		got, keys := call(rows)
		if !strings.Contains(got, want) || !strings.Contains(got, `"isError":true`) || len(keys) > 0 {
			t.Errorf("%s: %s, %d elements were run", rows, got, len(keys))
		}
	}
	if got := callTool(t, newHost(t, tool("o", "input \"m\" { type = any }\nstep \"s\" {\neach = input.m\nkey = each.value\nfake { value = 1 }\n}\ntext = \"x\"")), "o", `{"m":{"a":"b"}}`); !strings.Contains(got, "each is an object, whose elements have names") {
		t.Error(got)
	}
}

// TestTheKeyOfAnElementDoesNotDependOnItsPlace compares the idempotency keys that backends get.
func TestTheKeyOfAnElementDoesNotDependOnItsPlace(t *testing.T) {
	w := newFakeBackend()
	w.do["key"] = func(_ context.Context, call *adapters.Call) (any, error) {
		w.record("%v=%s", call.Frame.Each.Value, call.Key)
		return nil, nil
	}
	keysOf := func(list, key string) map[string]bool {
		h := newHost(t, tool("t", keyed+"step \"s\" {\neach = "+list+"\n"+key+"parallel = 2\nfake { do = \"key\" }\n}\ntext = \"x\""), w.use)
		w.takeJournal()
		callAs(t, h, "ann", "t", `{"idempotency_key":"k"}`)
		out := map[string]bool{}
		for _, line := range w.takeJournal() {
			out[line] = true
		}
		return out
	}
	named := "key = each.value\n"
	one, other := keysOf(`["a", "b", "c"]`, named), keysOf(`["c", "x", "a", "b"]`, named)
	for line := range one {
		if !other[line] {
			t.Errorf("%s is not in %v", line, other)
		}
	}
	if len(one) != 3 || len(other) != 4 {
		t.Errorf("%v %v", one, other)
	}
	for line := range keysOf(`["c", "a", "b"]`, "") {
		if one[line] {
			t.Errorf("without a key, %s is that of the name", line)
		}
	}
}
