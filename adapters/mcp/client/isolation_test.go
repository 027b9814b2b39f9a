package client_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"hatchel/adapters/mcp/client"
	"hatchel/adapters/mcp/client/mcptest"
)

// TestForeignOldAndGuessedIDsChangeNothing has a server send answers and progress for other calls during each call.
func TestForeignOldAndGuessedIDsChangeNothing(t *testing.T) {
	eachWay(t, func(t *testing.T, server *mcptest.Server, transport client.Transport) {
		var mu sync.Mutex
		var seen []string // ids of calls, as the server has received them
		server.Handle("x", func(c *mcptest.Call) (any, error) {
			token := string(c.Meta["progressToken"]) // the id of the call
			mu.Lock()
			old := append([]string{`"1-0000000000000000"`, `1`, `null`, `"1"`}, seen...)
			seen = append(seen, token)
			mu.Unlock()
			for _, id := range old {
				if strings.Contains(t.Name(), "HTTP") || id != token {
					c.Send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"content":[],"isError":true}}`, id))
				}
				c.Notify("notifications/progress", map[string]any{"progressToken": json.RawMessage(id), "progress": 9})
			}
			return mcptest.Text("%s", c.Arguments), nil
		})
		s := open(t, transport, client.Options{})
		for i := range 5 {
			r, err := s.Call(testContext(t), &client.Request{
				Name: "x", Arguments: fmt.Appendf(nil, `{"i":%d}`, i),
				Progress: func(p client.Progress) { t.Errorf("a progress of another call: %v", p) },
			})
			if err != nil || r.IsError || !strings.Contains(string(r.Content), fmt.Sprint(i)) {
				t.Errorf("call %d: %v, %v", i, r, err)
			}
		}
	})
}

// TestOneHundredCallersWithEqualArgumentsGetTheirOwnAnswers delays calls so that their answers come in another order.
func TestOneHundredCallersWithEqualArgumentsGetTheirOwnAnswers(t *testing.T) {
	eachWay(t, func(t *testing.T, server *mcptest.Server, transport client.Transport) {
		server.Handle("x", func(c *mcptest.Call) (any, error) {
			id := c.Meta["caller"]
			time.Sleep(time.Duration(len(id)*37%5) * time.Millisecond)
			c.Progress(1, 2, string(id))
			c.Notify("notifications/message", map[string]any{"level": "info", "data": id})
			return mcptest.Structured(map[string]any{"caller": id}), nil
		})
		s := open(t, transport, client.Options{})
		var callers sync.WaitGroup
		for i := range 100 {
			callers.Go(func() {
				mine := fmt.Sprintf("%0*d", 1+i%7, i)
				r, err := s.Call(testContext(t), &client.Request{
					Name: "x", Arguments: []byte(`{"a":1}`), Meta: fmt.Appendf(nil, `{"caller":"%s"}`, mine),
					Progress: func(p client.Progress) {
						if p.Message != `"`+mine+`"` {
							t.Errorf("%s got the progress of %s", mine, p.Message)
						}
					},
					Log: func(l client.Log) {
						if string(l.Data) != `"`+mine+`"` {
							t.Errorf("%s got the log of %s", mine, l.Data)
						}
					},
				})
				if err != nil || string(r.Structured) != `{"caller":"`+mine+`"}` {
					t.Errorf("%s: %v, %v", mine, r, err)
				}
			})
		}
		callers.Wait()
	})
}
