package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"hatchel/cmd/hatchel-bench/process"
)

// client calls one server over one connection. It sends prepared requests, because it shares the
// machine with what it measures and must cost little.
type client struct {
	row      *callRow
	check    *checker
	requests []*request // by variant
	out      io.Writer
	frame    func(body []byte, headers string) *request
	receive  func() ([]byte, error) // one reply, valid until the next
	close    func()
	inFlight int             // calls at the same time
	next     int             // id of the next request
	started  [1024]time.Time // by id; far more than are ever in flight
}

// dial connects clients that keep n calls in flight together, and opens their sessions.
func dial(s *server, row *callRow, e era, n int) (clients []*client, err error) {
	check, conns, inFlight := newChecker(row), n, 1
	if row.stdio {
		conns, inFlight = 1, n
	}
	for i := range conns {
		c, h := dialStdio(s.Process), &httpConn{}
		if !row.stdio {
			if c, h, err = dialHTTP(s.Host); err != nil {
				break
			}
		}
		clients = append(clients, c)
		switch {
		case e == legacy && !s.bare:
			err = c.openSession(h)
		case e == legacy:
			h.session = bareSession
		}
		if err != nil {
			break
		}
		c.row, c.check, c.inFlight, c.next = row, check, inFlight, firstID+i*20_000_000
		for v := range row.variants {
			message, headers := body(e, row.tool, row.arguments(v)), callHeaders(e, row.tool, h.session)
			c.requests = append(c.requests, c.frame(message, headers))
		}
	}
	if err != nil {
		closeAll(clients)
		err = fmt.Errorf("%w: %s", err, s.LogTail())
	}
	return clients, err
}

// bareSession is the id of a session that the floor does not know. Every client of the legacy era sends one, so the
// floor reads the header, too. It is as long as a UUID, which most servers choose.
const bareSession = "00000000-0000-4000-8000-000000000000"

func closeAll(clients []*client) {
	for _, c := range clients {
		c.close()
	}
}

// openSession sends the first messages of the legacy era. The last of them is answered over HTTP
// only, with the session in a header.
func (c *client) openSession(h *httpConn) error {
	if _, err := c.out.Write(c.frame([]byte(initializeBody), "").bytes); err != nil {
		return err
	}
	if answer, err := c.receive(); err != nil || !bytes.Contains(answer, []byte(`"serverInfo"`)) {
		return fmt.Errorf("initialize was answered %.300s (%v)", answer, err)
	}
	_, err := c.out.Write(c.frame([]byte(initializedBody), callHeaders(legacy, "", h.session)).bytes)
	if err == nil && h.in != nil {
		_, err = c.receive()
	}
	return err
}

// dialStdio returns the only client of a server; closing it kills the server.
func dialStdio(p *process.Process) *client {
	in := bufio.NewReaderSize(p.Stdout, 1<<20)
	receive := func() ([]byte, error) { return in.ReadSlice('\n') }
	return &client{out: p.Stdin, frame: lineRequest, receive: receive, close: p.Kill}
}

// runAll calls on all connections for d and returns how long each call took.
func runAll(clients []*client, d time.Duration) ([]time.Duration, error) {
	var all []time.Duration
	var failures []error
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, c := range clients {
		wg.Go(func() {
			times, err := c.run(d)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, times...)
			failures = append(failures, err)
		})
	}
	wg.Wait()
	return all, errors.Join(failures...)
}

// run calls for d, waits for the last replies, and returns how long each call took.
func (c *client) run(d time.Duration) ([]time.Duration, error) {
	deadline := time.Now().Add(d)
	stuck := time.AfterFunc(d+20*time.Second, c.close)
	defer stuck.Stop()
	times := make([]time.Duration, 0, 1<<12)
	for range c.inFlight {
		if err := c.send(); err != nil {
			return nil, err
		}
	}
	for waiting := c.inFlight; waiting > 0; {
		reply, err := c.receive()
		if err != nil {
			return nil, fmt.Errorf("reading a reply: %w", err)
		}
		now, id := time.Now(), c.next-1
		if c.inFlight > 1 {
			if id, err = replyID(reply); err != nil {
				return nil, err
			}
		}
		times = append(times, now.Sub(c.started[id%len(c.started)]))
		if err := c.check.check(id%c.row.variants, id, reply); err != nil {
			return nil, err
		}
		if now.After(deadline) {
			waiting--
		} else if err := c.send(); err != nil {
			return nil, err
		}
	}
	return times, nil
}

func (c *client) send() error {
	id := c.next
	c.next++
	r := c.requests[id%c.row.variants]
	r.number(id)
	c.started[id%len(c.started)] = time.Now()
	_, err := c.out.Write(r.bytes)
	return err
}

func replyID(line []byte) (int, error) {
	at := bytes.Index(line, []byte(`"id":`))
	if at < 0 || len(line) < at+len(`"id":`)+idDigits {
		return 0, fmt.Errorf("a line that is no reply: %.300s", line)
	}
	return strconv.Atoi(string(line[at+len(`"id":`):][:idDigits]))
}

// httpConn reads HTTP responses from a connection.
type httpConn struct {
	in      *bufio.Reader
	body    bytes.Buffer // of the last response
	session string       // as the last response with a session named it
}

// dialHTTP returns a client on a keep-alive connection.
func dialHTTP(host string) (*client, *httpConn, error) {
	conn, err := net.Dial("tcp", host)
	if err != nil {
		return nil, nil, err
	}
	h := &httpConn{in: bufio.NewReaderSize(conn, 64<<10)}
	frame := func(body []byte, headers string) *request { return httpRequest(host, body, headers) }
	return &client{out: conn, frame: frame, receive: h.receive, close: func() { conn.Close() }}, h, nil
}

// receive returns the body of the next response, which must be a success.
func (h *httpConn) receive() ([]byte, error) {
	res, err := http.ReadResponse(h.in, nil)
	if err != nil {
		return nil, err
	}
	h.session = cmp.Or(res.Header.Get("Mcp-Session-Id"), h.session)
	h.body.Reset()
	if _, err = h.body.ReadFrom(res.Body); err == nil && res.StatusCode/100 != 2 {
		err = fmt.Errorf("a request was answered %s %.300s", res.Status, h.body.Bytes())
	}
	return h.body.Bytes(), err
}

// era is one of the two ways in which a client speaks MCP.
type era string

const (
	legacy era = "2025-11-25"
	modern era = "2026-07-28"
)

var eras = []era{legacy, modern}

// The id of a request is always ten digits, so that a prepared request is sent again by overwriting
// them.
const (
	idDigits = 10
	firstID  = 1_000_000_000
)

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"hatchel-bench","version":"1.0.0"},` +
	`"io.modelcontextprotocol/clientCapabilities":{}}`

// request is one prepared message whose id can be replaced in place.
type request struct {
	bytes []byte
	id    []byte // the digits inside bytes
}

func (r *request) number(id int) { strconv.AppendInt(r.id[:0], int64(id), 10) }

// body is the JSON-RPC message of a call of tool, or of tools/list when tool is empty.
func body(e era, tool, arguments string) []byte {
	method, params, meta := "tools/list", "", ""
	if tool != "" {
		method, params = "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, tool, arguments)
	}
	if e == modern {
		if meta = modernMeta; tool != "" {
			meta = "," + modernMeta
		}
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s%s}}`, firstID, method, params, meta)
}

const initializeBody = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
	`"capabilities":{},"clientInfo":{"name":"hatchel-bench","version":"1.0.0"}}}`

const initializedBody = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

// httpRequest is the message as one HTTP request; extra are whole header lines.
func httpRequest(host string, body []byte, extra string) *request {
	head := fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\n%sContent-Length: %d\r\n\r\n", host, extra, len(body))
	return prepare(append([]byte(head), body...))
}

// lineRequest is the message as one line of stdio, which has no headers.
func lineRequest(body []byte, _ string) *request {
	return prepare(append(bytes.Clone(body), '\n'))
}

func prepare(message []byte) *request {
	r := &request{bytes: message}
	if at := bytes.LastIndex(message, strconv.AppendInt([]byte(`"id":`), firstID, 10)); at >= 0 {
		r.id = message[at+len(`"id":`):][:idDigits]
	}
	return r
}

// callHeaders are the header lines of one call in one era; session is empty where there is none.
func callHeaders(e era, tool, session string) string {
	if e == modern {
		lines := "MCP-Protocol-Version: 2026-07-28\r\n"
		if tool == "" {
			return lines + "Mcp-Method: tools/list\r\n"
		}
		return lines + "Mcp-Method: tools/call\r\nMcp-Name: " + tool + "\r\n"
	}
	lines := "MCP-Protocol-Version: 2025-11-25\r\n"
	if session != "" {
		lines += "Mcp-Session-Id: " + session + "\r\n"
	}
	return lines
}
