//go:build unix

package logging

import (
	"os"
	"os/signal"
	"syscall"
)

func notifyUserSignal(signals chan<- os.Signal) { signal.Notify(signals, syscall.SIGUSR1) }
