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
)

// httpLoad is a set of keep-alive connections to one target. It speaks HTTP by hand: the generator
// shares the machine with what it measures and must cost little.
type httpLoad struct {
	row   *callRow
	check *checker
	conns []*httpConn
}

// httpConn is one client: its connection, its session in the legacy era, and its prepared requests.
type httpConn struct {
	net      net.Conn
	in       *bufio.Reader
	body     []byte
	requests []*request
	next     int // the id of its next request
}

// dialHTTP connects n clients to t and opens their sessions.
func dialHTTP(t *target, row *callRow, e era, n int) (load, error) {
	l := &httpLoad{row: row, check: newChecker(row)}
	for i := range n {
		conn, err := net.Dial("tcp", t.host)
		if err != nil {
			l.close()
			return nil, err
		}
		c := &httpConn{net: conn, in: bufio.NewReaderSize(conn, 64<<10), next: firstID + i*20_000_000}
		l.conns = append(l.conns, c)
		session := ""
		if e == legacy && t.name != "floor" {
			if session, err = c.open(t.host); err != nil {
				l.close()
				return nil, err
			}
		}
		for v := range row.variants {
			c.requests = append(c.requests, httpRequest(t.host, body(e, row.tool, row.arguments(v)),
				callHeaders(e, row.tool, session)))
		}
	}
	return l, nil
}

// open makes a session and returns its id.
func (c *httpConn) open(host string) (string, error) {
	if _, err := c.net.Write(httpRequest(host, []byte(initializeBody), "").bytes); err != nil {
		return "", err
	}
	status, session, err := c.read()
	if err != nil || status != 200 {
		return "", fmt.Errorf("initialize was answered %d %.300s: %w", status, c.body, err)
	}
	if _, err := c.net.Write(httpRequest(host, []byte(initializedBody),
		callHeaders(legacy, "", session)).bytes); err != nil {
		return "", err
	}
	if status, _, err := c.read(); err != nil || status/100 != 2 {
		return "", fmt.Errorf("notifications/initialized was answered %d %.300s: %w", status, c.body, err)
	}
	return session, nil
}

// run calls on all connections for d and returns how long each call took.
func (l *httpLoad) run(d time.Duration) ([]time.Duration, error) {
	var all []time.Duration
	var failures []error
	var mu sync.Mutex
	var wg sync.WaitGroup
	deadline := time.Now().Add(d)
	for _, c := range l.conns {
		wg.Go(func() {
			times, err := l.runConn(c, deadline)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, times...)
			failures = append(failures, err)
		})
	}
	wg.Wait()
	return all, errors.Join(failures...)
}

func (l *httpLoad) runConn(c *httpConn, deadline time.Time) ([]time.Duration, error) {
	c.net.SetDeadline(deadline.Add(20 * time.Second))
	times := make([]time.Duration, 0, 1<<12)
	for start := time.Now(); start.Before(deadline); {
		id := c.next
		c.next++
		variant := id % l.row.variants
		r := c.requests[variant]
		r.number(id)
		if _, err := c.net.Write(r.bytes); err != nil {
			return nil, err
		}
		status, _, err := c.read()
		if err != nil {
			return nil, err
		}
		end := time.Now()
		times = append(times, end.Sub(start))
		if status != 200 {
			return nil, fmt.Errorf("a call was answered %d %.300s", status, c.body)
		}
		if err := l.check.check(variant, id, c.body); err != nil {
			return nil, err
		}
		start = end
	}
	return times, nil
}

func (l *httpLoad) close() {
	for _, c := range l.conns {
		c.net.Close()
	}
}

var (
	contentLength    = []byte("content-length:")
	transferEncoding = []byte("transfer-encoding:")
	sessionHeader    = []byte("mcp-session-id:")
)

// read reads one response; its body is in c.body until the next read.
func (c *httpConn) read() (status int, session string, err error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return 0, "", err
	}
	if len(line) < 12 {
		return 0, "", fmt.Errorf("status line %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, "", fmt.Errorf("status line %q", line)
	}
	length, chunked := 0, false
	for {
		if line, err = c.in.ReadSlice('\n'); err != nil {
			return 0, "", err
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
			session = string(bytes.TrimSpace(line[len(sessionHeader):]))
		}
		if err != nil {
			return 0, "", err
		}
	}
	c.body = c.body[:0]
	if !chunked {
		return status, session, c.take(length)
	}
	for {
		if line, err = c.in.ReadSlice('\n'); err != nil {
			return 0, "", err
		}
		size, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 32)
		if err != nil {
			return 0, "", err
		}
		if err := c.take(int(size)); err != nil {
			return 0, "", err
		}
		if _, err := c.in.Discard(len("\r\n")); err != nil || size == 0 {
			return status, session, err
		}
	}
}

func headerIs(line, name []byte) bool {
	return len(line) > len(name) && bytes.EqualFold(line[:len(name)], name)
}

// take appends the next n bytes to the body.
func (c *httpConn) take(n int) error {
	at := len(c.body)
	if cap(c.body) < at+n {
		c.body = append(make([]byte, 0, at+n+at/2), c.body...)
	}
	c.body = c.body[:at+n]
	_, err := io.ReadFull(c.in, c.body[at:])
	return err
}
