package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// surviveClosedPipes makes a write to standard output or standard error fail when nobody reads from it any more. By
// default it ends the process, which is right for a filter and wrong for a server. Programs that the process starts
// keep the default.
func surviveClosedPipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// secondSignal returns a context that ends at the second SIGINT or SIGTERM from now on; the first
// one ends ctx. It must be called before the first signal: main restores the default action then,
// which would leave the programs of calls running.
func secondSignal(ctx context.Context) (force context.Context, stop context.CancelFunc) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	force, stop = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer stop()
		defer signal.Stop(signals)
		for range 2 {
			select {
			case <-signals:
			case <-force.Done():
				return
			}
		}
	}()
	return force, stop
}
