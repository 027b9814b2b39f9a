package runtime

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"hatchel/adapters"
	"hatchel/runtime/edge/mcp"
)

const (
	traceID     = "0af7651916cd43dd8448eb211c80319c"
	traceparent = "00-" + traceID + "-b7ad6b7169203331-01"
)

// addTraceparent adds the backend "trace", which returns the trace context of its call.
func (w *fakeBackend) addTraceparent() {
	w.do["trace"] = func(_ context.Context, c *adapters.Call) (any, error) { return c.Traceparent, nil }
}

func TestEveryStepOfACallHasItsTrace(t *testing.T) {
	w := newFakeBackend()
	w.addTraceparent()
	h := newHost(t, everyStep("trace"), w.use)
	want := strings.Join([]string{traceparent, traceparent, traceparent}, " ")
	inMeta := modernRequest("outer", `{}`, `{}`)
	inMeta.Meta = []byte(`{"traceparent":"` + traceparent + `"}`)
	inHeader := modernRequest("outer", `{}`, `{}`)
	inHeader.Caller.Header = http.Header{"Traceparent": {traceparent}}
	for claim, req := range map[string]*mcp.CallRequest{"_meta": inMeta, "header": inHeader} {
		if r := mustCall(t, h, req); r.text() != want {
			t.Errorf("%s: got %q", claim, r.text())
		}
	}
}

func TestATaskContinuesTheTraceOfItsCall(t *testing.T) {
	w := newFakeBackend()
	w.addTraceparent()
	req := modernRequest("t", `{}`, following)
	req.Meta = []byte(`{"traceparent":"` + traceparent + `"}`)
	anyone := func(*mcp.Caller) {}
	got := afterRestart(t, w, filepath.Join(t.TempDir(), "state.db"), "trace", "trace", req, anyone)
	if got != traceparent+" "+traceparent {
		t.Errorf("got %q", got)
	}
}

func TestACompletionHasTheTraceOfItsRequest(t *testing.T) {
	w := newFakeBackend()
	w.do["cities"] = func(_ context.Context, c *adapters.Call) (any, error) { return []any{c.Traceparent}, nil }
	h := newHost(t, completing, w.use)
	req := &mcp.CompleteRequest{Kind: "tool", Name: "t", Argument: "city", Meta: []byte(`{"traceparent":"` + traceparent + `"}`)}
	if got := complete(t, h, req); got != traceparent {
		t.Errorf("got %q", got)
	}
}

func TestTheLogHasTheTraceOfACall(t *testing.T) {
	var log bytes.Buffer
	h := newHost(t, tool("t", `fake { do = "broken" }`), logTo(&log, slog.LevelInfo))
	req := modernRequest("t", `{}`, `{}`)
	req.Meta = []byte(`{"traceparent":"` + traceparent + `"}`)
	_, _ = tryCall(t, h, req)
	req.Name = "unknown"
	_, _ = tryCall(t, h, req)
	if got := log.String(); strings.Count(got, "trace_id="+traceID) != 2 {
		t.Errorf("logged %s", got)
	}
}

// TestTheTracestateOfARequestIsPassedOn has one in the header, in the _meta, and some that are dropped.
func TestTheTracestateOfARequestIsPassedOn(t *testing.T) {
	w := newFakeBackend()
	w.do["state"] = func(_ context.Context, c *adapters.Call) (any, error) { return c.Tracestate, nil }
	for claim, c := range map[string]struct{ header, meta, want string }{
		"in the header": {"a=1,b=2", "", "a=1,b=2"},
		"in the _meta":  {"", "a=1", "a=1"},
		"too long":      {"a=" + strings.Repeat("x", 511), "", ""},
		"at the limit":  {"a=" + strings.Repeat("x", 510), "", "a=" + strings.Repeat("x", 510)},
		"a line break":  {"", `a=1\r\nX-Evil: 1`, ""},
		"no ASCII":      {"", "a=é", ""},
	} {
		for _, block := range []string{"", otlp("http://127.0.0.1:1", "traces = 0")} {
			h := newHost(t, block+everyStep("state"), w.use)
			req := modernRequest("outer", `{}`, `{}`)
			if c.meta != "" {
				req.Meta = []byte(`{"traceparent":"` + traceparent + `","tracestate":"` + c.meta + `"}`)
			} else {
				req.Caller.Header = http.Header{"Traceparent": {traceparent}, "Tracestate": {c.header}}
			}
			want := strings.Join([]string{c.want, c.want, c.want}, " ")
			if r := mustCall(t, h, req); r.text() != want {
				t.Errorf("%s: got %q", claim, r.text())
			}
		}
	}
	h := newHost(t, everyStep("state"), w.use)
	req := modernRequest("outer", `{}`, `{}`)
	req.Caller.Header = http.Header{"Tracestate": {"a=1"}}
	if r := mustCall(t, h, req); r.text() != "  " {
		t.Errorf("without a traceparent: got %q", r.text())
	}
}

// TestAQuestionHasTheTraceOfItsCall asks a client.
func TestAQuestionHasTheTraceOfItsCall(t *testing.T) {
	w := newFakeBackend()
	w.addCounter()
	h := newHost(t, tool("t", asking), w.use)
	req := modernRequest("t", `{}`, `{"elicitation":{}}`)
	req.Meta = []byte(`{"traceparent":"` + traceparent + `"}`)
	out, err := requestTool(t.Context(), h, req)
	if err != nil || out.Questions == nil {
		t.Fatalf("%v, %+v", err, out)
	}
	if got := string(out.Questions.Ask[0].Params); !strings.HasSuffix(got, `,"_meta":{"traceparent":"`+traceparent+`"}}`) {
		t.Errorf("got %s", got)
	}
}
