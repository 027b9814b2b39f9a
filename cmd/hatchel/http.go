package main

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"time"

	"hatchel/runtime"
)

// lastWrites is how long clients have to read the last answers.
const lastWrites = time.Second

// tlsOf has the connections of a server begin as the configuration says at that moment, or is nil where it says nothing of TLS. Whether it does is asked once.
func tlsOf(host *runtime.Host) *tls.Config {
	first := host.Certificates()
	if first == nil {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		if now := host.Certificates(); now != nil {
			return now.Config(), nil
		}
		return first.Config(), nil
	}}
}

// serveHTTP serves until ctx ends and what was under way then has been answered. Ready is told where, as soon as somebody may come.
func (s *serving) serveHTTP(ctx context.Context, e *endpoints, ready func(net.Addr)) error {
	listener, err := net.Listen("tcp", s.listen)
	if err != nil {
		return failf("cannot listen on %s: %s", s.listen, listenReason(err))
	}
	web := &http.Server{
		Handler:           e,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		TLSConfig:         tlsOf(e.host),
		ErrorLog:          slog.NewLogLogger(e.reloader.log.Handler(), slog.LevelWarn),
	}
	insisted, forget := insistence(ctx)
	defer forget()
	served := make(chan error, 1)
	go func() {
		if web.TLSConfig != nil {
			served <- web.ServeTLS(listener, "", "")
			return
		}
		served <- web.Serve(listener)
	}()
	ready(listener.Addr())
	select {
	case err := <-served:
		return failf("the listener on %s broke: %s", s.listen, reason(err))
	case <-ctx.Done():
	}
	cut := shutdown(insisted, e.mcp, e.host)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWrites)
	defer cancel()
	if web.Shutdown(closing) != nil {
		web.Close()
	}
	<-served
	if cut != nil {
		return failf("stopped before the calls under way had ended")
	}
	return nil
}
