package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"hatchel/runtime"
	"hatchel/runtime/mcp"
)

// insistence ends at the second signal from now on that tells the process to stop; the first ends ctx. It listens before that one has come, because main
// lets go of the signals then: with nobody else listening the second one would end the process at once, and leave the programs behind that calls run.
func insistence(ctx context.Context) (insisted context.Context, forget context.CancelFunc) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	insisted, forget = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer forget()
		defer signal.Stop(signals)
		for range 2 {
			select {
			case <-signals:
			case <-insisted.Done():
				return
			}
		}
	}()
	return insisted, forget
}

// shutdown lets the calls and tasks under way end, but for those that wait for an approval, which end at once; unless a second signal says not to wait. What has not ended then is cancelled, with the programs that it runs,
// and answered with that.
func shutdown(insisted context.Context, server *mcp.Server, host *runtime.Host) error {
	host.StopWaiting()
	ctx, cancel := context.WithTimeout(insisted, drainTime)
	defer cancel()
	err := server.Shutdown(ctx)
	if err == nil {
		err = host.Drain(ctx)
	}
	if err != nil {
		host.Close()
	}
	return err
}
