package main

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"hatchel/cmd/hatchel/console"
	"hatchel/runtime"
)

// systemdHost is what a Notifier notifies of.
type systemdHost interface {
	// Served says what is served. It waits for the locks whose deadlock the watchdog has to find.
	Served() runtime.Readiness
}

// systemdNotifier notifies systemd of what the server does. A nil Notifier does nothing. Its methods may be called
// concurrently.
type systemdNotifier struct {
	host systemdHost
	log  *slog.Logger

	mu       sync.Mutex
	ready    bool // Ready was called; guarded by mu
	stopping bool // Stopping was called; guarded by mu
}

// newSystemdNotifier returns a Notifier of what a host serves, or nil when systemd wants no notifications.
func newSystemdNotifier(host systemdHost, log *slog.Logger) *systemdNotifier {
	if os.Getenv("NOTIFY_SOCKET") == "" {
		return nil
	}
	return &systemdNotifier{host: host, log: log}
}

// Ready notifies that the server accepts connections.
func (n *systemdNotifier) Ready() {
	if n == nil {
		return
	}
	status := n.status()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ready = true
	n.send(daemon.SdNotifyReady + "\nSTATUS=" + status)
}

// Reloading notifies that a load begins. The returned function notifies that it has ended, and of what is served since
// then.
func (n *systemdNotifier) Reloading() (done func()) {
	if n == nil || !n.sendWhileServing(daemon.SdNotifyReloading+"\n"+daemon.SdNotifyMonotonicUsec()) {
		return func() {}
	}
	return func() { n.sendWhileServing(daemon.SdNotifyReady + "\nSTATUS=" + n.status()) }
}

// Stopping notifies that the shutdown has begun. Nothing is notified after it but the watchdog.
func (n *systemdNotifier) Stopping() {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stopping = true
	n.send(daemon.SdNotifyStopping + "\nSTATUS=waiting for active calls to end")
}

// RunWatchdog notifies the watchdog of systemd twice in its interval until ctx ends, and returns at once when there is
// none. It reads what is served before each notification, so that a deadlock of the server ends them.
func (n *systemdNotifier) RunWatchdog(ctx context.Context) {
	if n == nil {
		return
	}
	interval, err := daemon.SdWatchdogEnabled(true)
	if err != nil {
		n.log.Warn("watchdog of systemd not notified", "error", err)
	}
	if interval <= 0 {
		return
	}
	ticker := time.NewTicker(max(interval/2, time.Millisecond))
	defer ticker.Stop()
	for {
		status := n.status()
		n.mu.Lock()
		state := daemon.SdNotifyWatchdog
		if n.ready && !n.stopping {
			state += "\nSTATUS=" + status
		}
		n.send(state)
		n.mu.Unlock()
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// sendWhileServing sends a state between Ready and Stopping, and reports whether it did.
func (n *systemdNotifier) sendWhileServing(state string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.ready || n.stopping {
		return false
	}
	n.send(state)
	return true
}

func (n *systemdNotifier) send(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		n.log.Warn("systemd not notified", "error", err)
	}
}

// status returns what is served, as systemctl status shows it.
func (n *systemdNotifier) status() string {
	r := n.host.Served()
	return console.ServedLine(r.Tools, r.Prompts, r.Resources, r.Skills, r.Revision, r.Stale)
}
