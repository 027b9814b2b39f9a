package runtime

import (
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/mcp/legacy"
)

// hangingUp is a client over HTTP that may hang up while its call waits for an approval.
type hangingUp struct {
	server  *mcp.Server
	session string
}

// request makes a request and returns its response, which is complete when done is closed.
func (c *hangingUp) request(ctx context.Context, method, body string, header ...string) (w *httptest.ResponseRecorder, done chan struct{}) {
	r := httptest.NewRequestWithContext(ctx, method, "/mcp", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		header = append(header, "Mcp-Session-Id", c.session)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w, done = httptest.NewRecorder(), make(chan struct{})
	go func() {
		defer close(done)
		c.server.For("").ServeHTTP(w, r)
	}()
	return w, done
}

const callToRefund = `"method":"tools/call","params":{"name":"refund","arguments":{"amount":500}`

func (c *hangingUp) modernCall(ctx context.Context) (w *httptest.ResponseRecorder, done chan struct{}) {
	return c.request(ctx, "POST", `{"jsonrpc":"2.0","id":1,`+callToRefund+
		`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "refund")
}

func approvalsWhenHungUp(t *testing.T, test func(t *testing.T, c *hangingUp, approver *testApprover, count func() int)) {
	w := newFakeBackend()
	count := w.addCounter()
	inBubble(t, tool("refund", refunding), w.use, func(t *testing.T, h *Host) {
		test(t, &hangingUp{server: mcp.New(h, mcp.Options{Legacy: legacy.New(legacy.Options{})})}, newApprover(t, h), count)
	})
}

// A client of the revision 2026-07-28 that hangs up ends its call. The approval remains, and is for the same call.
func TestAModernClientThatHangsUpEndsItsCallAndNotTheApproval(t *testing.T) {
	for _, late := range []bool{false, true} {
		approvalsWhenHungUp(t, func(t *testing.T, c *hangingUp, approver *testApprover, count func() int) {
			ctx, hangUp := context.WithCancel(t.Context())
			_, ended := c.modernCall(ctx)
			a := approver.waitForPending(1)[0]
			time.Sleep(time.Minute)
			hangUp()
			<-ended
			if !late { // it is decided while nobody waits
				approver.decide(a, true, "fine")
			}
			time.Sleep(time.Minute)
			if count() != 0 {
				t.Error("a call that has ended was made")
			}
			w, ended := c.modernCall(t.Context())
			if late { // the same call waits for the same approval
				if again := approver.waitForPending(1); len(again) != 1 || again[0].ID != a.ID {
					t.Errorf("%d approvals are pending", len(again))
				}
				approver.decide(a, true, "fine")
			}
			<-ended
			if got := w.Body.String(); !strings.Contains(got, "refund 1") || count() != 1 {
				t.Errorf("after coming back: %s", got)
			}
		})
	}
}

// A client of a session may hang up: its call waits on, is made when it is approved, and its result is kept for the
// client.
func TestACallOfASessionWaitsOnWhenItsClientHangsUp(t *testing.T) {
	for _, revision := range []string{"2025-03-26", "2025-06-18", "2025-11-25"} {
		approvalsWhenHungUp(t, func(t *testing.T, c *hangingUp, approver *testApprover, count func() int) {
			w, done := c.request(t.Context(), "POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+revision+
				`","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
			<-done
			c.session = w.Header().Get("Mcp-Session-Id")
			c.request(t.Context(), "POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			ctx, hangUp := context.WithCancel(t.Context())
			begun, ended := c.request(ctx, "POST", `{"jsonrpc":"2.0","id":1,`+callToRefund+`}}`)
			a := approver.waitForPending(1)[0]
			time.Sleep(time.Minute)
			hangUp()
			time.Sleep(time.Minute)
			approver.decide(a, true, "fine")
			<-ended
			if count() != 1 {
				t.Fatalf("%s: the call was made %d times", revision, count())
			}
			ids := regexp.MustCompile(`(?m)^id: (.*)$`).FindStringSubmatch(begun.Body.String())
			if revision != "2025-11-25" {
				return // the stream begins with the result: there was no id of an event to return with
			}
			ctx, end := context.WithTimeout(t.Context(), 10*time.Second)
			defer end()
			w, done = c.request(ctx, http.MethodGet, "", "Last-Event-ID", ids[1], "MCP-Protocol-Version", revision)
			<-done
			if got := w.Body.String(); !strings.Contains(got, "refund 1") {
				t.Errorf("%s: after coming back: %d %s", revision, w.Code, got)
			}
		})
	}
}

// A client that takes no event stream cannot return for its result, and ends its call when it hangs up.
func TestAClientThatCannotReturnEndsItsCallWhenItHangsUp(t *testing.T) {
	approvalsWhenHungUp(t, func(t *testing.T, c *hangingUp, approver *testApprover, count func() int) {
		w, done := c.request(t.Context(), "POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",`+
			`"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		<-done
		c.session = w.Header().Get("Mcp-Session-Id")
		ctx, hangUp := context.WithCancel(t.Context())
		_, ended := c.request(ctx, "POST", `{"jsonrpc":"2.0","id":1,`+callToRefund+`}}`, "Accept", "application/json")
		a := approver.waitForPending(1)[0]
		hangUp()
		<-ended
		approver.decide(a, true, "fine")
		time.Sleep(time.Minute)
		if count() != 0 {
			t.Error("a call that has ended was made")
		}
	})
}

// Before the event stream has begun, which it has after 5 seconds, a client has nothing to return to. A client that
// cancels its call ends it.
func TestACallOfASessionEndsBeforeItsStreamOrByACancellation(t *testing.T) {
	for _, revision := range []string{"2025-03-26", "2025-06-18", "2025-11-25"} {
		for _, cancels := range []bool{false, true} {
			approvalsWhenHungUp(t, func(t *testing.T, c *hangingUp, approver *testApprover, count func() int) {
				w, done := c.request(t.Context(), "POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+revision+
					`","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
				<-done
				c.session = w.Header().Get("Mcp-Session-Id")
				ctx, hangUp := context.WithCancel(t.Context())
				_, ended := c.request(ctx, "POST", `{"jsonrpc":"2.0","id":1,`+callToRefund+`}}`)
				a := approver.waitForPending(1)[0]
				if cancels {
					time.Sleep(time.Minute)
					hangUp()
					_, done = c.request(t.Context(), "POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
					<-done
				} else {
					time.Sleep(time.Second)
					hangUp()
				}
				time.Sleep(time.Minute)
				approver.decide(a, true, "fine")
				time.Sleep(time.Minute)
				if count() != 0 {
					t.Errorf("%s: cancels = %t: a call that has ended was made", revision, cancels)
				}
				<-ended
			})
		}
	}
}
