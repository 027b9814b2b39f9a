// Package process has what concerns the process of a command: its signals, its memory and its build.
package process

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// SurviveClosedPipes makes a write to standard output or standard error fail when nobody reads from it any more. By
// default it ends the process, which is right for a filter and wrong for a server. Programs that the process starts
// keep the default.
func SurviveClosedPipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// SecondSignal returns a context that ends at the second SIGINT or SIGTERM from now on; the first
// one ends ctx. It must be called before the first signal: main restores the default action then,
// which would leave the programs of calls running.
func SecondSignal(ctx context.Context) (force context.Context, stop context.CancelFunc) {
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
