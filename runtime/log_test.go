package runtime

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/adapters"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/operator"
	"hatchel/runtime/observe/logging"
)

const loggedTools = `
tool "greet" {
  description = "Greets."
  input "name" { type = string("Who", { max_length = 5 }) }
  input "pin" {
    type      = optional(string("Secret", { pattern = "^[0-9]+$" }))
    sensitive = true
  }
  text = "Hello ${input.name} ${input.pin != null ? "with" : "without"} a pin."
}
tool "rows" {
  description = "Lists."
  result      = "[1, 2, 3]"
}
policy "nobody" {
  tools = ["rows"]
  deny  = "caller.subject == 'eve'"
}`

// logOf returns the lines that calls of a tool write at level info, without time and duration.
func logOf(t *testing.T, tool, arguments string, caller *mcp.Caller) string {
	t.Helper()
	var log bytes.Buffer
	h := newHost(t, loggedTools, logTo(&log, slog.LevelInfo))
	log.Reset()
	requestTool(t.Context(), h, &mcp.CallRequest{Name: tool, Arguments: []byte(arguments), Caller: caller})
	text := regexp.MustCompile(`time=\S+ `).ReplaceAllString(log.String(), "")
	return regexp.MustCompile(`ms=[0-9.]+`).ReplaceAllString(text, "ms=N")
}

func TestCallHasOneLineAtInfo(t *testing.T) {
	needsOwnNames(t, "an executor refuses a call of an unknown tool, in its own name")
	ann := &mcp.Caller{Subject: "ann", Identity: &mcp.Identity{Subject: "ann"}, Remote: "192.0.2.7:4000"}
	eve := &mcp.Caller{Subject: "eve", Identity: &mcp.Identity{Subject: "eve"}, Remote: "192.0.2.7:4000"}
	for _, c := range []struct {
		claim, tool, arguments string
		caller                 *mcp.Caller
		want                   string
	}{
		{
			"an answer says how large it is", "greet", `{"name":"Ada"}`, ann,
			`level=INFO msg="call answered" tool=greet subject=ann outcome=ok ms=N bytes=24 remote=192.0.2.7:4000`,
		},
		{
			"a list says how many rows it has", "rows", `{}`, ann,
			`level=INFO msg="call answered" tool=rows subject=ann outcome=ok ms=N rows=3 bytes=7 remote=192.0.2.7:4000 decision=allowed rule=default`,
		},
		{
			"a refusal names the rule", "rows", `{}`, eve,
			`level=INFO msg="call refused" tool=rows subject=eve outcome=refused ms=N remote=192.0.2.7:4000 decision=denied rule=policy.nobody.deny ` +
				`message="Unknown tool: rows"`,
		},
		{
			"wrong arguments say what is wrong", "greet", `{"name":"Adalbert"}`, ann,
			`level=INFO msg="call refused" tool=greet subject=ann outcome=refused ms=N remote=192.0.2.7:4000 ` +
				`message="The arguments are not valid, and nothing was done:\n- name: must have at most 5 characters, got 8"`,
		},
		{
			"an unknown tool is named", "none", `{}`, ann,
			`level=INFO msg="call refused" subject=ann outcome=refused remote=192.0.2.7:4000 trace_id="" message="Unknown tool: none"`,
		},
	} {
		if got := logOf(t, c.tool, c.arguments, c.caller); got != c.want+"\n" {
			t.Errorf("%s:\n got %swant %s", c.claim, got, c.want)
		}
	}
}

// countedRows is the rows of a query, which fail the test when they are decoded.
type countedRows struct{ t *testing.T }

func (r countedRows) Rows() int                    { return 2 }
func (r countedRows) AppendJSON(dst []byte) []byte { return append(dst, `[1,2]`...) }
func (r countedRows) Value() (any, error) {
	r.t.Error("the rows are decoded")
	return []any{1, 2}, nil
}

func TestLogCountsTheRowsOfAQuery(t *testing.T) {
	var log bytes.Buffer
	w := newFakeBackend()
	w.do["query"] = func(context.Context, *adapters.Call) (any, error) { return countedRows{t}, nil }
	h := newHost(t, tool("t", "fake { do = \"query\" }\nresult = \"output.value\""), w.use, logTo(&log, slog.LevelInfo))
	callAs(t, h, "ann", "t", `{}`)
	if got := log.String(); !strings.Contains(got, "rows=2 bytes=5") {
		t.Errorf("got %s", got)
	}
}

func TestLogHasNoSensitiveInput(t *testing.T) {
	for _, arguments := range []string{`{"name":"Ada","pin":"hunter2"}`, `{"name":"Adalbert","pin":"4711"}`, `{"pin":"hunter2"`} {
		if got := logOf(t, "greet", arguments, &mcp.Caller{}); strings.Contains(got, "hunter2") || strings.Contains(got, "4711") {
			t.Errorf("%s: %s", arguments, got)
		}
	}
}

func TestRefusedRequestsOfOneAddressHaveOneLineASecond(t *testing.T) {
	for claim, wait := range map[string]func(h *Host){
		"the others are counted":                 func(*Host) { time.Sleep(time.Minute) },
		"the count is written when it is closed": (*Host).Close,
	} {
		t.Run(claim, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				h := newHost(t, loggedTools, logTo(&log, slog.LevelInfo))
				for range 50 {
					h.Operator().RecordRefusal(t.Context(), operator.Refusal{
						Status: http.StatusUnauthorized, Reason: "Unknown key", Path: "/mcp",
						Caller: &mcp.Caller{Remote: "192.0.2.7:4000"},
					})
				}
				wait(h)
				synctest.Wait()
				text := regexp.MustCompile(`time=\S+ `).ReplaceAllString(log.String(), "")
				line := `level=INFO msg="request refused" status=401 path=/mcp reason="Unknown key" subject="" key="" remote=192.0.2.7:4000 count=`
				if text != line+"1\n"+line+"49\n" {
					t.Errorf("got %s", text)
				}
			})
		})
	}
}

// BenchmarkLogOfACall prints what the line of a call adds to it. Calls with and without it run in turns,
// so that both see the same machine.
func BenchmarkLogOfACall(b *testing.B) {
	calls := make([]func(), 2)
	for i, level := range []slog.Level{slog.LevelWarn, slog.LevelInfo} {
		log := logging.New(io.Discard, logging.Text, level)
		h := newHost(b, loggedTools, func(o *HostOptions) { o.Build.Log = log.Logger })
		req := &mcp.CallRequest{
			Name: "greet", Arguments: []byte(`{"name":"Ada"}`),
			Caller: &mcp.Caller{Subject: "ann", Identity: &mcp.Identity{Subject: "ann"}, Remote: "192.0.2.7:4000"},
		}
		var dst []byte
		calls[i] = func() {
			out, err := requestTool(context.Background(), h, req)
			if err != nil || out.IsError {
				b.Fatal(err)
			}
			dst = out.AppendResult(dst[:0], mcp.Revision20251125)
		}
	}
	fastest := [2]time.Duration{time.Hour, time.Hour} // of 100 calls: other programs only make rounds slower
	for b.Loop() {
		for i, call := range calls {
			began := time.Now()
			for range 100 {
				call()
			}
			fastest[i] = min(fastest[i], time.Since(began))
		}
	}
	b.ReportMetric(float64((fastest[1]-fastest[0]).Nanoseconds())/100, "ns-added/call")
	b.ReportMetric(0, "ns/op")
}
