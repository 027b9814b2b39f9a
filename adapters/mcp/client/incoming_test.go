package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hatchel/adapters/mcp/client"
	"hatchel/adapters/mcp/client/mcptest"
	"hatchel/hcl/jsonscan"
)

// asks reports whether the server of a way can ask during a call.
func asks(t *testing.T, server *mcptest.Server) bool {
	return server.Era == mcptest.Legacy && (server.Stateful || !strings.Contains(t.Name(), "HTTP"))
}

func TestRequestsOfAServerUpTo20251125AreAnswered(t *testing.T) {
	eachWay(t, func(t *testing.T, server *mcptest.Server, transport client.Transport) {
		if !asks(t, server) {
			t.Skip("it cannot ask")
		}
		server.Handle("ask", func(c *mcptest.Call) (any, error) {
			var got []string
			for _, method := range []string{"ping", "roots/list", "tools/list", "sampling/createMessage"} {
				answer, err := c.Ask(mcptest.Question{Method: method, Params: struct{}{}})
				if err != nil {
					return nil, err
				}
				got = append(got, method+" "+string(answer))
			}
			return mcptest.Text("%s", strings.Join(got, "; ")), nil
		})
		s := open(t, transport, client.Options{Roots: []client.Root{{URI: "file:///a", Name: "a"}}})
		r, err := s.Call(testContext(t), &client.Request{Name: "ask"})
		if err != nil {
			t.Fatal(err)
		}
		const want = `ping {}; roots/list {\"roots\":[{\"uri\":\"file:///a\",\"name\":\"a\"}]}; tools/list ; ` +
			`sampling/createMessage `
		if !strings.Contains(string(r.Content), want) {
			t.Errorf("%s", r.Content)
		}
	})
}

func TestAQuestionEndsWhenTheServerOrTheCallDoes(t *testing.T) {
	eachWay(t, func(t *testing.T, server *mcptest.Server, transport client.Transport) {
		if !asks(t, server) {
			t.Skip("it cannot ask")
		}
		asked := make(chan string) // the ids of questions
		server.Handle("withdraw", func(c *mcptest.Call) (any, error) {
			go c.Ask(mcptest.Form("Who?", "name"))
			id := json.RawMessage(<-asked)
			c.Notify("notifications/cancelled", map[string]json.RawMessage{"requestId": id})
			return mcptest.Text("done"), nil
		})
		server.Handle("end", func(c *mcptest.Call) (any, error) {
			go c.Ask(mcptest.Form("Who?", "name"))
			<-asked
			return mcptest.Text("done"), nil
		})
		s := open(t, transport, client.Options{Asks: []string{client.AskForm}})
		ended := make(chan error, 2)
		ask := func(ctx context.Context, q client.Question) (client.Answer, error) {
			asked <- q.Key
			<-ctx.Done()
			ended <- ctx.Err()
			return client.Answer{}, ctx.Err()
		}
		for _, name := range []string{"withdraw", "end"} {
			_, err := s.Call(testContext(t), &client.Request{Name: name, Ask: ask})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("%s: the question ended with %v", name, err)
			}
		}
	})
}

// TestQuestionsWithEqualIDsAreKeptApart has a server ask with an id whose first question is open, and withdraw a
// question by an id that is written otherwise.
func TestQuestionsWithEqualIDsAreKeptApart(t *testing.T) {
	eachWay(t, func(t *testing.T, server *mcptest.Server, transport client.Transport) {
		if !asks(t, server) {
			t.Skip("it cannot ask")
		}
		next := make(chan struct{}) // the test has seen what was sent before
		server.Handle("ask", func(c *mcptest.Call) (any, error) {
			const question = `{"jsonrpc":"2.0","id":%s,"method":"elicitation/create","params":{"message":"%s"}}`
			send := func(id, message string) { c.Send(fmt.Appendf(nil, question, id, message)) }
			withdraw := func(id string) {
				c.Notify("notifications/cancelled", map[string]any{"requestId": json.RawMessage(id)})
			}
			send("1", "first")
			<-next
			send("1", "second")
			withdraw(`"1"`)
			withdraw("1.0")
			send(`"1"`, "third")
			<-next
			withdraw("1")
			send("1", "fourth")
			<-next
			return mcptest.Text("done"), nil
		})
		answers := make(chan string, 10)
		s := open(t, transport, client.Options{
			Asks: []string{client.AskForm}, Trace: func(sent bool, message []byte) {
				if sent && bytes.Contains(message, []byte(`"result"`)) {
					answers <- string(message)
				}
			},
		})
		asked, answer := make(chan string), make(chan struct{})
		ended := make(chan error, 1)
		go func() {
			_, err := s.Call(testContext(t), &client.Request{
				Name: "ask", Ask: func(ctx context.Context, q client.Question) (client.Answer, error) {
					message, _ := jsonscan.LookupText(q.Params, "message")
					asked <- message
					select {
					case <-ctx.Done():
						return client.Answer{}, ctx.Err()
					case <-answer:
						return client.Answer{Result: fmt.Appendf(nil, `{"action":"accept","content":{"of":"%s"}}`, message)}, nil
					}
				},
			})
			ended <- err
		}()
		expectFrom(t, asked, "first")
		next <- struct{}{}
		expectFrom(t, asked, "third")
		next <- struct{}{}
		expectFrom(t, asked, "fourth") // the first one has no answer
		for range 2 {
			answer <- struct{}{}
		}
		got := map[string]bool{}
		for range 2 {
			select {
			case text := <-answers:
				got[text] = true
			case <-time.After(maxWait):
				t.Fatalf("got %v", got)
			}
		}
		if !got[`{"jsonrpc":"2.0","id":"1","result":{"action":"accept","content":{"of":"third"}}}`] ||
			!got[`{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"of":"fourth"}}}`] {
			t.Errorf("got %v", got)
		}
		next <- struct{}{}
		expectFrom(t, ended, nil)
	})
}

func expectFrom[T comparable](t *testing.T, c <-chan T, want T) {
	t.Helper()
	select {
	case got := <-c:
		if got != want {
			t.Fatalf("got %v, want %v", got, want)
		}
	case <-time.After(maxWait):
		t.Fatalf("nothing came in place of %v", want)
	}
}

// TestACancelledRequestIsToldBeforeTheSessionEnds closes sessions as soon as a call is cancelled.
func TestACancelledRequestIsToldBeforeTheSessionEnds(t *testing.T) {
	eachWay(t, func(t *testing.T, server *mcptest.Server, transport client.Transport) {
		if strings.Contains(t.Name(), "HTTP") && server.Era != mcptest.Legacy {
			t.Skip("the end of the stream tells it")
		}
		began := make(chan struct{})
		server.Handle("wait", func(c *mcptest.Call) (any, error) {
			close(began)
			<-c.Context.Done()
			return mcptest.Text("late"), nil
		})
		s := open(t, transport, client.Options{})
		ctx, cancel := context.WithCancel(testContext(t))
		go func() {
			<-began
			cancel()
		}()
		if _, err := s.Call(ctx, &client.Request{Name: "wait"}); !errors.Is(err, context.Canceled) {
			t.Errorf("the call ended with %v", err)
		}
		s.Close()
		for end := time.Now().Add(maxWait); !slices.Contains(server.Methods(), "notifications/cancelled"); {
			if time.Now().After(end) {
				t.Fatalf("the server has received %q", server.Methods())
			}
			time.Sleep(time.Millisecond)
		}
	})
}

// TestLogsOfAProgramBelongToItsOnlyCall sends a log message while one call is open, and while two are.
func TestLogsOfAProgramBelongToItsOnlyCall(t *testing.T) {
	eachWay(t, func(t *testing.T, server *mcptest.Server, transport client.Transport) {
		if strings.Contains(t.Name(), "HTTP") {
			t.Skip("its streams belong to calls")
		}
		end := make(chan struct{})
		server.Handle("log", func(c *mcptest.Call) (any, error) {
			c.Log("info", "of one")
			return mcptest.Text("done"), nil
		})
		server.Handle("wait", func(*mcptest.Call) (any, error) {
			<-end
			return mcptest.Text("done"), nil
		})
		server.Handle("log beside", func(c *mcptest.Call) (any, error) {
			c.Log("info", "of two")
			c.Progress(1, 2, "after it")
			return mcptest.Text("done"), nil
		})
		var mu sync.Mutex
		var ofCalls, others []string
		note := func(list *[]string) func(client.Log) {
			return func(l client.Log) {
				mu.Lock()
				defer mu.Unlock()
				*list = append(*list, string(l.Data))
			}
		}
		s := open(t, transport, client.Options{Log: note(&others)})
		call := func(name string) {
			if _, err := s.Call(testContext(t), &client.Request{Name: name, Log: note(&ofCalls)}); err != nil {
				t.Error(err)
			}
		}
		call("log")
		waits := make(chan struct{})
		go func() {
			defer close(waits)
			call("wait")
		}()
		for !slices.ContainsFunc(server.Calls(), func(c *mcptest.Call) bool { return c.Name == "wait" }) {
			time.Sleep(time.Millisecond)
		}
		call("log beside")
		close(end)
		<-waits
		mu.Lock()
		defer mu.Unlock()
		if fmt.Sprint(ofCalls, others) != `["of one"] ["of two"]` {
			t.Errorf("of calls: %q, others: %q", ofCalls, others)
		}
	})
}

// TestAQuestionFollowsTheProgressBeforeIt asks after progress and a log message.
func TestAQuestionFollowsTheProgressBeforeIt(t *testing.T) {
	eachWay(t, func(t *testing.T, server *mcptest.Server, transport client.Transport) {
		if !asks(t, server) {
			t.Skip("it cannot ask")
		}
		server.Handle("ask", func(c *mcptest.Call) (any, error) {
			c.Progress(1, 2, "")
			c.Log("info", "a")
			answer, err := c.Ask(mcptest.Form("Who?", "name"))
			return mcptest.Text("%s", answer), err
		})
		s := open(t, transport, client.Options{Asks: []string{client.AskForm}})
		for range 20 {
			var heard atomic.Int32
			_, err := s.Call(testContext(t), &client.Request{
				Name: "ask", Progress: func(client.Progress) { heard.Add(1) }, Log: func(client.Log) { heard.Add(1) },
				Ask: func(context.Context, client.Question) (client.Answer, error) {
					if n := heard.Load(); n != 2 {
						t.Errorf("%d of 2 messages were heard before the question", n)
					}
					return client.Answer{Result: []byte(`{"action":"decline"}`)}, nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}
