package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"hatchel/adapters/mcp/client"
	"hatchel/adapters/mcp/client/mcptest"
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
			go func() {
				id := json.RawMessage(<-asked)
				c.Notify("notifications/cancelled", map[string]json.RawMessage{"requestId": id})
			}()
			answer, err := c.Ask(mcptest.Form("Who?", "name"))
			return mcptest.Text("%s", answer), err
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
