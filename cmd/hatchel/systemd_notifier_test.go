package main

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hatchel/runtime"
)

// lockedHost is a host one of whose locks a test can hold.
type lockedHost struct{ sync.Mutex }

func (h *lockedHost) Served() runtime.Readiness {
	h.Lock()
	defer h.Unlock()
	return runtime.Readiness{Tools: 38, Revision: "3f9a", Stale: true}
}

func TestAStuckLockStopsTheWatchdog(t *testing.T) {
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const interval = 20 * time.Millisecond
	t.Setenv("NOTIFY_SOCKET", conn.LocalAddr().String())
	t.Setenv("WATCHDOG_USEC", "20000")
	host := new(lockedHost)
	n := newSystemdNotifier(host, slog.New(slog.DiscardHandler))
	n.Ready()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { n.RunWatchdog(ctx) })
	receive := func(timeout time.Duration) string {
		conn.SetReadDeadline(time.Now().Add(timeout))
		buffer := make([]byte, 4096)
		size, _ := conn.Read(buffer)
		return string(buffer[:size])
	}
	if got, want := receive(10*time.Second), "READY=1\nSTATUS=38 tools, revision 3f9a, stale"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := receive(10 * time.Second); !strings.HasPrefix(got, "WATCHDOG=1\n") {
		t.Errorf("got %q", got)
	}
	host.Lock()
	for receive(5*interval) != "" { // what was sent before
	}
	if got := receive(5 * interval); got != "" {
		t.Errorf("got %q while the lock is held", got)
	}
	host.Unlock()
	if got := receive(10 * time.Second); !strings.HasPrefix(got, "WATCHDOG=1\n") {
		t.Errorf("got %q", got)
	}
	cancel()
	running.Wait()
}
