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
