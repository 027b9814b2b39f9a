package server

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"hatchel/runtime"
	"hatchel/runtime/source"
)

// Reloader loads a configuration directory into a host, one load at a time. All fields are
// required.
type Reloader struct {
	Folder *source.Folder
	Host   *runtime.Host
	Log    *slog.Logger
	// Loaded is called after every load, before the next one begins.
	Loaded func(runtime.Report)

	mu  sync.Mutex // held during a load
	tls bool       // the first configuration has a tls block; constant after Load
}

// Load loads the directory for the first time. The error reports that the directory cannot be read.
func (r *Reloader) Load(ctx context.Context) (runtime.Report, error) {
	report, err := r.load(ctx)
	r.tls = r.Host.Certificates() != nil
	return report, err
}

func (r *Reloader) load(ctx context.Context) (runtime.Report, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	files, err := r.Folder.Snapshot()
	if err != nil {
		return runtime.Report{}, err
	}
	r.Host.Load(ctx, files)
	report := r.Host.Status().Last
	r.Loaded(report)
	return report, nil
}

// Reload loads the directory again and logs the result. The trigger says what caused the reload. A
// configuration with errors is reported in the report, and the last valid configuration stays
// active.
func (r *Reloader) Reload(ctx context.Context, trigger string) (runtime.Report, error) {
	report, err := r.load(ctx)
	log := r.Log.With("trigger", trigger)
	switch {
	case err != nil:
		log.Error("reload failed, the last valid configuration stays active", "error", err)
	case !report.OK:
		errs, warnings := report.Diagnostics.Counts()
		log.Error("reload failed, the last valid configuration stays active",
			"errors", errs, "warnings", warnings, "revision", report.Revision)
	default:
		log.Info("configuration reloaded", "revision", report.Revision, "added", strings.Join(report.Added, " "),
			"removed", strings.Join(report.Removed, " "), "changed", strings.Join(report.Changed, " "),
			"unchanged", report.Unchanged, "ms", report.Duration)
		if r.tls != (r.Host.Certificates() != nil) {
			log.Warn("tls block added or removed, restart the server to apply it", "tls", r.tls)
		}
	}
	return report, err
}

// OnHangup starts to listen for SIGHUP and returns the loop that reloads at each one until ctx
// ends.
func (r *Reloader) OnHangup(ctx context.Context) (loop func()) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	return func() {
		defer signal.Stop(hangups)
		for {
			select {
			case <-hangups:
				r.Reload(ctx, "SIGHUP")
			case <-ctx.Done():
				return
			}
		}
	}
}
