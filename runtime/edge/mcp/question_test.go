package mcp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"hatchel/runtime/edge/mcp"
)

// sessionClient is a legacy client over HTTP that controls each of its connections.
type sessionClient struct {
	*testClient
	headers []string // of its session
}

// openSession opens a session.
func (v *testClient) openSession(revision string) *sessionClient {
	return &sessionClient{v, v.sessionHeadersFor(revision)}
}

// send is testClient.send with the headers of the session.
func (v *sessionClient) send(ctx context.Context, method, body string, headers ...string) *http.Response {
	v.t.Helper()
	return v.testClient.send(ctx, method, body, slices.Concat(v.headers, headers)...)
}

// call starts a call and returns the response with its body unread.
func (v *sessionClient) call(ctx context.Context, id int, tool string) *http.Response {
	return v.send(ctx, "POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q}}`, id, tool))
}

// answer answers the question with this id.
func (v *sessionClient) answer(id, name string) {
	reply := v.send(v.t.Context(), "POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":{"action":"accept","content":{"name":%q}}}`, id, name))
	reply.Body.Close()
	if reply.StatusCode != http.StatusAccepted {
		v.t.Errorf("the answer got %s", reply.Status)
	}
}

// until reads the lines of a stream up to one that contains what. It returns the last event id
// before it.
func (v *sessionClient) until(reply *http.Response, what string) (id string) {
	lines := bufio.NewScanner(reply.Body)
	for lines.Scan() {
		if given, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			id = given
		}
		if strings.Contains(lines.Text(), what) {
			return id
		}
	}
	v.t.Errorf("the stream ended without %s", what)
	return id
}

// newAskingHandler returns a handler that reports the errors of its questions in stopped.
func newAskingHandler() *fakeHandler {
	s := newFakeHandler()
	s.release, s.stopped = make(chan struct{}), make(chan error, 10)
	return s
}

// withAskingHandler is withServer with such a handler.
func withAskingHandler(t *testing.T, f func(t *testing.T, v *testClient)) {
	withHandler(t, newAskingHandler, mcp.Options{}, f)
}

func TestQuestionWaitsForAClientThatReturns(t *testing.T) {
	for _, revision := range []string{"2025-03-26", "2025-11-25"} {
		t.Run(revision, func(t *testing.T) {
			withAskingHandler(t, func(t *testing.T, c *testClient) {
				v := c.openSession(revision)
				ctx, disconnect := context.WithCancel(t.Context())
				stream := v.call(ctx, 2, "ask")
				id := v.until(stream, `"id":"ask-1","method":"elicitation/create"`)
				disconnect()
				stream.Body.Close()
				synctest.Wait()

				before, _, _ := strings.Cut(id, "-")
				back := v.send(t.Context(), "GET", "", "Last-Event-ID", before+"-0")
				defer back.Body.Close()
				v.until(back, `"id":"ask-1","method":"elicitation/create"`)
				v.answer("ask-1", "Ada")
				v.until(back, `"id":2,"result":{"content":[{"type":"text","text":"{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}"}]}`)
			})
		})
	}
}

func TestSessionsDoNotAnswerEachOthersQuestions(t *testing.T) {
	withAskingHandler(t, func(t *testing.T, c *testClient) {
		ada, eve := c.openSession("2025-11-25"), c.openSession("2025-11-25")
		asksAda, asksEve := ada.call(t.Context(), 2, "ask"), eve.call(t.Context(), 2, "ask")
		defer asksAda.Body.Close()
		defer asksEve.Body.Close()
		ada.until(asksAda, `"id":"ask-1"`)
		eve.until(asksEve, `"id":"ask-1"`)
		eve.answer("ask-1", "Eve")
		eve.answer("ask-1", "Eve again")
		eve.until(asksEve, `\"name\":\"Eve\"`)
		synctest.Wait()
		ada.answer("ask-1", "Ada")
		ada.until(asksAda, `\"name\":\"Ada\"`)
	})
}

func TestEndOfASessionEndsItsQuestions(t *testing.T) {
	withAskingHandler(t, func(t *testing.T, c *testClient) {
		v := c.openSession("2025-11-25")
		stream := v.call(t.Context(), 2, "ask")
		defer stream.Body.Close()
		v.until(stream, `"id":"ask-1"`)
		v.send(t.Context(), "DELETE", "").Body.Close()
		if err := <-c.handler.stopped; err == nil || !strings.Contains(err.Error(), "session has ended") {
			t.Errorf("the question returned %v", err)
		}
	})
}

func TestPendingQuestionSendsKeepAlives(t *testing.T) {
	withAskingHandler(t, func(t *testing.T, c *testClient) {
		v := c.openSession("2025-11-25")
		stream := v.call(t.Context(), 2, "ask-briefly")
		defer stream.Body.Close()
		all, err := io.ReadAll(stream.Body)
		text := string(all)
		// The first after 5 s, the others every 15 s.
		if n := strings.Count(text, ": keep-alive\n\n"); err != nil || n != 6 {
			t.Errorf("%d keep-alives in %s, %v", n, text, err)
		}
		ask, cancelled := strings.Index(text, `"elicitation/create"`), strings.Index(text, `"notifications/cancelled"`)
		reply := strings.Index(text, `"id":2,`)
		if ask < 0 || ask > cancelled || cancelled > reply {
			t.Errorf("the order is wrong: %s", text)
		}
	})
}

func TestShutdownLetsAClientAnswer(t *testing.T) {
	withAskingHandler(t, func(t *testing.T, c *testClient) {
		v := c.openSession("2025-11-25")
		stream := v.call(t.Context(), 2, "ask")
		defer stream.Body.Close()
		v.until(stream, `"id":"ask-1"`)
		done := make(chan error, 1)
		go func() { done <- c.server.Shutdown(t.Context()) }()
		synctest.Wait()
		v.answer("ask-1", "Ada")
		v.until(stream, `\"name\":\"Ada\"`)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestShutdownStopsWaitingForAnAnswerWhenItsContextEnds(t *testing.T) {
	withAskingHandler(t, func(t *testing.T, c *testClient) {
		v := c.openSession("2025-11-25")
		stream := v.call(t.Context(), 2, "ask-briefly")
		defer stream.Body.Close()
		v.until(stream, `"id":"ask-1"`)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("too slow"))
		if err := c.server.Shutdown(ctx); err == nil || err.Error() != "too slow" {
			t.Errorf("Shutdown: %v", err)
		}
		if err := c.server.Shutdown(t.Context()); err != nil { // until the tool times out
			t.Error(err)
		}
	})
}

func TestQuestionAfterTheReplyFails(t *testing.T) {
	withAskingHandler(t, func(t *testing.T, c *testClient) {
		v := c.openSession("2025-11-25")
		v.call(t.Context(), 2, "ask-late").Body.Close()
		close(c.handler.release)
		if err := <-c.handler.stopped; !errors.Is(err, mcp.ErrUnreachable) {
			t.Errorf("the question returned %v", err)
		}
	})
}

func TestQuestionWithoutAServerFails(t *testing.T) {
	req := &mcp.CallRequest{Caller: &mcp.Caller{Revision: mcp.Revision20251125}}
	if _, err := req.Ask(t.Context(), askName); !errors.Is(err, mcp.ErrUnreachable) {
		t.Error(err)
	}
}

func TestQuestionWithAnEndedContextIsNotSent(t *testing.T) {
	withAskingHandler(t, func(t *testing.T, c *testClient) {
		v := c.openSession("2025-11-25")
		reply := v.call(t.Context(), 2, "ask-too-late")
		defer reply.Body.Close()
		all, _ := io.ReadAll(reply.Body)
		if strings.Contains(string(all), "ask-1") || !strings.Contains(string(all), "too late") {
			t.Errorf("%s", all)
		}
	})
}

// startInitializedStream is serveOverPipes to a client that has introduced itself. What the server says
// comes out of lines.
func startInitializedStream(t *testing.T, s *mcp.Server) (client *io.PipeWriter, lines *bufio.Scanner, served <-chan error) {
	client, replies, served := serveOverPipes(t, s)
	lines = bufio.NewScanner(replies)
	io.WriteString(client, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`+"\n")
	lines.Scan()
	return client, lines, served
}

func TestQuestionsEndWithTheStreams(t *testing.T) {
	for name, end := range map[string]func(client *io.PipeWriter, s *mcp.Server){
		"end of input": func(client *io.PipeWriter, _ *mcp.Server) { client.Close() },
		"shutdown":     func(_ *io.PipeWriter, s *mcp.Server) { s.Shutdown(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(newAskingHandler(), mcp.Options{})
				client, lines, served := startInitializedStream(t, s)
				io.WriteString(client, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask"}}`+"\n")
				if lines.Scan(); !strings.Contains(lines.Text(), `"id":"ask-1"`) {
					t.Error(lines.Text())
				}
				go end(client, s)
				if lines.Scan(); !strings.Contains(lines.Text(), `"id":2,"result":{"content":[{"type":"text","text":"cannot ask"}]}`) {
					t.Error(lines.Text())
				}
				if err := <-served; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestQuestionsOfOneCallAreAnsweredInAnyOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(newAskingHandler(), mcp.Options{})
		client, lines, served := startInitializedStream(t, s)
		io.WriteString(client, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask-all"}}`+"\n")
		asked := map[string]string{}
		for range 3 {
			lines.Scan()
			var id, method string
			fmt.Sscanf(strings.NewReplacer(`,`, ` `, `:`, ` `).Replace(lines.Text()), `{"jsonrpc" "2.0" "id" %q "method" %q`, &id, &method)
			asked[method] = id
		}
		for _, method := range []string{"roots/list", "sampling/createMessage", "elicitation/create"} {
			fmt.Fprintf(client, `{"jsonrpc":"2.0","id":%q,"result":[%q]}`+"\n", asked[method], method)
		}
		lines.Scan()
		if want := `who: [\"elicitation/create\"]; summary: [\"sampling/createMessage\"]; where: [\"roots/list\"]`; !strings.Contains(lines.Text(), want) {
			t.Errorf("got %s of %v", lines.Text(), asked)
		}
		client.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

func TestAnswerStaysValidWhenTheNextOneArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(newAskingHandler(), mcp.Options{})
		client, lines, served := startInitializedStream(t, s)
		io.WriteString(client, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask-twice"}}`+"\n")
		for _, answer := range []string{`{"jsonrpc":"2.0","id":"ask-1","result":[1]}`, `{"jsonrpc":"2.0","id":"ask-2","result":[2]}`} {
			lines.Scan()
			io.WriteString(client, answer+"\n")
			synctest.Wait()
		}
		if lines.Scan(); !strings.Contains(lines.Text(), `"text":"[1], [2]"`) {
			t.Error(lines.Text())
		}
		client.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}
