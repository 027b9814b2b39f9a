package server

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"hatchel/adapters/mcp/client/mcptest"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/mcp/legacy"
	"hatchel/runtime/load/hold"
)

// pipeClient is a client that speaks to a host over pipes.
type pipeClient struct {
	t    *testing.T
	in   io.Writer
	said chan pipeMessage
}

type pipeMessage struct {
	ID     any
	Method string
	Params struct {
		RequestID any
		Message   string
	}
	Result struct {
		ResultType, RequestState string
		Content                  []struct{ Text string }
	}
}

func newPipeClient(t *testing.T, s *heldServer) *pipeClient {
	fromClient, in := io.Pipe()
	out, toClient := io.Pipe()
	c := &pipeClient{t, in, make(chan pipeMessage, 100)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		mcp.New(s.host, mcp.Options{Legacy: legacy.New(legacy.Options{})}).For("").Serve(t.Context(), fromClient, toClient)
		toClient.Close()
	}()
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var m pipeMessage
			if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
				t.Error(err)
			}
			c.said <- m
		}
	}()
	t.Cleanup(func() {
		in.Close()
		<-done
	})
	return c
}

func (c *pipeClient) send(format string, args ...any) { fmt.Fprintf(c.in, format+"\n", args...) }

func (c *pipeClient) next() pipeMessage {
	c.t.Helper()
	select {
	case m := <-c.said:
		return m
	case <-time.After(30 * time.Second):
		c.t.Fatal("nothing came")
		return pipeMessage{}
	}
}

// newWithdrawing returns a server in front of one that asks a question, and goes on without the answer after a signal:
// it withdraws the question, or ends the call.
func newWithdrawing(t *testing.T, withdraws bool) (s *upstreamServer, goOn chan struct{}) {
	upstream := &mcptest.Server{Era: mcptest.Legacy, Stateful: true}
	s = newUpstreamServer(t, upstream, hold.Checker{}, "asks = [\"elicitation\"]\n  sessions = \"call\"")
	goOn = make(chan struct{})
	upstream.Handle("create_issue", func(c *mcptest.Call) (any, error) {
		const question = `{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"message":"Who?",` +
			`"requestedSchema":{"type":"object","properties":{}}}}`
		c.Send([]byte(question))
		<-goOn
		if withdraws {
			c.Notify("notifications/cancelled", map[string]string{"requestId": "q1"})
		}
		return mcptest.Text("went on"), nil
	})
	return s, goOn
}

// A server that no longer waits for an answer, such as one whose questions time out, does not let the call wait for it.
func TestAQuestionThatItsServerWithdrawsIsWithdrawnFromTheClient(t *testing.T) {
	for name, withdraws := range map[string]bool{"withdrawn": true, "left open": false} {
		t.Run(name+", on the stream", func(t *testing.T) {
			s, goOn := newWithdrawing(t, withdraws)
			c := newPipeClient(t, s.heldServer)
			c.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
				`"capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}`)
			c.next()
			c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			for id := range 2 { // the second call is asked as the first one was
				c.send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"report","arguments":{"title":"x"}}}`, id+1)
				asked := c.next()
				if asked.Method != "elicitation/create" || asked.Params.Message != "github asks: Who?" {
					t.Fatalf("%+v", asked)
				}
				goOn <- struct{}{}
				if m := c.next(); m.Method != "notifications/cancelled" || m.Params.RequestID != asked.ID {
					t.Fatalf("the question %v: %+v", asked.ID, m)
				}
				if m := c.next(); len(m.Result.Content) != 1 || m.Result.Content[0].Text != "went on" {
					t.Errorf("%+v", m)
				}
			}
		})
		t.Run(name+", by another request", func(t *testing.T) {
			s, goOn := newWithdrawing(t, withdraws)
			c := newPipeClient(t, s.heldServer)
			call := func(id int, further string) pipeMessage {
				c.send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"report","arguments":{"title":"x"},"_meta":{`+
					`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":`+
					`{"elicitation":{}}}%s}}`, id, further)
				return c.next()
			}
			asked := call(1, "")
			if asked.Result.ResultType != "input_required" {
				t.Fatalf("%+v", asked)
			}
			goOn <- struct{}{}
			eventually(t, "the session of the call has ended", func() bool { return s.upstream.Sessions() == 0 })
			late := call(2, fmt.Sprintf(`,"requestState":%q,"inputResponses":{"github.1":{"action":"accept","content":{}}}`,
				asked.Result.RequestState))
			const want = "withdrew its question before the answer came, and went on without it"
			if len(late.Result.Content) != 1 || !strings.Contains(late.Result.Content[0].Text, want) ||
				!strings.Contains(late.Result.Content[0].Text, "it is not known whether the call took effect") {
				t.Errorf("%+v", late)
			}
		})
	}
}
