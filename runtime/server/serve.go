package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"hatchel/runtime"
)

const (
	// GracePeriod is the time that active calls and tasks have to end after a shutdown begins.
	GracePeriod = 30 * time.Second

	finalWriteTimeout = time.Second // for clients to read the last responses
)

// ErrCallsCancelled reports that a shutdown cancelled active calls, because the grace period
// expired or force ended.
var ErrCallsCancelled = errors.New("active calls were cancelled")

// Serve accepts HTTP connections from a listener until ctx ends, and returns when the shutdown is
// complete. The end of force cancels the calls that are still active then. Whether connections use
// TLS is decided once; the certificates are those of the current configuration.
func (s *Server) Serve(ctx, force context.Context, l net.Listener) error {
	web := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		TLSConfig:         tlsConfig(s.Host),
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	go func() {
		if web.TLSConfig != nil {
			served <- web.ServeTLS(l, "", "")
			return
		}
		served <- web.Serve(l)
	}()
	select {
	case err := <-served:
		return fmt.Errorf("the listener failed: %w", err)
	case <-ctx.Done():
	}
	close(s.stopping)
	err := s.shutdown(force)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), finalWriteTimeout)
	defer cancel()
	if web.Shutdown(closing) != nil {
		web.Close()
	}
	<-served
	return err
}

// tlsConfig returns a configuration that takes the certificates from the configuration that is
// current when a connection begins, or nil when the configuration has no tls block.
func tlsConfig(host *runtime.Host) *tls.Config {
	first := host.Certificates()
	if first == nil {
		return nil
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			if now := host.Certificates(); now != nil {
				return now.Config(), nil
			}
			return first.Config(), nil
		},
	}
}

// ServeStdio serves one client on two streams until the input ends, or until ctx ends and the
// active calls are answered. The end of force cancels those calls.
func (s *Server) ServeStdio(ctx, force context.Context, in io.ReadCloser, out io.Writer) error {
	// A client that has closed its input waits for the remaining responses only for the grace
	// period.
	in = &eofReader{ReadCloser: in, onEnd: func() { time.AfterFunc(GracePeriod, s.Host.Close) }}
	stop := context.AfterFunc(ctx, func() { s.shutdown(force) })
	defer stop()
	// The streams outlive ctx, so that active calls are answered.
	return s.mcp.For(s.Toolset).Serve(context.WithoutCancel(ctx), in, out)
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

// shutdown stops calls that wait for an approval and lets all other calls and tasks end within the
// grace period, or until force ends. It cancels the rest, including the programs that they run, and
// returns ErrCallsCancelled.
func (s *Server) shutdown(force context.Context) error {
	s.Host.StopWaiting()
	ctx, cancel := context.WithTimeout(force, GracePeriod)
	defer cancel()
	err := s.mcp.Shutdown(ctx)
	if err == nil {
		err = s.Host.Drain(ctx)
	}
	if err != nil {
		s.Host.Close()
		return ErrCallsCancelled
	}
	return nil
}
