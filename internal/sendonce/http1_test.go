package sendonce_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"testing"

	"hatchel/internal/sendonce"
)

// clientConn is a connection whose end the client has noticed when closed is closed. Its writes fail when broken is set.
type clientConn struct {
	net.Conn
	broken atomic.Bool
	once   sync.Once
	closed chan struct{}
}

func (c *clientConn) Write(b []byte) (int, error) {
	if c.broken.Load() {
		return 0, errors.New("broken pipe")
	}
	return c.Conn.Write(b)
}

func (c *clientConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// race is what happens to the second request of a connection of HTTP/1.
type race int

const (
	closedIdle    race = iota // the server closes the connection before the request is written
	brokenWrite               // nothing of the request can be written
	closedReading             // the server reads the request, and closes the connection
)

// oneRequest is a server of HTTP/1 that closes a connection with or after its second request.
type oneRequest struct {
	url string

	mu     sync.Mutex
	read   int // requests; guarded by mu
	opened []net.Conn
}

func newOneRequest(t *testing.T) *oneRequest {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &oneRequest{url: "http://" + l.Addr().String()}
	var running sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
		running.Wait()
	})
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.opened = append(s.opened, c)
			s.mu.Unlock()
			running.Go(func() { s.serve(c) })
		}
	})
	return s
}

func (s *oneRequest) serve(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	for n := 1; ; n++ {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return
		}
		s.mu.Lock()
		s.read++
		s.mu.Unlock()
		if n == 2 {
			return
		}
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone")
	}
}

// TestHTTP1SendsNothingAgainThatMayBeProcessed sends a request by a connection that was used before, and that ends.
func TestHTTP1SendsNothingAgainThatMayBeProcessed(t *testing.T) {
	requests := []struct {
		method, body, key string
		safe              bool
	}{
		{http.MethodPost, "body", "", false}, {http.MethodPost, "", "", false}, {http.MethodPut, "body", "", false},
		{http.MethodDelete, "", "", false}, {http.MethodPost, "body", "Idempotency-Key", false},
		{http.MethodPost, "", "Idempotency-Key", false}, {http.MethodDelete, "", "X-Idempotency-Key", false},
		{http.MethodGet, "", "", true}, {http.MethodOptions, "", "", true},
	}
	for _, r := range requests {
		for end := closedIdle; end <= closedReading; end++ {
			want, reads := succeeds, 2 // with the first request of the connection
			switch {
			case end == closedReading && r.safe:
				reads = 3
			case end == closedReading:
				want = isUnknown
			}
			read, err := raceHTTP1(t, end, newKeyed(r.key, r.body == "", r.method, r.body))
			if got := outcomeOf(err); got != want || read != reads {
				t.Errorf("%s %q %s, %d: %v after %d requests, not %v after %d: %v",
					r.method, r.body, r.key, end, got, read, want, reads, err)
			}
		}
	}
	read, err := raceHTTP1(t, closedIdle, func(t *testing.T, url string) *http.Request {
		r := newRequest(t, http.MethodPost, url, "body")
		r.GetBody = nil
		return r
	})
	if outcomeOf(err) != isUnprocessed || read != 1 {
		t.Errorf("a stream: %d requests, %v", read, err)
	}
}

// newKeyed returns what makes a request with a header that net/http takes for a key.
func newKeyed(key string, noBody bool, method, body string) func(*testing.T, string) *http.Request {
	return func(t *testing.T, url string) *http.Request {
		r := newRequest(t, method, url, body)
		if key != "" {
			r.Header.Set(key, "k")
		}
		if noBody {
			r.Body = http.NoBody
		}
		return r
	}
}

// raceHTTP1 sends a request by a used connection that ends. It returns how many requests the server has read.
func raceHTTP1(t *testing.T, end race, newRequestTo func(*testing.T, string) *http.Request) (int, error) {
	t.Helper()
	s := newOneRequest(t)
	var mu sync.Mutex
	var dialed []*clientConn
	next := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		dialed = append(dialed, &clientConn{Conn: c, closed: make(chan struct{})})
		return dialed[len(dialed)-1], nil
	}}
	rt := sendonce.New(next)
	defer rt.CloseIdleConnections()
	if err := send(rt, newRequest(t, http.MethodGet, s.url, "")); err != nil {
		t.Fatal(err)
	}
	r := newRequestTo(t, s.url)
	sawReuse := false
	r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			if !info.Reused {
				return
			}
			sawReuse = true
			c := info.Conn.(*clientConn)
			switch end {
			case closedIdle:
				s.mu.Lock()
				s.opened[0].Close()
				s.mu.Unlock()
				<-c.closed
			case brokenWrite:
				c.broken.Store(true)
			}
		},
	}))
	err := send(rt, r)
	if !sawReuse {
		t.Fatal("the connection was not used again")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read, err
}

// TestAKeyReachesTheService sends the headers by which net/http would repeat a request, and leaves those of the caller.
func TestAKeyReachesTheService(t *testing.T) {
	var seen atomic.Value
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r.Header.Get("Idempotency-Key"))
		io.WriteString(w, "done")
	})}
	go server.Serve(l)
	defer server.Close()
	r := newRequest(t, http.MethodPost, "http://"+l.Addr().String(), "body")
	r.Header.Set("Idempotency-Key", "k")
	rt := sendonce.New(&http.Transport{})
	defer rt.CloseIdleConnections()
	resp, err := rt.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if seen.Load() != "k" || r.Header.Get("Idempotency-Key") != "k" || resp.Request != r {
		t.Errorf("the service has seen %v, and the caller keeps %v", seen.Load(), r.Header)
	}
}
