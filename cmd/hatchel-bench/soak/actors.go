package soak

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hatchel/internal/ctxtime"
)

// useHTTP connects a client over HTTP and sends a few requests.
func (r *run) useHTTP(ctx context.Context, era string) error {
	toolset := pick([]string{"", "", "office"})
	session, closeSession, err := dial(ctx, r.server.Host, toolset, era, answeringClient(r.count))
	if err != nil {
		return err
	}
	defer closeSession()
	return r.use(ctx, session, era)
}

// useStdio starts a server of its own over standard input and output and sends it a few requests.
func (r *run) useStdio(ctx context.Context) error {
	log, err := os.OpenFile(filepath.Join(r.Folder, "stdio.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := command(context.WithoutCancel(ctx), r.Binary, r.folder.path, "serve", "--stdio", r.folder.path)
	cmd.Stderr = log
	era := pick(eras)
	r.edits.Lock() // a folder that does not load does not start
	session, err := connect(ctx, &mcp.CommandTransport{Command: cmd}, era, answeringClient(r.count))
	r.edits.Unlock()
	if err != nil {
		return fmt.Errorf("stdio: %w", err)
	}
	if err := r.use(ctx, session, era+" over stdio"); err != nil {
		session.Close()
		return err
	}
	r.count("stdio server stopped")
	return session.Close()
}

// tolerated are the error codes that a client causes itself, or that a change of the configuration
// causes.
var tolerated = []int64{
	-32602, // unknown names, wrong arguments
	-32002, // unknown documents in the legacy era
	-32021, // missing client capability
}

// use sends a few random requests. It returns an error unless the server answers them.
func (r *run) use(ctx context.Context, session *mcp.ClientSession, label string) error {
	for range 1 + rand.IntN(12) {
		request := pick(requests)
		err := request.send(ctx, session)
		var answer *jsonrpc.Error
		switch {
		case err == nil:
			r.count(label + ": " + request.method)
		case !errors.As(err, &answer):
			return fmt.Errorf("%s: %w", request.method, err)
		case slices.Contains(tolerated, answer.Code):
			r.count(label + ": " + request.method + " refused")
		default:
			r.fail(fmt.Sprintf("%d to %s", answer.Code, request.method), "%s", answer.Message)
		}
	}
	return nil
}

// listen subscribes a listener for up to four seconds. One in four never reads its stream.
func (r *run) listen(ctx context.Context) error {
	if rand.IntN(4) == 0 {
		return r.sendAndWait(ctx, "listener read nothing", r.rawRequest("subscriptions/listen",
			`"notifications":{"toolsListChanged":true,"resourceSubscriptions":["load://notice","load://board"]},`))
	}
	count := func() { r.count("notification received") }
	r.edits.Lock() // what it subscribes to exists
	session, closeSession, err := dial(ctx, r.server.Host, "", pick(eras), &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { count() },
		ResourceUpdatedHandler: func(context.Context, *mcp.ResourceUpdatedNotificationRequest) { count() },
	})
	if err == nil {
		defer closeSession()
		uri := pick([]string{"load://notice", "load://board", "load://page/3"})
		err = session.Subscribe(ctx, &mcp.SubscribeParams{URI: uri})
	}
	r.edits.Unlock()
	if err != nil {
		return err
	}
	ctxtime.Sleep(ctx, time.Duration(rand.IntN(4000))*time.Millisecond)
	r.count("listener came and went")
	return nil
}

// brokenFiles do not load.
var brokenFiles = []string{
	`tool "half" {`,
	`tool "unknown" { text = "${input.nobody}" }`,
	"tool \"say_hello\" {\n  description = \"A second tool of this name.\"\n  text = \"no\"\n}\n",
	`connection "sqlite" "other" { file = 7 }`,
	"\x00\xff not a text",
}

const guestFile = "tool \"guest\" {\n  description = \"Present for a moment.\"\n  text = \"%d\"\n}\n"

// edit does one thing that an author does.
func (r *run) edit(ctx context.Context) error {
	ctxtime.Sleep(ctx, time.Duration(rand.IntN(300))*time.Millisecond)
	ctx = context.WithoutCancel(ctx) // no edit is left half-done
	switch n := rand.IntN(11); {
	case n < 5:
		session, closeSession, err := dial(ctx, r.server.Host, "", modern, &mcp.ClientOptions{})
		if err != nil {
			return err
		}
		defer closeSession()
		r.count("edit")
		return r.folder.apply(ctx, pick(r.folder.changes), session)
	case n < 7:
		r.count("edit that does not load")
		return r.writeBriefly("broken.hcl", pick(brokenFiles), http.StatusUnprocessableEntity)
	case n < 8:
		r.count("SIGHUP")
		return syscall.Kill(r.server.PID(), syscall.SIGHUP)
	case n < 9:
		r.count("POST /admin/reload")
		return reload(r.server, http.StatusOK)
	case n < 10:
		r.count("connections of MCP servers changed")
		if err := r.upstreams.write(r.folder.path); err != nil {
			return err
		}
		return reload(r.server, http.StatusOK)
	default:
		r.count("tool added and removed")
		return r.writeBriefly("guest.hcl", fmt.Sprintf(guestFile, rand.Int()), http.StatusOK)
	}
}

// writeBriefly adds a file, reloads with the expected status, and removes the file again.
func (r *run) writeBriefly(name, text string, status int) error {
	r.edits.Lock()
	defer r.edits.Unlock()
	path := filepath.Join(r.folder.path, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return err
	}
	failed := reload(r.server, status)
	if err := os.Remove(path); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	return reload(r.server, http.StatusOK)
}

// malformedBodies are not requests, or requests that no client should send.
var malformedBodies = []string{
	"", "{", "[]", "null", "\xff\xfe", `{"jsonrpc":"2.0","id":{},"method":"ping"}`,
	`{"jsonrpc":"2.0","id":1,"method":"no/such"}`, `{"jsonrpc":"2.0","id":"ask-1","result":{}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say_hello","arguments":7}}`,
	`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
	strings.Repeat("[", 100_000), strings.Repeat("x", 5<<20),
}

// malformedHeaders are header lines that do not fit the request.
var malformedHeaders = []string{
	"", "MCP-Protocol-Version: 1999-01-01\r\n", "MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: \x01\r\n",
	"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: =?base64?!?=\r\n",
	"Content-Type: text/plain\r\n", "Origin: http://evil.example\r\n", "Transfer-Encoding: chunked\r\n",
	"Last-Event-ID: 99999999999999999999-1\r\n", "X-Filler: " + strings.Repeat("x", 70_000) + "\r\n",
}

// sendMalformed sends a request that is wrong in more ways than one. The answer must not be an
// internal error.
func (r *run) sendMalformed(ctx context.Context) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", r.server.Host)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	method := pick([]string{"POST", "POST", "POST", "GET", "DELETE", "BREW"})
	path := pick([]string{"/mcp", "/mcp/nobody"})
	head, body := r.rawHead(method, path, pick(malformedHeaders)), pick(malformedBodies)
	head += fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body))
	go io.WriteString(conn, head+body) // the server may answer and close before it has read everything
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	r.count("malformed request")
	if err != nil {
		return nil // the server may close the connection instead
	}
	defer res.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(res.Body, 2000))
	if res.StatusCode >= 500 && res.StatusCode != http.StatusNotImplemented ||
		strings.Contains(string(answer), "-32603") {
		r.fail("internal error", "%s %s for %.200s %.200s", res.Status, answer, head, body)
	}
	return nil
}

// stall sends a part of a request, or many requests, reads nothing, and leaves after a while.
func (r *run) stall(ctx context.Context) error {
	request := r.rawRequest("tools/list", "")
	if rand.IntN(2) == 0 {
		request = request[:rand.IntN(len(request))]
	} else {
		request = strings.Repeat(request, 1+rand.IntN(50))
	}
	return r.sendAndWait(ctx, "client stalled", request)
}

func (r *run) sendAndWait(ctx context.Context, event, request string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", r.server.Host)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	conn.SetWriteDeadline(time.Now().Add(2 * time.Second))
	conn.Write([]byte(request)) // the server may stop reading
	r.count(event)
	ctxtime.Sleep(ctx, time.Duration(rand.IntN(3000))*time.Millisecond)
	return nil
}

// rawRequest returns a request of the modern era as bytes; params ends with a comma.
func (r *run) rawRequest(method, params string) string {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{},`+
		`"io.modelcontextprotocol/clientInfo":{"name":"hatchel-bench","version":"1.0.0"}}}}`, method, params, modern)
	extra := fmt.Sprintf("MCP-Protocol-Version: %s\r\nMcp-Method: %s\r\n", modern, method)
	return r.rawHead("POST", "/mcp", extra) + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
}

func (r *run) rawHead(method, path, extra string) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\n%s", method, path, r.server.Host, extra)
}
