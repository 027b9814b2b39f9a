package sendonce

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"sync"
	"unicode/utf8"

	"golang.org/x/net/http2"
	"golang.org/x/net/idna"
)

// pool has the connections of HTTP/2. It sends a request once, unlike http2.Transport. net/http dials: the pool says by
// http2.ErrNoCachedConn that it needs a connection. It implements http2.ClientConnPool. What it uses of http2 for
// that is deprecated: http.Transport repeats requests, and its NewClientConn takes no connection that it has pooled.
type pool struct {
	settings *http2.Transport //lint:ignore SA1019 see pool

	mu    sync.Mutex
	conns map[string][]*conn // by host and port; guarded by mu
}

type conn struct {
	*http2.ClientConn
	net  *tls.Conn
	used bool // guarded by mu of the pool
}

func newPool(t *http.Transport) *pool {
	p := &pool{conns: map[string][]*conn{}}
	//lint:ignore SA1019 see pool
	p.settings = &http2.Transport{
		//lint:ignore SA1019 see pool
		ConnPool: p, DisableCompression: t.DisableCompression, IdleConnTimeout: t.IdleConnTimeout,
		//lint:ignore SA1019 see pool
		MaxHeaderListSize: uint32(max(t.MaxResponseHeaderBytes, 0)),
	}
	return p
}

// refused is what net/http is given of a connection that cannot be used.
type refused struct{ error }

// RoundTripErr is called by net/http.
func (r refused) RoundTripErr() error { return r.error }

// RoundTrip implements http.RoundTripper.
func (r refused) RoundTrip(*http.Request) (*http.Response, error) { return nil, r.error }

// add takes a connection over that net/http has dialed, unless another one to the address takes requests.
func (p *pool) add(address string, c *tls.Conn) http.RoundTripper {
	p.mu.Lock()
	hasRoom := slices.ContainsFunc(p.conns[address], func(c *conn) bool { return c.CanTakeNewRequest() })
	p.mu.Unlock()
	if hasRoom {
		go c.Close()
		return host{p, address}
	}
	//lint:ignore SA1019 see pool
	client, err := p.settings.NewClientConn(c)
	if err != nil {
		go c.Close()
		return refused{err}
	}
	p.mu.Lock()
	p.conns[address] = append(p.conns[address], &conn{ClientConn: client, net: c})
	p.mu.Unlock()
	return host{p, address}
}

// host sends requests by the connections to an address.
type host struct {
	*pool
	address string
}

// RoundTrip implements http.RoundTripper.
func (h host) RoundTrip(r *http.Request) (*http.Response, error) {
	c, used := h.reserve(h.address)
	if c == nil {
		return nil, http2.ErrNoCachedConn
	}
	return h.send(c, used, r)
}

// opened sends requests with https by the connections that exist. net/http asks it before it dials.
type opened struct{ *pool }

// RoundTrip implements http.RoundTripper.
func (o opened) RoundTrip(r *http.Request) (*http.Response, error) {
	address := dialedAddress(r.URL)
	c, used := o.reserve(address)
	if c == nil {
		return nil, http.ErrSkipAltProtocol
	}
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.GetConn != nil {
		trace.GetConn(address)
	}
	return o.send(c, used, r)
}

// dialedAddress returns the host and port that net/http dials for a URL with https.
func dialedAddress(u *url.URL) string {
	name, port := u.Hostname(), u.Port()
	if port == "" {
		port = "443"
	}
	if !isASCII(name) {
		if ascii, err := idna.Lookup.ToASCII(name); err == nil {
			name = ascii
		}
	}
	return net.JoinHostPort(name, port)
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// reserve returns a connection with room for a request, and whether it was used before; nil if there is none.
func (p *pool) reserve(address string) (c *conn, used bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns[address] {
		if c.ReserveNewRequest() {
			used, c.used = c.used, true
			return c, used
		}
	}
	return nil, false
}

// send sends a request by a connection that has room for it.
func (p *pool) send(c *conn, used bool, r *http.Request) (*http.Response, error) {
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{Conn: c.net, Reused: used})
	}
	resp, err := c.RoundTrip(r)
	if err != nil && err.Error() == textNotEstablished {
		p.MarkDead(c.ClientConn) // http2 does so only after a while
	}
	return resp, err
}

// GetClientConn implements http2.ClientConnPool.
//
//lint:ignore SA1019 see pool
func (p *pool) GetClientConn(_ *http.Request, address string) (*http2.ClientConn, error) {
	c, _ := p.reserve(address)
	if c == nil {
		return nil, http2.ErrNoCachedConn
	}
	return c.ClientConn, nil
}

// MarkDead implements http2.ClientConnPool.
//
//lint:ignore SA1019 see pool
func (p *pool) MarkDead(dead *http2.ClientConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for address, conns := range p.conns {
		conns = slices.DeleteFunc(conns, func(c *conn) bool { return c.ClientConn == dead })
		if p.conns[address] = conns; len(conns) == 0 {
			delete(p.conns, address)
		}
	}
}

// closeIdle forgets all connections. Those in use close when their requests have ended.
func (p *pool) closeIdle() {
	p.mu.Lock()
	old := p.conns
	p.conns = map[string][]*conn{}
	p.mu.Unlock()
	for _, conns := range old {
		for _, c := range conns {
			// It closes the connection when no stream is open. State also counts those that were reset until the
			// server answers the ping behind them, after which http2 does not close the connection.
			go c.Shutdown(context.Background())
		}
	}
}
