// Package endpoint serves a part of the server at an address of its own, which a configuration declares. The address
// may change with each configuration; an address that stays is never closed in between.
package endpoint

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"hatchel/internal/neterror"
)

// Endpoint is the place of one listener, which outlives configurations. Its zero value has none. It is safe for
// concurrent use.
type Endpoint struct {
	handler atomic.Pointer[http.Handler]
	running sync.WaitGroup // listeners that are served

	mu      sync.Mutex
	serving *Listener // nil for none; guarded by mu
}

// Options say how a listener is served.
type Options struct {
	Name string // of what is served, for the log
	// TLS returns the configuration of a new connection; nil for plain HTTP. It is asked for each one.
	TLS          func() *tls.Config
	WriteTimeout time.Duration // of a response; 0 for none
	Log          *slog.Logger
	// ClosedForResets counts a connection that was closed for its resets, as LimitResets does.
	ClosedForResets func()
}

// SetHandler sets what serves the requests to the listener. Until then they are answered with 503.
func (e *Endpoint) SetHandler(h http.Handler) { e.handler.Store(&h) }

// ServeHTTP implements http.Handler.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h := e.handler.Load(); h != nil {
		(*h).ServeHTTP(w, r)
		return
	}
	http.Error(w, "The server is starting", http.StatusServiceUnavailable)
}

// Listener is an open address.
type Listener struct {
	declared string // HOST:PORT, as it is written
	listener net.Listener
	server   *http.Server
}

// Addr returns the address, with the port that was chosen for port 0.
func (l *Listener) Addr() net.Addr { return l.listener.Addr() }

// Open returns a listener at an address: that which is served, if it is declared there.
func (e *Endpoint) Open(ctx context.Context, address string) (*Listener, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.serving != nil && e.serving.declared == address {
		return e.serving, nil
	}
	listener, err := Listen(ctx, address)
	if err != nil {
		return nil, err
	}
	return &Listener{declared: address, listener: listener}, nil
}

// ErrInUse reports that another listener has the address.
var ErrInUse = errors.New("the address is in use")

// Listen opens a TCP listener. The error says why that fails, without the address; ErrInUse is one.
func Listen(ctx context.Context, address string) (*net.TCPListener, error) {
	var config net.ListenConfig
	config.SetMultipathTCP(false) // its sockets have no filters, which a server that stops needs
	listener, err := config.Listen(ctx, "tcp", address)
	var op *net.OpError
	switch {
	case err == nil:
		return listener.(*net.TCPListener), nil
	case errors.Is(err, neterror.EADDRINUSE):
		err = ErrInUse
	case errors.Is(err, neterror.EACCES):
		err = errors.New("permission denied")
	case errors.As(err, &op):
		err = op.Err
	}
	return nil, err
}

// Discard closes a listener, unless it is served.
func (e *Endpoint) Discard(l *Listener) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if l == e.serving || l.server != nil {
		return nil
	}
	return l.listener.Close()
}

const (
	headerTimeout = 5 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeaders    = 64 << 10
)

// Serve serves a listener from now on, nil for none, and closes the one that was served before.
func (e *Endpoint) Serve(l *Listener, o Options) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if l == e.serving {
		return
	}
	if e.serving != nil {
		e.serving.server.Close()
	}
	if e.serving = l; l == nil {
		return
	}
	if o.TLS == nil {
		o.TLS = func() *tls.Config { return nil }
	}
	l.server = &http.Server{
		Handler: CloseOutdated(e, o.TLS), ReadHeaderTimeout: headerTimeout, WriteTimeout: o.WriteTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaders,
		ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn),
	}
	LimitResets(l.server, o.Log, o.ClosedForResets)
	o.Log.Info(o.Name+" served", "address", l.Addr().String())
	e.running.Go(func() { l.server.Serve(WithTLS(l.listener, o.TLS)) }) // until it is closed
}

// WithTLS returns a listener whose connections use TLS if config returns a configuration when they are accepted, so
// that a reload may add and remove TLS. The listener of http.Server.Serve may be one.
func WithTLS(l net.Listener, config func() *tls.Config) net.Listener { return tlsListener{l, config} }

type tlsListener struct {
	net.Listener
	config func() *tls.Config
}

// Accept implements net.Listener.
func (l tlsListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if config := l.config(); config != nil {
		return tls.Server(conn, config), nil
	}
	return conn, nil
}

// CloseOutdated returns a handler of connections of WithTLS. It closes each that began before TLS was added or removed,
// after its next response.
func CloseOutdated(next http.Handler, config func() *tls.Config) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if (r.TLS != nil) != (config() != nil) {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// Close closes the listener that is served.
func (e *Endpoint) Close() {
	e.Serve(nil, Options{})
	e.running.Wait()
}
