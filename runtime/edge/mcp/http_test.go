package mcp_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/edge/mcp"
)

// testClient is an HTTP client of a server in the same process.
type testClient struct {
	t       *testing.T
	handler *fakeHandler
	server  *mcp.Server
	client  *http.Client
	log     *bytes.Buffer
}

// withServer runs f in a bubble of package synctest with a server of a fakeHandler.
func withServer(t *testing.T, o mcp.Options, f func(t *testing.T, v *testClient)) {
	withHandler(t, newFakeHandler, o, f)
}

// withHandler is withServer with another handler, which is created in the bubble.
func withHandler(t *testing.T, newHandler func() *fakeHandler, o mcp.Options, f func(t *testing.T, v *testClient)) {
	synctest.Test(t, func(t *testing.T) {
		v := &testClient{t: t, handler: newHandler(), log: &bytes.Buffer{}}
		o.Logger = slog.New(slog.NewTextHandler(v.log, nil))
		v.server = newServer(v.handler, o)
		var stop func()
		v.client, stop = startHTTP(t, withToolsets(v.server))
		f(t, v)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := v.server.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		stop()
	})
}

// send sends a request and returns the response with its body unread.
func (v *testClient) send(ctx context.Context, method, body string, headers ...string) *http.Response {
	v.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, "http://localhost/mcp", strings.NewReader(expand(body)))
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	reply, err := v.client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	return reply
}

func (v *testClient) callModern(ctx context.Context, tool string) *http.Response {
	return v.send(ctx, "POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"META"}}`, tool),
		"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", tool)
}

// sessionHeaders begins a session and returns the headers that belong to it.
func (v *testClient) sessionHeaders() []string { return v.sessionHeadersFor("2025-11-25") }

func (v *testClient) sessionHeadersFor(revision string) []string {
	reply := v.send(v.t.Context(), "POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+revision+`","capabilities":{}}}`)
	readAll(reply)
	s := []string{"Mcp-Session-Id", reply.Header.Get("Mcp-Session-Id")}
	readAll(v.send(v.t.Context(), "POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, s...))
	return s
}

func readAll(reply *http.Response) string {
	defer reply.Body.Close()
	b, _ := io.ReadAll(reply.Body)
	return string(b)
}

func TestSlowCallSendsKeepAlivesBeforeItsReply(t *testing.T) {
	withServer(t, mcp.Options{}, func(t *testing.T, v *testClient) {
		start := time.Now()
		reply := v.callModern(t.Context(), "slow")
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("the first bytes came after %v", took)
		}
		got := readAll(reply)
		if !strings.HasPrefix(got, ": keep-alive\n\n: keep-alive\n\ndata: {") || !strings.Contains(got, "at last") {
			t.Errorf("got %q", got)
		}
	})
}

func TestClientThatAcceptsOnlyJSONGetsOneDocument(t *testing.T) {
	withServer(t, mcp.Options{}, func(t *testing.T, v *testClient) {
		reply := v.send(t.Context(), "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","META"}}`,
			"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "slow", "Accept", "application/json")
		if ct := reply.Header.Get("Content-Type"); ct != "application/json" {
			t.Errorf("Content-Type %q", ct)
		}
		if got := readAll(reply); !strings.HasPrefix(got, `{"jsonrpc"`) {
			t.Errorf("got %q", got)
		}
	})
}

func TestDisconnectOfAModernClientCancelsItsCall(t *testing.T) {
	withServer(t, mcp.Options{}, func(t *testing.T, v *testClient) {
		v.handler.stopped = make(chan error, 1)
		ctx, disconnect := context.WithCancel(t.Context())
		go func() {
			time.Sleep(time.Second)
			disconnect()
		}()
		r, _ := http.NewRequestWithContext(ctx, "POST", "http://localhost/mcp", strings.NewReader(expand(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","META"}}`)))
		r.Header = http.Header{"Content-Type": {"application/json"}, "Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"wait"}}
		if _, err := v.client.Do(r); err == nil {
			t.Error("the call was answered")
		}
		if err := <-v.handler.stopped; err != context.Canceled {
			t.Errorf("the call ended with %v", err)
		}
	})
}

func TestLegacyClientResumesTheStreamOfACall(t *testing.T) {
	withServer(t, mcp.Options{}, func(t *testing.T, v *testClient) {
		s := v.sessionHeaders()
		ctx, disconnect := context.WithCancel(t.Context())
		reply := v.send(ctx, "POST", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow"}}`, s...)
		buf := make([]byte, 100)
		n, _ := reply.Body.Read(buf)
		if got := string(buf[:n]); !strings.HasPrefix(got, "id: 1-1\n") {
			t.Errorf("the stream begins with %q", got)
		}
		disconnect()
		reply.Body.Close()
		got := readAll(v.send(t.Context(), "GET", "", append(s, "Last-Event-ID", "1-1")...))
		if !strings.Contains(got, `"id":2,"result"`) || !strings.Contains(got, "at last") {
			t.Errorf("after coming back: %q", got)
		}
	})
}

func TestListenerThatDoesNotReadDelaysNoOther(t *testing.T) {
	withServer(t, mcp.Options{}, func(t *testing.T, v *testClient) {
		listen := func() *http.Response {
			return v.send(t.Context(), "POST", `{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"META"}}`,
				"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")
		}
		stalled, reading := listen(), listen()
		received := make(chan string, 1)
		go func() { received <- readAll(reading) }()
		for range 40 {
			v.server.ListsChanged(toolsOnly{}.changed)
			synctest.Wait()
		}
		time.Sleep(31 * time.Second) // longer than SendTimeout
		if got := readAll(stalled); strings.Count(got, "list_changed") > 17 {
			t.Errorf("the stalled listener received %d notifications", strings.Count(got, "list_changed"))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := v.server.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		got := <-received
		if n := strings.Count(got, "list_changed"); n != 40 || !strings.Contains(got, `"id":"L","result"`) {
			t.Errorf("the other listener received %d notifications: %q", n, got[max(0, len(got)-300):])
		}
	})
}

func TestInternalErrorIsLoggedWithTheCorrelationID(t *testing.T) {
	for _, tool := range []string{"panics", "breaks"} {
		t.Run(tool, func(t *testing.T) {
			withServer(t, mcp.Options{}, func(t *testing.T, v *testClient) {
				got := readAll(v.callModern(t.Context(), tool))
				_, after, _ := strings.Cut(got, `"correlationId":"`)
				id, _, _ := strings.Cut(after, `"`)
				if id == "" || strings.Contains(got, "secret") {
					t.Errorf("the caller got %s", got)
				}
				if log := v.log.String(); !strings.Contains(log, "correlation_id="+id) || !strings.Contains(log, "secret detail") {
					t.Errorf("the log has %s", log)
				}
			})
		})
	}
}

func TestShutdownWaitsForCallsAndRefusesNewOnes(t *testing.T) {
	withServer(t, mcp.Options{}, func(t *testing.T, v *testClient) {
		answered := make(chan string, 1)
		go func() { answered <- readAll(v.callModern(t.Context(), "slow")) }()
		session, batching := v.sessionHeaders(), v.sessionHeadersFor("2025-03-26")
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := v.server.Shutdown(ctx); err != context.DeadlineExceeded {
			t.Errorf("Shutdown returned %v", err)
		}
		for name, reply := range map[string]*http.Response{
			"a new call":          v.callModern(t.Context(), "echo"),
			"a new subscription":  v.listen(t.Context(), `"toolsListChanged":true`),
			"a call in a session": v.send(t.Context(), "POST", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo"}}`, session...),
			"a batch":             v.send(t.Context(), "POST", `[{"jsonrpc":"2.0","id":2,"method":"ping"}]`, batching...),
			"a new session":       v.send(t.Context(), "POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`),
		} {
			got := readAll(reply)
			if reply.StatusCode != 503 || reply.Header.Get("Retry-After") != "1" || !strings.Contains(got, "shutting down") {
				t.Errorf("%s got %s %v %s", name, reply.Status, reply.Header, got)
			}
		}
		// A client whose stream is refused gives up the session.
		stream := v.send(t.Context(), "GET", "", append(session, "Accept", "text/event-stream")...)
		if got := readAll(stream); stream.StatusCode != 200 || !strings.HasPrefix(got, "retry: ") {
			t.Errorf("a stream got %s %s", stream.Status, got)
		}
		if err := v.server.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if got := <-answered; !strings.Contains(got, "at last") {
			t.Errorf("the call in progress got %s", got)
		}
	})
}

func TestAServerThatEndsItsStreamsServesCallsAndClosesTheirConnections(t *testing.T) {
	withServer(t, mcp.Options{}, func(t *testing.T, v *testClient) {
		session := v.sessionHeaders()
		stream := v.send(t.Context(), "GET", "", append(session, "Accept", "text/event-stream")...)
		underWay := make(chan *http.Response, 1)
		go func() { underWay <- v.callModern(t.Context(), "slow") }()
		time.Sleep(time.Second)
		v.server.EndStreams()
		readAll(stream)
		for name, reply := range map[string]*http.Response{
			"a call that was under way": <-underWay,
			"a new call":                v.callModern(t.Context(), "echo"),
			"a call in a session":       v.send(t.Context(), "POST", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo"}}`, session...),
		} {
			if got := readAll(reply); !reply.Close || !strings.Contains(got, `"result"`) {
				t.Errorf("%s: close %v, %s %s", name, reply.Close, reply.Status, got)
			}
		}
	})
}

func TestShutdownSucceedsAfterItsContextWhenNothingIsInProgress(t *testing.T) {
	withServer(t, mcp.Options{}, func(t *testing.T, v *testClient) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := v.server.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
}

func TestSlowBodyTimesOut(t *testing.T) {
	withServer(t, mcp.Options{}, func(t *testing.T, v *testClient) {
		body, writer := io.Pipe()
		defer writer.Close()
		r, _ := http.NewRequestWithContext(t.Context(), "POST", "http://localhost/mcp", body)
		r.ContentLength = 100
		r.Header.Set("Content-Type", "application/json")
		start := time.Now()
		go writer.Write([]byte(`{"jsonrpc":`))
		if reply, err := v.client.Do(r); err == nil {
			readAll(reply)
		}
		if took := time.Since(start); took != 30*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// waitingHandler waits in each call, and keeps the clients of some alive.
type waitingHandler struct{ *fakeHandler }

func (waitingHandler) CallTool(_ context.Context, r *mcp.CallRequest) (mcp.Outcome, error) {
	if r.Name == "kept alive" {
		r.KeepAlive()
		r.KeepAlive()
	}
	time.Sleep(21 * time.Second)
	return mcp.Outcome{Content: mcp.Text("done")}, nil
}

func TestCallsHaveTheKeepAlivesThatTheHandlerAsksFor(t *testing.T) {
	for name, want := range map[string]int{"kept alive": 2, "quick": 0} {
		for era, headers := range map[string][]string{"modern": nil, "legacy": {"session"}} {
			t.Run(era+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newServer(waitingHandler{newFakeHandler()}, mcp.Options{})
					client, stop := startHTTP(t, s.For(""))
					v := &testClient{t: t, client: client}
					body := fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q,"META"}}`, name)
					if headers == nil {
						headers = []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", name}
					} else {
						headers = v.sessionHeaders()
					}
					got := readAll(v.send(t.Context(), "POST", body, headers...))
					if n := strings.Count(got, ": keep-alive\n\n"); n != want || !strings.Contains(got, `"text":"done"`) {
						t.Errorf("%d keep-alives in %s", n, got)
					}
					if err := s.Shutdown(t.Context()); err != nil {
						t.Error(err)
					}
					stop()
				})
			})
		}
	}
}

// A compressed body counts as it is sent, and as it is read.
func TestBodiesMayBeCompressedWithGzip(t *testing.T) {
	const echo = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"s":"TEXT"},"META"}}`
	compressed := func(text string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		io.WriteString(z, expand(text))
		z.Close()
		return b.String()
	}
	of := func(n int) string { return strings.Replace(echo, "TEXT", strings.Repeat("x", n), 1) }
	withServer(t, mcp.Options{MaxBody: 20_000}, func(t *testing.T, v *testClient) {
		for name, c := range map[string]struct {
			encoding, body string
			status         int
			want           string
		}{
			"gzip":           {"gzip", compressed(of(10)), 200, `xxxxxxxxxx`},
			"x-gzip":         {"X-GZIP", compressed(of(15_000)), 200, `xxxxxxxxxx`},
			"no encoding":    {"identity", expand(of(10)), 200, `xxxxxxxxxx`},
			"a bomb":         {"gzip", compressed(of(10_000_000)), 413, "at most 20000 bytes, compressed and decompressed"},
			"empty members":  {"gzip", strings.Repeat(compressed(""), 2000), 413, "at most 20000 bytes"},
			"too large":      {"identity", of(30_000), 413, "at most 20000 bytes\n"},
			"no gzip":        {"gzip", expand(of(10)), 400, "not valid gzip"},
			"a wrong sum":    {"gzip", compressed(of(10))[:100] + "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", 400, ""},
			"half of it":     {"gzip", compressed(of(10))[:80], 400, "could not be read completely"},
			"brotli":         {"br", "x", 415, "The Content-Encoding br is not supported. Compress the body with gzip"},
			"gzip in gzip":   {"gzip, gzip", compressed(of(10)), 415, "gzip, gzip is not supported"},
			"a hidden text":  {"\u202e", "x", 415, "is not supported"},
			"no JSON inside": {"gzip", compressed(`{"id":3,"method":"x","params":"\ud83d"}`), 400, `"id":3,"error"`},
		} {
			r := v.send(t.Context(), "POST", c.body, "Content-Encoding", c.encoding, "MCP-Protocol-Version", "2026-07-28",
				"Mcp-Method", "tools/call", "Mcp-Name", "echo")
			got := readAll(r)
			if r.StatusCode != c.status || !strings.Contains(got, c.want) || c.status == 415 && r.Header.Get("Accept-Encoding") != "gzip" {
				t.Errorf("%s: got %d %s", name, r.StatusCode, got)
			}
		}
	})
}
