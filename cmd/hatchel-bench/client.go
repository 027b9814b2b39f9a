package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"hatchel/cmd/hatchel-bench/process"
)

// client calls one server over one connection. It speaks HTTP and JSON-RPC by hand, because it
// shares the machine with what it measures and must cost little.
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
		if e == legacy && s.name != "floor" {
			if err = c.openSession(h); err != nil {
				break
			}
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
	body    []byte // of the last response
	session string // as the last response named it
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
	status, err := h.read()
	if err == nil && status/100 != 2 {
		err = fmt.Errorf("a request was answered %d %.300s", status, h.body)
	}
	return h.body, err
}

var (
	contentLength    = []byte("content-length:")
	transferEncoding = []byte("transfer-encoding:")
	sessionHeader    = []byte("mcp-session-id:")
)

func (h *httpConn) read() (status int, err error) {
	line, err := h.in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if len(line) < 12 {
		return 0, fmt.Errorf("status line %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, fmt.Errorf("status line %q", line)
	}
	length, chunked := 0, false
	for {
		if line, err = h.in.ReadSlice('\n'); err != nil {
			return 0, err
		}
		if len(line) <= 2 {
			break
		}
		switch {
		case headerIs(line, contentLength):
			length, err = strconv.Atoi(string(bytes.TrimSpace(line[len(contentLength):])))
		case headerIs(line, transferEncoding):
			chunked = true
		case headerIs(line, sessionHeader):
			h.session = string(bytes.TrimSpace(line[len(sessionHeader):]))
		}
		if err != nil {
			return 0, err
		}
	}
	h.body = h.body[:0]
	if !chunked {
		return status, h.take(length)
	}
	for {
		if line, err = h.in.ReadSlice('\n'); err != nil {
			return 0, err
		}
		size, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 32)
		if err != nil {
			return 0, err
		}
		if err := h.take(int(size)); err != nil {
			return 0, err
		}
		if _, err := h.in.Discard(len("\r\n")); err != nil || size == 0 {
			return status, err
		}
	}
}

func headerIs(line, name []byte) bool {
	return len(line) > len(name) && bytes.EqualFold(line[:len(name)], name)
}

// take appends the next n bytes to the body.
func (h *httpConn) take(n int) error {
	at := len(h.body)
	if cap(h.body) < at+n {
		h.body = append(make([]byte, 0, at+n+at/2), h.body...)
	}
	h.body = h.body[:at+n]
	_, err := io.ReadFull(h.in, h.body[at:])
	return err
}
