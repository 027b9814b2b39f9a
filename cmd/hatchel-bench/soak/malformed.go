package soak

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"
)

// malformedBodies are not requests, or requests that no client should send.
var malformedBodies = []string{
	"", "{", "[]", "null", "7", `"x"`, "\xff\xfe", "{}", `{"jsonrpc":"1.0","id":1,"method":"ping"}`,
	`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":7}`, `{"jsonrpc":"2.0","id":1}`,
	`{"jsonrpc":"2.0","id":1,"method":"no/such"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say_hello","arguments":7}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say_hello","arguments":{"name":"\ud800"}}}`,
	`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":"ask-1","result":{}}`,
	`{"jsonrpc":"2.0","id":"ask-1","error":7}`,
	`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"xyz"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":7}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"multi_input",` +
		`"requestState":"forged","arguments":{},` + modernMeta + `}}`,
	`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
	`{"jsonrpc":"2.0","method":"notifications/no/such"}`,
	strings.Repeat("[", 100_000), `{"a":` + strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1001),
	strings.Repeat("x", 5<<20),
}

// malformedHeaders are header lines that do not fit the request.
var malformedHeaders = []string{
	"", "MCP-Protocol-Version: 2026-07-28\r\n", "MCP-Protocol-Version: 1999-01-01\r\n", "Mcp-Session-Id: nobody\r\n",
	"MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: \x01\r\n",
	"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: =?base64?!?=\r\n",
	"Content-Type: text/plain\r\n",
	"Accept: image/png\r\n", "Origin: http://evil.example\r\n", "Transfer-Encoding: chunked\r\n",
	"Last-Event-ID: 99999999999999999999-1\r\n", "X-Filler: " + strings.Repeat("x", 70_000) + "\r\n",
}

var (
	malformedMethods = []string{"POST", "POST", "POST", "POST", "GET", "DELETE", "PUT", "BREW"}
	malformedPaths   = []string{"/mcp", "/mcp", "/mcp", "/mcp/office", "/mcp/nobody", "/mcp/", "/", "/admin/reload/x",
		"/readyz"}
)

// sendMalformed sends a request that is wrong in more ways than one. The answer must not be an
// internal error.
func (r *run) sendMalformed(ctx context.Context) error {
	conn, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	body := pick(malformedBodies)
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\n%sContent-Length: %d\r\n\r\n",
		pick(malformedMethods), pick(malformedPaths), r.server.host, pick(malformedHeaders), len(body))
	go io.WriteString(conn, head+body) // the server may answer and close before it has read everything
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	r.count("malformed request")
	if err != nil {
		return nil // the server may close the connection instead
	}
	defer res.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(res.Body, 2000))
	if res.StatusCode >= 500 && res.StatusCode != http.StatusNotImplemented || strings.Contains(string(answer),
		"-32603") {
		r.fail("internal error", "%s %s for %.200s %.200s", res.Status, answer, head, body)
	}
	return nil
}

// stall sends a part of a request, or many requests, reads nothing, and leaves after a while.
func (r *run) stall(ctx context.Context) error {
	request := r.rawRequest(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}`)
	if rand.IntN(2) == 0 {
		request = request[:rand.IntN(len(request))]
	} else {
		request = strings.Repeat(request, 1+rand.IntN(50))
	}
	return r.sendAndWait(ctx, "client stalled", request)
}

// listenWithoutReading opens a subscription and never reads it.
func (r *run) listenWithoutReading(ctx context.Context) error {
	return r.sendAndWait(ctx, "listener read nothing",
		r.rawRequest(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen",`+
			`"params":{"notifications":{"toolsListChanged":true,`+
			`"resourceSubscriptions":["load://notice","load://board"]},`+modernMeta+`}}`))
}

func (r *run) sendAndWait(ctx context.Context, event, request string) error {
	conn, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	conn.SetWriteDeadline(time.Now().Add(2 * time.Second))
	conn.Write([]byte(request)) // the server may refuse to read on
	r.count(event)
	sleep(ctx, time.Duration(rand.IntN(3000))*time.Millisecond)
	return nil
}

func (r *run) rawRequest(body string) string {
	method := strings.Split(body, `"`)[9]
	return fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: %s\r\nMcp-Method: "+
		"%s\r\nContent-Length: %d\r\n\r\n%s",
		r.server.host, modern, method, len(body), body)
}

func (r *run) open(ctx context.Context) (net.Conn, error) {
	var dialer net.Dialer
	return dialer.DialContext(ctx, "tcp", r.server.host)
}
