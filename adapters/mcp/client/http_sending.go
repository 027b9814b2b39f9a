package client

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"hatchel/internal/proxy"
	"hatchel/internal/publicip"
)

// NewRoundTripper returns the transport for HTTPConfig.RoundTripper: it uses the proxies of the environment, does not
// connect to link-local addresses and metadata services of clouds, and bounds headers. The tls configuration may be
// nil. CloseIdleConnections releases it.
func NewRoundTripper(config *tls.Config) *http.Transport {
	dialer := publicip.ServiceDialer(dialTimeout)
	t := &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &countedConn{Conn: c}, nil
		},
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    dialTimeout,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: maxHeaders,
	}
	proxy.Configure(t)
	return t
}

const (
	dialTimeout    = 10 * time.Second
	maxIdlePerHost = 64
	maxHeaders     = 64 << 10 // bytes of the headers of a response
)

// countedConn counts what is written to a connection, before it is written.
type countedConn struct {
	net.Conn
	written atomic.Int64
}

func (c *countedConn) Write(b []byte) (int, error) {
	c.written.Add(int64(len(b)))
	return c.Conn.Write(b)
}

// sending is the body of a request, and knows whether anything of the request was sent.
type sending struct {
	mu     sync.Mutex
	rest   []byte       // guarded by mu
	read   bool         // net/http has read a part of it; guarded by mu
	closed bool         // guarded by mu
	conn   *countedConn // nil if it is not known, or others use it, too; guarded by mu
	before int64        // what was written to conn before; guarded by mu
}

// watch returns a context in which net/http tells s which connection it uses.
func (s *sending) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: s.gotConn})
}

func (s *sending) gotConn(info httptrace.GotConnInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := info.Conn
	if secure, ok := c.(*tls.Conn); ok {
		if secure.ConnectionState().NegotiatedProtocol == "h2" {
			s.conn = nil
			return
		}
		c = secure.NetConn()
	}
	if s.conn, _ = c.(*countedConn); s.conn != nil {
		s.before = s.conn.written.Load()
	}
}

// nothing reports whether nothing of the request was sent, and makes sure that nothing will be. It is called after
// the request has failed. Then net/http no longer writes to a connection of HTTP/1, and does not read a closed body.
func (s *sending) nothing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return !s.read || s.conn != nil && s.conn.written.Load() == s.before
}

// Read implements io.Reader.
func (s *sending) Read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return 0, http.ErrBodyReadAfterClose
	case len(s.rest) == 0:
		return 0, io.EOF
	}
	s.read = true
	n := copy(b, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// Close implements io.Closer.
func (s *sending) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}
