package main

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// lastWrites is how long clients have to read the last answers.
const lastWrites = time.Second

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
		ErrorLog:          slog.NewLogLogger(e.reloader.log.Handler(), slog.LevelWarn),
	}
	insisted, forget := insistence(ctx)
	defer forget()
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
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
