package client

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"hatchel/internal/proxy"
	"hatchel/internal/publicip"
	"hatchel/internal/sendonce"
)

// NewRoundTripper returns the transport for HTTPConfig.RoundTripper: it uses the proxies of the environment, does not
// connect to link-local addresses and metadata services of clouds, and bounds headers. The tls configuration may be
// nil. CloseIdleConnections releases it.
func NewRoundTripper(config *tls.Config) *sendonce.Transport {
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
	return sendonce.New(t)
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

// sending knows whether anything of a request was sent.
type sending struct {
	mu      sync.Mutex
	asked   bool         // net/http looks for a connection; guarded by mu
	got     bool         // net/http has one; guarded by mu
	conn    *countedConn // the connection, if it is for this request alone and is counted; guarded by mu
	written int64        // to conn, before the request; guarded by mu
}

// watch returns a context in which net/http tells s which connection it uses.
func (s *sending) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GetConn: s.getConn, GotConn: s.gotConn})
}

func (s *sending) getConn(string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = true
}

func (s *sending) gotConn(info httptrace.GotConnInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := info.Conn
	s.got, s.conn = true, nil
	if secure, ok := c.(*tls.Conn); ok {
		if secure.ConnectionState().NegotiatedProtocol == "h2" {
			return
		}
		c = secure.NetConn()
	}
	if s.conn, _ = c.(*countedConn); s.conn != nil {
		s.written = s.conn.written.Load()
	}
}

// nothing reports whether it is certain that nothing of the request was sent. It is called after the request has
// failed. Then net/http no longer writes to a connection of HTTP/1, and does not look for another one.
func (s *sending) nothing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked && (!s.got || s.conn != nil && s.conn.written.Load() == s.written)
}
