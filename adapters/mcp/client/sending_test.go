package client_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"hatchel/adapters/mcp/client"
	"hatchel/adapters/mcp/client/mcptest"
	"hatchel/internal/sampletest"
)

// cutter is a proxy that closes both sides of a connection after a number of bytes.
type cutter struct {
	listener         net.Listener
	target           string
	request, answer  atomic.Int64 // how many bytes pass in each direction; negative for all
	passed, returned atomic.Int64 // how many passed
}

func newCutter(t *testing.T, target string) *cutter {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{listener: l, target: target}
	c.request.Store(-1)
	c.answer.Store(-1)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { c.serve(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		running.Wait()
	})
	return c
}

func (c *cutter) serve(in net.Conn) {
	defer in.Close()
	out, err := net.Dial("tcp", c.target)
	if err != nil {
		return
	}
	defer out.Close()
	stop := func() {
		in.Close()
		out.Close()
	}
	var running sync.WaitGroup
	running.Go(func() { copyUpTo(out, in, &c.request, &c.passed, stop) })
	running.Go(func() { copyUpTo(in, out, &c.answer, &c.returned, stop) })
	running.Wait()
}

// copyUpTo copies until limit bytes have passed, then it stops both sides.
func copyUpTo(dst, src net.Conn, limit, passed *atomic.Int64, stop func()) {
	defer stop()
	buf := make([]byte, 32<<10)
	for {
		n, err := src.Read(buf)
		part := buf[:n]
		max := limit.Load()
		cut := max >= 0 && passed.Load()+int64(n) >= max
		if cut {
			part = part[:max-passed.Load()]
		}
		passed.Add(int64(len(part)))
		if _, err := dst.Write(part); err != nil || cut {
			return
		}
		if err != nil {
			return
		}
	}
}

// TestACutConnectionNeverRepeatsACallAndNeverHidesOne cuts the connection at each byte of a request and of its answer.
func TestACutConnectionNeverRepeatsACallAndNeverHidesOne(t *testing.T) {
	for _, era := range []mcptest.Era{mcptest.Modern, mcptest.Legacy} {
		for _, asStream := range []bool{false, true} {
			server := &mcptest.Server{Era: era, Stateful: true, Stream: asStream}
			target := strings.TrimSuffix(strings.TrimPrefix(server.Start(t), "http://"), "/mcp")
			proxy := newCutter(t, target)
			rt := client.NewRoundTripper(nil)
			t.Cleanup(rt.CloseIdleConnections)
			transport := client.NewHTTP(client.HTTPConfig{
				URL: "http://" + proxy.listener.Addr().String() + "/mcp", RoundTripper: rt,
			})
			s := open(t, transport, client.Options{})
			try := func(direction *atomic.Int64, cut int64) (calls int, err error) {
				rt.CloseIdleConnections()
				proxy.passed.Store(0)
				proxy.returned.Store(0)
				direction.Store(cut)
				defer direction.Store(-1)
				before := len(server.Calls())
				_, err = s.Call(testContext(t), &client.Request{Name: "x", Arguments: []byte(`{"a":"b"}`)})
				return len(server.Calls()) - before, err
			}
			if calls, err := try(&proxy.request, -1); calls != 1 || err != nil {
				t.Fatalf("%d calls, %v", calls, err)
			}
			request, answer := proxy.passed.Load(), proxy.returned.Load()
			for _, cut := range sampletest.Of(t, 60, until(request)) {
				calls, err := try(&proxy.request, cut)
				checkCut(t, "request", cut, calls, err)
			}
			for _, cut := range sampletest.Of(t, 60, until(answer-8)) { // the end of a stream is not needed
				calls, err := try(&proxy.answer, cut)
				checkCut(t, "answer", cut, calls, err)
			}
		}
	}
}

// until returns the numbers from 0 that are less than end.
func until(end int64) (all []int64) {
	for n := range end {
		all = append(all, n)
	}
	return all
}

func checkCut(t *testing.T, what string, cut int64, calls int, err error) {
	t.Helper()
	e, ok := errors.AsType[*client.Error](err)
	switch {
	case err == nil && what == "answer" && calls == 1: // the answer had arrived whole
	case !ok:
		t.Errorf("%s cut at %d: %v", what, cut, err)
	case calls > 1:
		t.Errorf("%s cut at %d: %d calls", what, cut, calls)
	case e.Kind == client.NotSent && calls > 0:
		t.Errorf("%s cut at %d: nothing was sent, and the server got the call", what, cut)
	case e.Kind != client.NotSent && e.Kind != client.Unknown && e.Kind != client.Invalid:
		t.Errorf("%s cut at %d: %v", what, cut, err)
	}
}

func TestNothingWasSentToAServerThatIsNotThere(t *testing.T) {
	server := &mcptest.Server{}
	listener := httptest.NewServer(server)
	rt := client.NewRoundTripper(nil)
	s := open(t, client.NewHTTP(client.HTTPConfig{URL: listener.URL, RoundTripper: rt}), client.Options{})
	listener.CloseClientConnections()
	listener.Close()
	rt.CloseIdleConnections()
	_, err := s.Call(testContext(t), &client.Request{Name: "x"})
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Kind != client.NotSent {
		t.Errorf("%v", err)
	}
}

func TestAnErrorOfCredentialsSendsNothing(t *testing.T) {
	server := &mcptest.Server{}
	noToken := errors.New("there is no token")
	refuse := false
	transport := client.NewHTTP(client.HTTPConfig{
		URL: server.Start(t), RoundTripper: client.NewRoundTripper(nil),
		Header: func(context.Context) (http.Header, error) {
			if refuse {
				return nil, noToken
			}
			return http.Header{"Authorization": {"Bearer x"}}, nil
		},
	})
	s := open(t, transport, client.Options{})
	if _, err := s.Call(testContext(t), &client.Request{Name: "x"}); err != nil {
		t.Fatal(err)
	}
	if got := server.Calls()[0].Header.Get("Authorization"); got != "Bearer x" {
		t.Errorf("the header is %q", got)
	}
	refuse = true
	_, err := s.Call(testContext(t), &client.Request{Name: "x"})
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Kind != client.NotSent || !errors.Is(err, noToken) {
		t.Errorf("%v", err)
	}
}

// TestAResetStreamOfHTTP2IsNotRepeated has a server of HTTP/2 read a call and reset its stream, for example with
// PROTOCOL_ERROR, after which net/http repeats requests whose body it can read again. A call that the server has
// refused without processing it is sent again a few times.
func TestAResetStreamOfHTTP2IsNotRepeated(t *testing.T) {
	for _, code := range []http2.ErrCode{http2.ErrCodeRefusedStream, http2.ErrCodeProtocol, http2.ErrCodeCancel} {
		kind, want := client.Unknown, int64(1)
		if code == http2.ErrCodeRefusedStream {
			kind, want = client.NotSent, 5
		}
		calls, url := resettingServer(t, code)
		rt := client.NewRoundTripper(&tls.Config{InsecureSkipVerify: true})
		t.Cleanup(rt.CloseIdleConnections)
		transport := client.NewHTTP(client.HTTPConfig{URL: url, RoundTripper: rt})
		s := open(t, transport, client.Options{Protocol: client.Revision20260728})
		_, err := s.Call(testContext(t), &client.Request{Name: "x"})
		if e, ok := errors.AsType[*client.Error](err); !ok || e.Kind != kind || calls.Load() != want {
			t.Errorf("%s: %d calls, %v", code, calls.Load(), err)
		}
	}
}

// resettingServer serves HTTP/2. It answers server/discover and resets the stream of each call.
func resettingServer(t *testing.T, code http2.ErrCode) (calls *atomic.Int64, url string) {
	calls = new(atomic.Int64)
	listener := httptest.NewUnstartedServer(nil) // for its certificate
	listener.EnableHTTP2 = true
	listener.StartTLS()
	config := listener.TLS.Clone()
	config.NextProtos = []string{"h2"}
	listener.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serveReset(conn, code, calls)
		}
	}()
	return calls, "https://" + l.Addr().String() + "/mcp"
}

func serveReset(conn net.Conn, code http2.ErrCode, calls *atomic.Int64) {
	defer conn.Close()
	io.ReadFull(conn, make([]byte, len(http2.ClientPreface)))
	framer := http2.NewFramer(conn, conn)
	framer.WriteSettings()
	bodies := map[uint32]string{}
	for {
		f, err := framer.ReadFrame()
		if err != nil {
			return
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				framer.WriteSettingsAck()
			}
		case *http2.DataFrame:
			bodies[f.StreamID] += string(f.Data())
			if !f.StreamEnded() {
				continue
			}
			body := bodies[f.StreamID]
			if strings.Contains(body, "tools/call") {
				calls.Add(1)
				framer.WriteRSTStream(f.StreamID, code)
				continue
			}
			_, id, _ := strings.Cut(body, `"id":"`)
			id, _, _ = strings.Cut(id, `"`)
			// :status 200, content-type application/json, as literals that are not indexed (RFC 7541)
			block := append([]byte{0x88, 0x0f, 0x10, 16}, "application/json"...)
			framer.WriteHeaders(http2.HeadersFrameParam{StreamID: f.StreamID, BlockFragment: block, EndHeaders: true})
			framer.WriteData(f.StreamID, true, []byte(`{"jsonrpc":"2.0","id":"`+id+
				`","result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}`))
		}
	}
}

// TestAProgramThatEndsDuringACallLeavesItsOutcomeUnknown ends a program before, during and after the line of a call.
func TestAProgramThatEndsDuringACallLeavesItsOutcomeUnknown(t *testing.T) {
	server := &mcptest.Server{Era: mcptest.Legacy}
	started := make(chan struct{})
	end := make(chan struct{})
	server.Handle("x", func(*mcptest.Call) (any, error) {
		close(started)
		<-end
		return mcptest.Text("late"), nil
	})
	r, w := server.Pipes(t)
	s := open(t, client.NewStdio(r, w), client.Options{})
	failed := make(chan error)
	go func() {
		_, err := s.Call(testContext(t), &client.Request{Name: "x"})
		failed <- err
	}()
	<-started
	r.Close() // as the end of a program does
	err := <-failed
	close(end)
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Kind != client.Unknown ||
		!errors.Is(err, client.ErrClosed) {
		t.Errorf("during the call: %v", err)
	}
	select {
	case <-s.Done():
	case <-time.After(maxWait):
		t.Fatal("the session goes on")
	}
	_, err = s.Call(testContext(t), &client.Request{Name: "x"})
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Kind != client.NotSent ||
		!errors.Is(err, client.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	if s.Err() == nil {
		t.Error("the session has ended without a reason")
	}
}

func TestAProgramThatEndsDuringDiscoverIsRemembered(t *testing.T) {
	memory := &client.Memory{}
	inReader, inWriter := io.Pipe()
	outReader, outWriter := io.Pipe()
	go func() {
		inReader.Read(make([]byte, 1<<10))
		inReader.Close()
		outWriter.Close()
	}()
	_, err := client.Open(testContext(t), client.NewStdio(outReader, inWriter), client.Options{Memory: memory})
	if !errors.Is(err, client.ErrDiscoverEnded) {
		t.Fatalf("%v", err)
	}
	server := &mcptest.Server{Era: mcptest.Legacy}
	open(t, overPipes(t, server), client.Options{Memory: memory})
	if got := server.Methods()[0]; got != "initialize" {
		t.Errorf("the next session begins with %s", got)
	}
}
