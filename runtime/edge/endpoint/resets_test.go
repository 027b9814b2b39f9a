package endpoint

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// h2Client sends frames to a server whose handler waits for the end of its request, for a path that is not "/".
type h2Client struct {
	t      *testing.T
	conn   *tls.Conn
	framer *http2.Framer
	stream uint32
	ended  chan error // receives the error of reading
	pong   chan struct{}
	closed atomic.Int32
	log    bytes.Buffer // complete when closed is counted
}

func newH2Client(t *testing.T, limited bool) *h2Client {
	t.Helper()
	c := &h2Client{t: t, ended: make(chan error, 1), pong: make(chan struct{})}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			<-r.Context().Done()
		}
	}))
	server.StartTLS() // for its certificate
	config := server.TLS.Clone()
	config.NextProtos = []string{"h2"}
	server.Close()
	web := &http.Server{Handler: server.Config.Handler}
	if limited {
		LimitResets(web, slog.New(slog.NewTextHandler(&c.log, nil)), func() { c.closed.Add(1) })
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go web.Serve(WithTLS(l, func() *tls.Config { return config }))
	t.Cleanup(func() { web.Close() })
	c.conn, err = tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.conn.Close() })
	c.framer = http2.NewFramer(c.conn, c.conn)
	io.WriteString(c.conn, http2.ClientPreface)
	if err := c.framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			f, err := c.framer.ReadFrame()
			if err != nil {
				c.ended <- err
				return
			}
			if _, ok := f.(*http2.PingFrame); ok {
				c.pong <- struct{}{}
			}
		}
	}()
	return c
}

// request begins a request.
func (c *h2Client) request(path string, end bool) error {
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	for _, f := range [][2]string{{":method", "POST"}, {":scheme", "https"}, {":authority", "x"}, {":path", path}} {
		_ = e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	c.stream += 2
	return c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: c.stream - 1, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: end})
}

// attacks reset the latest stream.
var attacks = map[string]func(c *h2Client) error{
	"reset by the client": func(c *h2Client) error { return c.framer.WriteRSTStream(c.stream-1, http2.ErrCodeCancel) },
	"a window of nothing": func(c *h2Client) error {
		return c.framer.WriteRawFrame(http2.FrameWindowUpdate, 0, c.stream-1, make([]byte, 4))
	},
	"a window that is full": func(c *h2Client) error { return c.framer.WriteWindowUpdate(c.stream-1, 1<<31-1) },
	"headers twice": func(c *h2Client) error {
		return c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: c.stream - 1, BlockFragment: []byte{0x82}, EndHeaders: true})
	},
}

func TestConnectionWithManyResetsIsClosed(t *testing.T) {
	for name, attack := range attacks {
		t.Run(name, func(t *testing.T) {
			c := newH2Client(t, true)
			isOpen := true
			for n := 0; isOpen && n < 3*maxResets; n++ {
				// The answer to the ping comes when the stream is closed. With too many of them open, the protocol itself would
				// refuse one, and close the connection at its next frame.
				failed := errors.Join(c.request("/wait", false), attack(c), c.framer.WritePing(false, [8]byte{}))
				select {
				case <-c.pong:
				case <-c.ended:
					isOpen = false
				case <-time.After(time.Minute):
					t.Fatalf("no answer, %v", failed)
				}
			}
			if isOpen {
				t.Error("the connection is open")
			}
			if n, lines := c.closed.Load(), strings.Count(c.log.String(), "HTTP/2 connection closed"); n != 1 || lines != 1 {
				t.Errorf("%d connections were counted, %d logged", n, lines)
			}
		})
	}
}

func TestConnectionWithSomeResetsStaysOpen(t *testing.T) {
	c := newH2Client(t, true)
	for range maxResets / 2 {
		if err := errors.Join(c.request("/wait", false), attacks["reset by the client"](c)); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 * maxResets { // whose bodies the handler does not read, so that the server resets them without an error
		if err := c.request("/", false); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.framer.WritePing(false, [8]byte{}); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-c.ended:
		t.Error(err)
	case <-c.pong:
	}
	if n := c.closed.Load(); n != 0 {
		t.Errorf("%d connections were reported", n)
	}
}

func TestResetsAreCountedHoweverTheyAreRead(t *testing.T) {
	var stream bytes.Buffer
	f := http2.NewFramer(&stream, nil)
	for i := range uint32(20) {
		_ = f.WriteData(2*i+1, false, make([]byte, i))
		_ = f.WriteRSTStream(2*i+1, http2.ErrCode(i%2))
	}
	for piece := 1; piece < 40; piece++ {
		var read frames
		resets := 0
		for p := stream.Bytes(); len(p) > 0; p = p[min(piece, len(p)):] {
			resets += read.countResets(p[:min(piece, len(p))], func(code http2.ErrCode) bool { return code != http2.ErrCodeNo })
		}
		if resets != 10 {
			t.Errorf("in pieces of %d bytes: %d", piece, resets)
		}
	}
}
