package sendonce_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"hatchel/internal/sendonce"
)

const maxWait = 30 * time.Second

// script is a server of HTTP/2 that answers each request by a function.
type script struct {
	url string

	mu     sync.Mutex
	bodies []string // of the requests, in their order; guarded by mu
	conns  int      // guarded by mu
}

// request is one that a script has read.
type request struct {
	*http2.Framer
	net.Conn
	n      int // the number of the request, from 1
	stream uint32
}

func (r request) ok() {
	r.WriteHeaders(http2.HeadersFrameParam{StreamID: r.stream, BlockFragment: []byte{0x88}, EndHeaders: true})
	r.WriteData(r.stream, true, []byte("done"))
}

func (r request) reset(code http2.ErrCode) { r.WriteRSTStream(r.stream, code) }

// end closes the connection for writing, so that what was written arrives.
func (r request) end() { r.Conn.(*tls.Conn).CloseWrite() }

func (s *script) requests() (bodies []string, conns int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bodies, s.conns
}

func newScript(t *testing.T, answer func(request)) *script {
	t.Helper()
	certified := httptest.NewUnstartedServer(nil)
	certified.EnableHTTP2 = true
	certified.StartTLS()
	config := certified.TLS.Clone()
	certified.Close()
	config.NextProtos = []string{"h2"}
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	s := &script{url: "https://" + l.Addr().String()}
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
			running.Go(func() { s.serve(c, answer) })
		}
	})
	return s
}

func (s *script) serve(c net.Conn, answer func(request)) {
	defer c.Close()
	if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	s.mu.Lock()
	s.conns++
	s.mu.Unlock()
	framer := http2.NewFramer(c, c)
	framer.WriteSettings()
	bodies := map[uint32]string{}
	for {
		f, err := framer.ReadFrame()
		if err != nil {
			return
		}
		ended := false
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				framer.WriteSettingsAck()
			}
		case *http2.PingFrame:
			if !f.IsAck() {
				framer.WritePing(true, f.Data)
			}
		case *http2.HeadersFrame:
			ended = f.StreamEnded()
		case *http2.DataFrame:
			bodies[f.StreamID] += string(f.Data())
			ended = f.StreamEnded()
		}
		if !ended {
			continue
		}
		id := f.Header().StreamID
		s.mu.Lock()
		s.bodies = append(s.bodies, bodies[id])
		n := len(s.bodies)
		s.mu.Unlock()
		answer(request{framer, c, n, id})
	}
}

func newTransport(t *testing.T) *sendonce.Transport {
	rt := sendonce.New(&http.Transport{
		ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	})
	t.Cleanup(rt.CloseIdleConnections)
	return rt
}

func newRequest(t *testing.T, method, url, body string) *http.Request {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), maxWait)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.ContentLength = int64(len(body))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(body)), nil }
		r.Body, _ = r.GetBody()
	}
	return r
}

// send sends a request and reads the body of its response.
func send(rt http.RoundTripper, r *http.Request) error {
	resp, err := rt.RoundTrip(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "done" {
		return fmt.Errorf("%q, %w", body, err)
	}
	return nil
}

type outcome int

const (
	succeeds outcome = iota
	isUnknown
	isUnprocessed
)

func (o outcome) String() string {
	return [...]string{"success", "an unknown outcome", "not processed"}[o]
}

func outcomeOf(err error) outcome {
	switch {
	case err == nil:
		return succeeds
	case sendonce.IsUnprocessed(err):
		return isUnprocessed
	}
	return isUnknown
}

// http2Cases are what a server may do to a request, and how often it then reads it.
var http2Cases = []struct {
	name   string
	answer func(request)
	want   outcome
	sends  int
	once   outcome // of a request whose body cannot be read again; it is sent once
}{
	{"PROTOCOL_ERROR", func(r request) { r.reset(http2.ErrCodeProtocol) }, isUnknown, 1, isUnknown},
	{"INTERNAL_ERROR", func(r request) { r.reset(http2.ErrCodeInternal) }, isUnknown, 1, isUnknown},
	{"CANCEL", func(r request) { r.reset(http2.ErrCodeCancel) }, isUnknown, 1, isUnknown},
	{"ENHANCE_YOUR_CALM", func(r request) { r.reset(http2.ErrCodeEnhanceYourCalm) }, isUnknown, 1, isUnknown},
	{"NO_ERROR", func(r request) { r.reset(http2.ErrCodeNo) }, isUnknown, 1, isUnknown},
	{"PROTOCOL_ERROR, then a closed connection", func(r request) {
		r.reset(http2.ErrCodeProtocol)
		r.end()
	}, isUnknown, 1, isUnknown},
	{"REFUSED_STREAM", func(r request) { r.reset(http2.ErrCodeRefusedStream) }, isUnprocessed, 5, isUnprocessed},
	{"REFUSED_STREAM once", func(r request) {
		if r.n == 1 {
			r.reset(http2.ErrCodeRefusedStream)
			return
		}
		r.ok()
	}, succeeds, 2, isUnprocessed},
	{"REFUSED_STREAM, then PROTOCOL_ERROR", func(r request) {
		if r.n == 1 {
			r.reset(http2.ErrCodeRefusedStream)
			return
		}
		r.reset(http2.ErrCodeProtocol)
	}, isUnknown, 2, isUnprocessed},
	{"GOAWAY before the request", func(r request) {
		if r.n == 1 {
			r.WriteGoAway(0, http2.ErrCodeNo, nil)
			return
		}
		r.ok()
	}, succeeds, 2, isUnprocessed},
	{"GOAWAY before the request, always", func(r request) {
		r.WriteGoAway(0, http2.ErrCodeNo, nil)
	}, isUnprocessed, 5, isUnprocessed},
	{"GOAWAY with a code before the first request", func(r request) {
		r.WriteGoAway(0, http2.ErrCodeEnhanceYourCalm, nil)
	}, isUnprocessed, 1, isUnprocessed},
	{"GOAWAY after the request, then a closed connection", func(r request) {
		r.WriteGoAway(r.stream, http2.ErrCodeNo, nil)
		r.end()
	}, isUnknown, 1, isUnknown},
	{"GOAWAY after the request, then a response", func(r request) {
		r.WriteGoAway(r.stream, http2.ErrCodeNo, nil)
		r.ok()
	}, succeeds, 1, succeeds},
	{"a closed connection", func(r request) { r.end() }, isUnknown, 1, isUnknown},
}

// TestHTTP2SendsNothingAgainThatMayBeProcessed covers each case for methods with and without a body, and with a key by
// which net/http would repeat the request.
func TestHTTP2SendsNothingAgainThatMayBeProcessed(t *testing.T) {
	requests := []struct{ method, body, key string }{
		{http.MethodPost, "body", ""}, {http.MethodPost, "", ""}, {http.MethodPost, "body", "k"},
		{http.MethodPut, "body", ""}, {http.MethodPatch, "body", ""}, {http.MethodDelete, "", ""},
		{http.MethodDelete, "body", ""}, {http.MethodGet, "", ""}, {http.MethodHead, "", ""}, {http.MethodOptions, "", ""},
	}
	for _, c := range http2Cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, r := range requests {
				if r.method == http.MethodHead && c.want == succeeds {
					continue // the response would have a body
				}
				s := newScript(t, c.answer)
				req := newRequest(t, r.method, s.url, r.body)
				if r.key != "" {
					req.Header.Set("Idempotency-Key", r.key)
				}
				err := send(newTransport(t), req)
				bodies, _ := s.requests()
				if got := outcomeOf(err); got != c.want || len(bodies) != c.sends {
					t.Errorf("%s %q: %v after %d requests, not %v after %d: %v",
						r.method, r.body, got, len(bodies), c.want, c.sends, err)
				}
				for _, body := range bodies {
					if body != r.body {
						t.Errorf("%s: the body is %q", r.method, body)
					}
				}
			}
		})
		t.Run(c.name+", of a stream", func(t *testing.T) {
			t.Parallel()
			s := newScript(t, c.answer)
			r := newRequest(t, http.MethodPost, s.url, "body")
			r.GetBody = nil
			err := send(newTransport(t), r)
			bodies, _ := s.requests()
			if got := outcomeOf(err); got != c.once || len(bodies) != 1 {
				t.Errorf("%v after %d requests, not %v: %v", got, len(bodies), c.once, err)
			}
		})
	}
}

// TestAConnectionOfHTTP2ThatTheServerEndsIsReplaced has a server end each connection with its second request, as nginx
// does after keepalive_requests.
func TestAConnectionOfHTTP2ThatTheServerEndsIsReplaced(t *testing.T) {
	s := newScript(t, func(r request) {
		if r.stream > 1 {
			r.WriteGoAway(1, http2.ErrCodeNo, nil)
			return
		}
		r.ok()
	})
	rt := newTransport(t)
	for range 5 {
		if err := send(rt, newRequest(t, http.MethodPost, s.url, "body")); err != nil {
			t.Fatal(err)
		}
	}
	if bodies, conns := s.requests(); len(bodies) != 9 || conns != 5 {
		t.Errorf("%d requests by %d connections", len(bodies), conns)
	}
}

// TestAPauseBeforeARepeatEndsWithTheRequest cancels a request that the server refuses.
func TestAPauseBeforeARepeatEndsWithTheRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := newScript(t, func(r request) {
		if r.n == 2 {
			cancel()
		}
		r.reset(http2.ErrCodeRefusedStream)
	})
	err := send(newTransport(t), newRequest(t, http.MethodPost, s.url, "body").WithContext(ctx))
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestAConnectionOfACancelledRequestIsClosed has the server answer nothing, not even the ping by which a client asks
// whether the connection still works.
func TestAConnectionOfACancelledRequestIsClosed(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	asked, closed := make(chan struct{}), make(chan struct{})
	s := newScript(t, func(r request) {
		cancel()
		for {
			f, err := r.ReadFrame()
			if err != nil {
				close(closed)
				return
			}
			if _, ok := f.(*http2.PingFrame); ok {
				close(asked)
			}
		}
	})
	rt := newTransport(t)
	if err := send(rt, newRequest(t, http.MethodPost, s.url, "body").WithContext(ctx)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-asked
	rt.CloseIdleConnections()
	<-closed
}

// TestManyRequestsShareConnectionsOfHTTP2 uses the server of net/http, which takes one request at a time on each
// connection.
func TestManyRequestsShareConnectionsOfHTTP2(t *testing.T) {
	var mu sync.Mutex
	conns, waiting := map[string]int{}, 0
	all := make(chan struct{})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		conns[r.RemoteAddr]++
		if waiting++; waiting == 3 {
			close(all)
		}
		mu.Unlock()
		<-all
		if r.ProtoMajor == 2 && bytes.Equal(body, []byte("body")) {
			io.WriteString(w, "done")
		}
	}))
	s.EnableHTTP2 = true
	s.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 1}
	s.StartTLS()
	defer s.Close()
	rt := newTransport(t)
	var running sync.WaitGroup
	for range 3 {
		r := newRequest(t, http.MethodPost, s.URL, "body")
		running.Go(func() {
			if err := send(rt, r); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	mu.Lock()
	opened := len(conns)
	mu.Unlock()
	for range 10 {
		if err := send(rt, newRequest(t, http.MethodPost, s.URL, "body")); err != nil {
			t.Error(err)
		}
	}
	mu.Lock()
	if opened != 3 || len(conns) != 3 {
		t.Errorf("%d connections, and then %d", opened, len(conns))
	}
	mu.Unlock()
	rt.CloseIdleConnections()
	if err := send(rt, newRequest(t, http.MethodPost, s.URL, "body")); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(conns) != 4 {
		t.Errorf("%d connections after all were closed", len(conns))
	}
}
