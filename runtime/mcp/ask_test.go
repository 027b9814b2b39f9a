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

	"hatchel/runtime/mcp"
)

// visitor is a legacy client over HTTP that minds what happens to each of its connections.
type visitor struct {
	*visit
	headers []string // of its session
}

// enter begins a session.
func (v *visit) enter(revision string) *visitor { return &visitor{v, v.sessionOf(revision)} }

// send is visit.send in the session.
func (v *visitor) send(ctx context.Context, method, body string, headers ...string) *http.Response {
	v.t.Helper()
	return v.visit.send(ctx, method, body, slices.Concat(v.headers, headers)...)
}

// call begins a call, the reply to which is to be read yet.
func (v *visitor) call(ctx context.Context, id int, tool string) *http.Response {
	return v.send(ctx, "POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q}}`, id, tool))
}

// answer answers the question with this id.
func (v *visitor) answer(id, name string) {
	reply := v.send(v.t.Context(), "POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":{"action":"accept","content":{"name":%q}}}`, id, name))
	reply.Body.Close()
	if reply.StatusCode != http.StatusAccepted {
		v.t.Errorf("the answer got %s", reply.Status)
	}
}

// until reads the lines of a stream up to one that contains what, and returns the last id before it.
func (v *visitor) until(reply *http.Response, what string) (id string) {
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

// newDesk returns a shop that reports what its questions came to.
func newDesk() *shop {
	s := newShop()
	s.freed, s.stopped = make(chan struct{}), make(chan error, 10)
	return s
}

// atTheDesk is visiting such a shop.
func atTheDesk(t *testing.T, f func(t *testing.T, v *visit)) {
	visitingShop(t, newDesk, mcp.Options{}, f)
}

func TestQuestionWaitsForAClientThatComesBack(t *testing.T) {
	for _, revision := range []string{"2025-03-26", "2025-11-25"} {
		t.Run(revision, func(t *testing.T) {
			atTheDesk(t, func(t *testing.T, desk *visit) {
				v := desk.enter(revision)
				ctx, hangUp := context.WithCancel(t.Context())
				stream := v.call(ctx, 2, "ask")
				id := v.until(stream, `"id":"ask-1","method":"elicitation/create"`)
				hangUp()
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
	atTheDesk(t, func(t *testing.T, desk *visit) {
		ada, eve := desk.enter("2025-11-25"), desk.enter("2025-11-25")
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
	atTheDesk(t, func(t *testing.T, desk *visit) {
		v := desk.enter("2025-11-25")
		stream := v.call(t.Context(), 2, "ask")
		defer stream.Body.Close()
		v.until(stream, `"id":"ask-1"`)
		v.send(t.Context(), "DELETE", "").Body.Close()
		if err := <-desk.shop.stopped; err == nil || !strings.Contains(err.Error(), "session has ended") {
			t.Errorf("the question came to %v", err)
		}
	})
}

func TestQuestionKeepsItsStreamAlive(t *testing.T) {
	atTheDesk(t, func(t *testing.T, desk *visit) {
		v := desk.enter("2025-11-25")
		stream := v.call(t.Context(), 2, "ask-briefly")
		defer stream.Body.Close()
		all, err := io.ReadAll(stream.Body)
		said := string(all)
		// After 5 s, and from then on each 15 s.
		if n := strings.Count(said, ": keep-alive\n\n"); err != nil || n != 6 {
			t.Errorf("%d keep-alives in %s, %v", n, said, err)
		}
		ask, withdrawn, reply := strings.Index(said, `"elicitation/create"`), strings.Index(said, `"notifications/cancelled"`), strings.Index(said, `"id":2,`)
		if ask < 0 || ask > withdrawn || withdrawn > reply {
			t.Errorf("in the wrong order: %s", said)
		}
	})
}

func TestShutdownLetsAClientAnswer(t *testing.T) {
	atTheDesk(t, func(t *testing.T, desk *visit) {
		v := desk.enter("2025-11-25")
		stream := v.call(t.Context(), 2, "ask")
		defer stream.Body.Close()
		v.until(stream, `"id":"ask-1"`)
		done := make(chan error, 1)
		go func() { done <- desk.server.Shutdown(t.Context()) }()
		synctest.Wait()
		v.answer("ask-1", "Ada")
		v.until(stream, `\"name\":\"Ada\"`)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestShutdownDoesNotWaitForAnAnswerForGood(t *testing.T) {
	atTheDesk(t, func(t *testing.T, desk *visit) {
		v := desk.enter("2025-11-25")
		stream := v.call(t.Context(), 2, "ask-briefly")
		defer stream.Body.Close()
		v.until(stream, `"id":"ask-1"`)
		ctx, giveUp := context.WithCancelCause(t.Context())
		giveUp(errors.New("no patience"))
		if err := desk.server.Shutdown(ctx); err == nil || err.Error() != "no patience" {
			t.Errorf("Shutdown: %v", err)
		}
		if err := desk.server.Shutdown(t.Context()); err != nil { // until the tool gives up
			t.Error(err)
		}
	})
}

func TestNobodyIsAskedAfterTheReply(t *testing.T) {
	atTheDesk(t, func(t *testing.T, desk *visit) {
		v := desk.enter("2025-11-25")
		v.call(t.Context(), 2, "ask-late").Body.Close()
		close(desk.shop.freed)
		if err := <-desk.shop.stopped; !errors.Is(err, mcp.ErrUnreachable) {
			t.Errorf("the question came to %v", err)
		}
	})
}

func TestNobodyIsAskedWithoutAServer(t *testing.T) {
	req := &mcp.CallRequest{Caller: &mcp.Caller{Revision: mcp.Revision20251125}}
	if _, err := req.Ask(t.Context(), whoIsIt); !errors.Is(err, mcp.ErrUnreachable) {
		t.Error(err)
	}
}

func TestNothingIsAskedWhenItIsTooLate(t *testing.T) {
	atTheDesk(t, func(t *testing.T, desk *visit) {
		v := desk.enter("2025-11-25")
		reply := v.call(t.Context(), 2, "ask-too-late")
		defer reply.Body.Close()
		all, _ := io.ReadAll(reply.Body)
		if strings.Contains(string(all), "ask-1") || !strings.Contains(string(all), "too late") {
			t.Errorf("%s", all)
		}
	})
}

// streamDesk is overPipes to a client that has introduced itself. What the server says comes out of lines.
func streamDesk(t *testing.T, s *mcp.Server) (client *io.PipeWriter, lines *bufio.Scanner, served <-chan error) {
	client, replies, served := overPipes(t, s)
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
				s := mcp.New(newDesk(), mcp.Options{})
				client, lines, served := streamDesk(t, s)
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
		s := mcp.New(newDesk(), mcp.Options{})
		client, lines, served := streamDesk(t, s)
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

func TestAnswerIsKeptWhenTheNextOneArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mcp.New(newDesk(), mcp.Options{})
		client, lines, served := streamDesk(t, s)
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
