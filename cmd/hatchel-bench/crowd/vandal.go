package crowd

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// bodies are no requests, or requests that nobody should send.
var bodies = []string{
	"", "{", "[]", "null", "7", `"x"`, "\xff\xfe", "{}", `{"jsonrpc":"1.0","id":1,"method":"ping"}`,
	`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":7}`, `{"jsonrpc":"2.0","id":1}`,
	`{"jsonrpc":"2.0","id":1,"method":"no/such"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say_hello","arguments":7}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say_hello","arguments":{"name":"\ud800"}}}`,
	`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":"ask-1","result":{}}`, `{"jsonrpc":"2.0","id":"ask-1","error":7}`,
	`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"xyz"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":7}}`,
	`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
	`{"jsonrpc":"2.0","method":"notifications/no/such"}`,
	strings.Repeat("[", 100_000), `{"a":` + strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1001), strings.Repeat("x", 5<<20),
}

// heads are lines of the head of a request that do not fit it.
var heads = []string{
	"", "MCP-Protocol-Version: 2026-07-28\r\n", "MCP-Protocol-Version: 1999-01-01\r\n", "Mcp-Session-Id: nobody\r\n", "MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: \x01\r\n",
	"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: =?base64?!?=\r\n", "Content-Type: text/plain\r\n", "Accept: image/png\r\n", "Origin: http://evil.example\r\n",
	"Transfer-Encoding: chunked\r\n", "Last-Event-ID: 99999999999999999999-1\r\n", "X-Filler: " + strings.Repeat("x", 70_000) + "\r\n",
}

var (
	verbs = []string{"POST", "POST", "POST", "POST", "GET", "DELETE", "PUT", "BREW"}
	paths = []string{"/mcp", "/mcp", "/mcp", "/mcp/office", "/mcp/nobody", "/mcp/", "/", "/admin/reload/x", "/readyz"}
)

func any1[T any](of []T) T { return of[rand.IntN(len(of))] }

// vandalize sends something that is wrong in more ways than one. Whatever the answer is, it must not be that the server is at fault.
func (s *soak) vandalize(ctx context.Context) error {
	conn, err := reach(ctx, s.host)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	body := any1(bodies)
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n%sContent-Length: %d\r\n\r\n",
		any1(verbs), any1(paths), s.host, any1(heads), len(body))
	// The server may have answered and closed before it has read everything.
	go io.WriteString(conn, head+body)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	s.tally.add("a request that is wrong")
	if err != nil {
		return nil
	}
	defer res.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(res.Body, 2000))
	if res.StatusCode >= 500 && res.StatusCode != http.StatusNotImplemented || strings.Contains(string(said), "-32603") {
		s.faults.add("the server took the blame", "%s %s for %.200s %.200s", res.Status, said, head, body)
	}
	return nil
}
