package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"hatchel/adapters/mcp/client"
	"hatchel/adapters/mcp/client/mcptest"
)

// maxWait is how long a test waits for what must happen.
const maxWait = time.Minute

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), maxWait)
	t.Cleanup(cancel)
	return ctx
}

func overHTTP(t testing.TB, s *mcptest.Server) client.Transport {
	rt := client.NewRoundTripper(nil)
	t.Cleanup(rt.CloseIdleConnections)
	return client.NewHTTP(client.HTTPConfig{URL: s.Start(t), RoundTripper: rt})
}

func overPipes(t testing.TB, s *mcptest.Server) client.Transport { return client.NewStdio(s.Pipes(t)) }

func open(t testing.TB, transport client.Transport, o client.Options) *client.Session {
	t.Helper()
	s, err := client.Open(testContext(t), transport, o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}

// ways are the combinations of eras and transports.
var ways = []struct {
	name     string
	server   mcptest.Server
	pipes    bool
	revision string
}{
	{name: "modern HTTP", server: mcptest.Server{Era: mcptest.Modern}, revision: client.Revision20260728},
	{name: "modern HTTP stream", server: mcptest.Server{Era: mcptest.Modern, Stream: true},
		revision: client.Revision20260728},
	{name: "both HTTP", server: mcptest.Server{}, revision: client.Revision20260728},
	{name: "legacy HTTP", server: mcptest.Server{Era: mcptest.Legacy}, revision: client.Revision20251125},
	{name: "legacy HTTP session", server: mcptest.Server{Era: mcptest.Legacy, Stateful: true},
		revision: client.Revision20251125},
	{name: "legacy HTTP session stream", server: mcptest.Server{Era: mcptest.Legacy, Stateful: true, Stream: true,
		Revision: client.Revision20250618}, revision: client.Revision20250618},
	{name: "modern pipes", server: mcptest.Server{Era: mcptest.Modern}, pipes: true, revision: client.Revision20260728},
	{name: "legacy pipes", server: mcptest.Server{Era: mcptest.Legacy}, pipes: true, revision: client.Revision20251125},
	{name: "old pipes", server: mcptest.Server{Era: mcptest.Legacy, Revision: client.Revision20250326}, pipes: true,
		revision: client.Revision20250326},
}

// eachWay runs a test against a fresh server of each era over each transport.
func eachWay(t *testing.T, test func(t *testing.T, server *mcptest.Server, transport client.Transport)) {
	for i := range ways {
		w := &ways[i]
		t.Run(w.name, func(t *testing.T) {
			server := &mcptest.Server{Era: w.server.Era, Revision: w.server.Revision, Stateful: w.server.Stateful,
				Stream: w.server.Stream}
			if w.pipes {
				test(t, server, overPipes(t, server))
			} else {
				test(t, server, overHTTP(t, server))
			}
		})
	}
}

func TestTheRevisionIsNegotiated(t *testing.T) {
	for i := range ways {
		w := &ways[i]
		t.Run(w.name, func(t *testing.T) {
			server := &mcptest.Server{Era: w.server.Era, Revision: w.server.Revision, Stateful: w.server.Stateful}
			transport := overHTTP
			if w.pipes {
				transport = overPipes
			}
			memory := &client.Memory{}
			s := open(t, transport(t, server), client.Options{Memory: memory})
			if s.Protocol() != w.revision {
				t.Errorf("the session speaks %s", s.Protocol())
			}
			if name, version := s.Server(); name != "mcptest" || version != "1" {
				t.Errorf("the server is %q %q", name, version)
			}
			again := open(t, transport(t, server), client.Options{Memory: memory})
			if again.Protocol() != w.revision {
				t.Errorf("the second session speaks %s", again.Protocol())
			}
			probes := 0
			for _, m := range server.Methods() {
				if m == "server/discover" {
					probes++
				}
			}
			if want := 2; w.revision != client.Revision20260728 {
				if want = 1; probes != want {
					t.Errorf("server/discover was sent %d times", probes)
				}
			}
			if err := s.Ping(testContext(t)); err != nil {
				t.Errorf("ping: %v", err)
			}
		})
	}
}

func TestACallReturnsWhatTheServerSent(t *testing.T) {
	eachWay(t, func(t *testing.T, server *mcptest.Server, transport client.Transport) {
		server.SetTools(mcptest.Tool("greet", "Greets.", "name"))
		server.Handle("greet", func(c *mcptest.Call) (any, error) {
			c.Progress(1, 2, "half")
			return map[string]any{
				"content": []any{
					map[string]any{"type": "text", "text": "Hello 😀"}, map[string]any{"type": "new"},
				},
				"structuredContent": map[string]any{"n": json.Number("12345678901234567890")},
				"_meta":             map[string]any{"x": 1},
			}, nil
		})
		server.Handle("fail", func(*mcptest.Call) (any, error) { return mcptest.Failure("no"), nil })
		server.Handle("reject", func(*mcptest.Call) (any, error) {
			return nil, &mcptest.Error{Code: -32602, Message: "bad", Data: json.RawMessage(`{"a":1}`)}
		})
		s := open(t, transport, client.Options{})
		var shown []client.Progress
		r, err := s.Call(testContext(t), &client.Request{
			Name: "greet", Arguments: []byte(`{"name":"Ada"}`), Meta: []byte(`{"traceparent":"00-1"}`),
			Progress: func(p client.Progress) { shown = append(shown, p) },
		})
		if err != nil {
			t.Fatal(err)
		}
		if string(r.Structured) != `{"n":12345678901234567890}` || r.IsError || string(r.Meta) != `{"x":1}` {
			t.Errorf("structured %s, error %t, meta %s", r.Structured, r.IsError, r.Meta)
		}
		if want := `[{"text":"Hello 😀","type":"text"},{"type":"new"}]`; string(r.Content) != want {
			t.Errorf("content %s", r.Content)
		}
		if len(shown) != 1 || shown[0] != (client.Progress{Progress: 1, Total: 2, Message: "half"}) {
			t.Errorf("progress %v", shown)
		}
		got := server.Calls()[0]
		if string(got.Arguments) != `{"name":"Ada"}` || string(got.Meta["traceparent"]) != `"00-1"` {
			t.Errorf("the server got %s with %s", got.Arguments, got.Meta)
		}
		if r, err = s.Call(testContext(t), &client.Request{Name: "fail"}); err != nil || !r.IsError {
			t.Errorf("fail: %v, %v", r, err)
		}
		_, err = s.Call(testContext(t), &client.Request{Name: "reject"})
		e, ok := errors.AsType[*client.Error](err)
		if !ok || e.Kind != client.Rejected || e.RPC.Code != -32602 || e.RPC.Message != "bad" ||
			string(e.RPC.Data) != `{"a":1}` {
			t.Errorf("reject: %v", err)
		}
	})
}

func TestToolsAreListedAndChangesTold(t *testing.T) {
	eachWay(t, func(t *testing.T, server *mcptest.Server, transport client.Transport) {
		server.SetTools(mcptest.Tool("b", "B."), mcptest.Tool("a", "A.", "x"), mcptest.Tool("b", "B again."))
		server.TTL = 1500
		changed := make(chan struct{}, 10)
		s := open(t, transport, client.Options{Changed: func() { changed <- struct{}{} }})
		list, err := s.Tools(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, d := range list.Tools {
			names = append(names, d.Name)
		}
		if strings.Join(names, " ") != "b a b" || list.TTL != 1500*time.Millisecond {
			t.Errorf("%v, %s", names, list.TTL)
		}
		if string(list.Tools[0].Raw) != mcptest.Tool("b", "B.") {
			t.Errorf("raw %s", list.Tools[0].Raw)
		}
		if server.Era == mcptest.Legacy && !server.Stateful && strings.Contains(t.Name(), "HTTP") {
			return // such a server cannot tell
		}
		for deadline := time.Now().Add(maxWait); server.Listeners() == 0 && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		server.SetTools()
		select {
		case <-changed:
		case <-time.After(maxWait):
			t.Error("no change is told")
		}
	})
}

func TestACancelledCallEndsAtOnceAndTheServerIsTold(t *testing.T) {
	eachWay(t, func(t *testing.T, server *mcptest.Server, transport client.Transport) {
		begun, told := make(chan struct{}), make(chan struct{})
		server.Handle("wait", func(c *mcptest.Call) (any, error) {
			close(begun)
			<-c.Context.Done()
			close(told)
			return mcptest.Text("late"), nil
		})
		s := open(t, transport, client.Options{})
		ctx, cancel := context.WithCancelCause(testContext(t))
		gone := errors.New("the caller has gone")
		go func() {
			<-begun
			cancel(gone)
		}()
		_, err := s.Call(ctx, &client.Request{Name: "wait"})
		e, ok := errors.AsType[*client.Error](err)
		if !ok || e.Kind != client.Unknown || !errors.Is(err, gone) {
			t.Errorf("%v", err)
		}
		if server.Era == mcptest.Legacy && !server.Stateful && strings.Contains(t.Name(), "HTTP") {
			return // no session finds the call
		}
		select {
		case <-told:
		case <-time.After(maxWait):
			t.Error("the server is not told")
		}
		if _, err := s.Call(testContext(t), &client.Request{Name: "other"}); err != nil {
			t.Errorf("the next call: %v", err)
		}
	})
}

// TestLateAnswersDoNotEndTheSession has a program answer more cancelled calls than a session accepts messages that
// belong to nothing.
func TestLateAnswersDoNotEndTheSession(t *testing.T) {
	server := &mcptest.Server{Era: mcptest.Legacy}
	begun := make(chan struct{})
	server.Handle("wait", func(c *mcptest.Call) (any, error) {
		begun <- struct{}{}
		<-c.Context.Done()
		return mcptest.Text("late"), nil
	})
	s := open(t, overPipes(t, server), client.Options{})
	for range 150 {
		ctx, cancel := context.WithCancel(testContext(t))
		go func() {
			<-begun
			cancel()
		}()
		if _, err := s.Call(ctx, &client.Request{Name: "wait"}); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	for range 10 { // those are answered after the late ones
		if _, err := s.Call(testContext(t), &client.Request{Name: "other"}); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-s.Done():
		t.Error(s.Err())
	default:
	}
}

func TestAServerUpTo20251125AsksDuringTheCall(t *testing.T) {
	eachWay(t, func(t *testing.T, server *mcptest.Server, transport client.Transport) {
		if server.Era != mcptest.Legacy || !server.Stateful && strings.Contains(t.Name(), "HTTP") {
			t.Skip("it cannot ask")
		}
		server.Handle("ask", func(c *mcptest.Call) (any, error) {
			answer, err := c.Ask(mcptest.Form("Who?", "name"))
			if err != nil {
				return nil, err
			}
			return mcptest.Text("%s", answer), nil
		})
		s := open(t, transport, client.Options{Asks: []string{client.AskForm}})
		ask := func(_ context.Context, q client.Question) (client.Answer, error) {
			if q.Method != "elicitation/create" || !strings.Contains(string(q.Params), `"Who?"`) {
				t.Errorf("question %s %s", q.Method, q.Params)
			}
			return client.Answer{Result: []byte(`{"action":"accept","content":{"name":"Ada"}}`)}, nil
		}
		r, err := s.Call(testContext(t), &client.Request{Name: "ask", Ask: ask})
		if err != nil || !strings.Contains(string(r.Content), `Ada`) {
			t.Errorf("%v, %v", r, err)
		}
		r, err = s.Call(testContext(t), &client.Request{Name: "ask"})
		if err != nil || !strings.Contains(string(r.Content), `cancel`) {
			t.Errorf("without an Ask: %v, %v", r, err)
		}
	})
}

func TestAServerOf20260728AsksByItsResult(t *testing.T) {
	eachWay(t, func(t *testing.T, server *mcptest.Server, transport client.Transport) {
		if server.Era == mcptest.Legacy {
			t.Skip("it cannot ask")
		}
		server.Handle("ask", func(c *mcptest.Call) (any, error) {
			if c.State == "" {
				return mcptest.Required("s1", map[string]mcptest.Question{
					"who": mcptest.Form("Who?", "name"), "where": {Method: "roots/list", Params: struct{}{}},
				}), nil
			}
			return mcptest.Text("%s %s %s", c.State, c.Responses["who"], c.Responses["where"]), nil
		})
		roots := []client.Root{{URI: "file:///a"}}
		s := open(t, transport, client.Options{Asks: []string{client.AskForm}, Roots: roots})
		_, err := s.Call(testContext(t), &client.Request{Name: "ask"})
		required, ok := errors.AsType[*client.InputRequired](err)
		if !ok || len(required.Questions) != 1 || required.Questions[0].Key != "who" || required.State != "s1" {
			t.Fatalf("%v", err)
		}
		responses := required.Answered
		responses["who"] = client.Answer{Result: []byte(`{"action":"accept","content":{"name":"Ada"}}`)}
		r, err := s.Call(testContext(t), &client.Request{Name: "ask", Responses: responses, State: required.State})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"s1", "Ada", "file:///a"} {
			if !strings.Contains(string(r.Content), want) {
				t.Errorf("%s has no %s", r.Content, want)
			}
		}
	})
}

func TestALostSessionIsReported(t *testing.T) {
	server := &mcptest.Server{Era: mcptest.Legacy, Stateful: true}
	s := open(t, overHTTP(t, server), client.Options{})
	server.DropSessions()
	_, err := s.Call(testContext(t), &client.Request{Name: "x"})
	e, ok := errors.AsType[*client.Error](err)
	if !ok || e.Kind != client.SessionLost || e.Status != http.StatusNotFound {
		t.Errorf("%v", err)
	}
}

func TestASessionThatNobodyWaitsForIsEnded(t *testing.T) {
	server := &mcptest.Server{Era: mcptest.Legacy, Stateful: true}
	ctx, cancel := context.WithCancel(testContext(t))
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if bytes.Contains(body, []byte(`"initialize"`)) {
			cancel() // before the server answers
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		server.ServeHTTP(w, r)
	}))
	rt := client.NewRoundTripper(nil)
	_, err := client.Open(ctx, client.NewHTTP(client.HTTPConfig{URL: web.URL, RoundTripper: rt}), client.Options{})
	rt.CloseIdleConnections()
	web.Close()
	if n := server.Sessions(); !errors.Is(err, context.Canceled) || n != 0 {
		t.Errorf("%d sessions are open: %v", n, err)
	}
}

func TestCloseEndsTheSessionOfTheServerAndRunningCalls(t *testing.T) {
	eachWay(t, func(t *testing.T, server *mcptest.Server, transport client.Transport) {
		begun, release := make(chan struct{}), make(chan struct{})
		defer close(release)
		server.Handle("wait", func(c *mcptest.Call) (any, error) {
			close(begun)
			<-release
			return nil, errors.New("late")
		})
		s := open(t, transport, client.Options{})
		failed := make(chan error)
		go func() {
			_, err := s.Call(testContext(t), &client.Request{Name: "wait"})
			failed <- err
		}()
		<-begun
		s.Close()
		e, ok := errors.AsType[*client.Error](<-failed)
		if !ok || e.Kind != client.Unknown || !errors.Is(e, client.ErrClosed) {
			t.Errorf("%v", e)
		}
		_, err := s.Call(testContext(t), &client.Request{Name: "wait"})
		e, ok = errors.AsType[*client.Error](err)
		if !ok || e.Kind != client.NotSent || !errors.Is(e, client.ErrClosed) {
			t.Errorf("%v", err)
		}
		if n := server.Sessions(); n != 0 {
			t.Errorf("%d sessions are open", n)
		}
		<-s.Done()
	})
}
