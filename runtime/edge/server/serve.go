package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"hatchel/runtime/edge/endpoint"
)

const (
	// GracePeriod is the time that active calls and tasks have to end after a server has closed its
	// listener.
	GracePeriod = 30 * time.Second

	idleGracePeriod   = 5 * time.Second // for requests on connections that are open when the listener closes
	finalWriteTimeout = time.Second     // for clients to read the last responses
	endOfInputPeriod  = time.Second / 2 // for active calls after a client has closed its input
)

// ErrCallsCancelled reports that a shutdown cancelled active calls, because the grace period
// expired or force ended.
var ErrCallsCancelled = errors.New("active calls were cancelled")

// Serve accepts HTTP connections from a listener until ctx ends, and returns when the shutdown is
// complete. A connection uses TLS if the configuration has a tls block when it begins, with the certificates of the
// current configuration.
//
// When ctx ends, /readyz answers 503. After s.Drain the listener closes. Each connection that is
// open then is closed after its next response, or when it was idle for 5 seconds. The calls that are
// active have the GracePeriod to end. The end of force cancels the calls that are still active then.
func (s *Server) Serve(ctx, force context.Context, l *Listener) error {
	var open sync.WaitGroup // connections
	web := &http.Server{
		Handler:           endpoint.CloseOutdated(s, s.Host.TLSConfig),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn),
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				open.Add(1)
			case http.StateHijacked, http.StateClosed:
				open.Done()
			}
		},
	}
	s.address.Store(l.Addr())
	endpoint.LimitResets(web, s.Log.Logger, s.Host.Telemetry().ResetsRefused)
	served := make(chan error, 1)
	go func() { served <- web.Serve(endpoint.WithTLS(l, s.Host.TLSConfig)) }()
	select {
	case err := <-served:
		return fmt.Errorf("the listener failed: %w", err)
	case <-ctx.Done():
	}
	s.stopping.Store(true)
	s.Host.EndEvents()
	wait(force, s.Drain, nil)
	s.mcp.EndStreams()
	l.refuseNew()
	<-served // Serve has closed the listener
	grace, cancel := context.WithTimeout(force, GracePeriod)
	defer cancel()
	s.Host.StopWaiting()
	idle := make(chan struct{})
	go func() {
		open.Wait()
		close(idle)
	}()
	wait(grace, idleGracePeriod, idle)
	closing, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	closed := make(chan error, 1)
	go func() { closed <- web.Shutdown(closing) }() // closes each connection when it is idle
	err := s.shutdown(grace)
	defer time.AfterFunc(finalWriteTimeout, abandon).Stop()
	if <-closed != nil {
		web.Close()
	}
	return err
}

// wait waits until the duration is over, ctx ends or done is closed.
func wait(ctx context.Context, d time.Duration, done <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-done:
	}
}

// ServeStdio serves one client on two streams until the input ends, or until ctx ends and the
// active calls are answered. A client that has closed its input gets the responses of the next half
// second; then the active calls are cancelled, whose programs have another second to end.
//
// When ctx ends, the active calls have the GracePeriod to end. The end of force cancels those that are
// still active then. ErrCallsCancelled reports that a client does not read: its responses are lost.
func (s *Server) ServeStdio(ctx, force context.Context, in io.ReadCloser, out io.Writer) error {
	in = &eofReader{ReadCloser: in, onEnd: func() { time.AfterFunc(endOfInputPeriod, s.Host.Close) }}
	served := make(chan error, 1)
	// The streams outlive ctx, so that active calls are answered.
	go func() { served <- s.mcp.For(s.Toolset).Serve(context.WithoutCancel(ctx), in, out) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(force, GracePeriod)
	defer cancel()
	s.Host.EndEvents()
	s.Host.StopWaiting()
	s.shutdown(grace)
	select {
	case err := <-served:
		return err
	case <-time.After(finalWriteTimeout): // a write that nobody reads cannot be interrupted
		return ErrCallsCancelled
	}
}

// eofReader calls onEnd once when its reader returns an error.
type eofReader struct {
	io.ReadCloser
	onEnd func()
	once  sync.Once
}

func (r *eofReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil {
		r.once.Do(r.onEnd)
	}
	return n, err
}

// shutdown refuses new requests and lets calls and tasks end until grace ends. It cancels the rest,
// including the programs that they run, and returns ErrCallsCancelled.
func (s *Server) shutdown(grace context.Context) error {
	err := s.mcp.Shutdown(grace)
	if err == nil {
		err = s.Host.Drain(grace)
	}
	if err != nil {
		s.Host.Close()
		return ErrCallsCancelled
	}
	return nil
}

// IsExposed reports whether other machines can connect to a listener at an address HOST:PORT. The
// error reports an invalid address.
func IsExposed(ctx context.Context, address string) (bool, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false, fmt.Errorf("an address is HOST:PORT, for example 127.0.0.1:8080, and got %q", address)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return false, fmt.Errorf("a port is a number from 0 to 65535, and got %q", port)
	}
	if host == "" {
		return true, nil
	}
	ips, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return false, fmt.Errorf("there is no host %q", host)
	}
	return slices.ContainsFunc(ips, func(ip net.IPAddr) bool { return !ip.IP.IsLoopback() }), nil
}

// Listen opens a TCP listener at the address of --listen. The error is a sentence that names the address.
func Listen(ctx context.Context, address string) (*Listener, error) {
	listener, err := endpoint.Listen(ctx, address)
	if errors.Is(err, endpoint.ErrInUse) {
		err = fmt.Errorf("%w; choose another one, as in --listen 127.0.0.1:8081", err)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	return &Listener{TCPListener: listener}, nil
}
