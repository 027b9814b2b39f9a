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
	h := newHost(t, tool("inner", `fake { do = "trace" }`)+tool("outer", `
step "inner" {
  tool "inner" {}
}
step "each" {
  each     = [1, 2]
  parallel = 2
  fake { do = "trace" }
}
text = "${step.inner.result} ${step.each[0].value} ${step.each[1].value}"`), w.use)
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
	path := filepath.Join(t.TempDir(), "state.db")
	w := newFakeBackend()
	w.addTraceparent()
	src := tool("t", task1h+`
step "sure" {
  ask "sure" {
    elicit { message = "Sure?" }
  }
}
step "after" {
  fake { do = "trace" }
}
text = step.after.value`)
	h := newHost(t, src, w.use, storedIn(t, path))
	req := modernRequest("t", `{}`, following)
	req.Meta = []byte(`{"traceparent":"` + traceparent + `"}`)
	id := mustCall(t, h, req).TaskID
	waitFor(t, func() bool { return getTask(t, h, id).Status == "input_required" })
	h.Close()
	h = newHost(t, src, w.use, storedIn(t, path))
	updateTask(t, h, id, `{"sure":{"action":"accept","content":{}}}`)
	waitFor(t, func() bool { return getTask(t, h, id).Status == "completed" })
	if r := getTask(t, h, id); r.Result.text() != traceparent {
		t.Errorf("got %q", r.Result.text())
	}
}

func TestTheLogHasTheTraceOfACall(t *testing.T) {
	var log bytes.Buffer
	h := newHost(t, tool("t", `fake { do = "broken" }`), logTo(&log, slog.LevelInfo))
	req := modernRequest("t", `{}`, `{}`)
	req.Meta = []byte(`{"traceparent":"` + traceparent + `"}`)
	_, _ = tryCall(t, h, req)
	if got := log.String(); !strings.Contains(got, "trace_id="+traceID) {
		t.Errorf("logged %s", got)
	}
}
