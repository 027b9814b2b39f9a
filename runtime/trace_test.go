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
	"hatchel/runtime/mcp"
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
