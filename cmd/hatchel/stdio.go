package main

import (
	"context"
	"io"
	"os"
	"sync"
	"time"

	"hatchel/runtime"
	"hatchel/runtime/mcp"
)

// serveStdio serves one client until it is gone, or ctx ends and what was under way then has been answered.
func (s *serving) serveStdio(ctx context.Context, server *mcp.Server, host *runtime.Host) error {
	stdin, restore := mcp.Stdin()
	defer restore()
	in := &watched{ReadCloser: stdin, ended: func() { time.AfterFunc(drainTime, host.Close) }}
	insisted, forget := insistence(ctx)
	defer forget()
	stop := context.AfterFunc(ctx, func() { shutdown(insisted, server, host) })
	defer stop()
	// The streams outlive ctx: what is under way when it ends is answered first.
	if err := server.For(s.toolset).Serve(context.WithoutCancel(ctx), in, os.Stdout); err != nil {
		return failf("the client's streams broke: %s", reason(err))
	}
	return nil
}

// watched tells when its reader has ended: a client that is gone waits for its answers only so long.
type watched struct {
	io.ReadCloser
	ended func()
	once  sync.Once
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if err != nil {
		w.once.Do(w.ended)
	}
	return n, err
}
