package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"hatchel/runtime"
	"hatchel/runtime/source"
)

// reloader loads the folder, one load after another, whatever asked for it.
type reloader struct {
	path   string // of the folder, as it was given
	folder *source.Folder
	host   *runtime.Host
	log    *slog.Logger
	stderr io.Writer
	plain  bool // the log is read by people
	tls    bool // connections speak TLS, which is decided at the start

	mu      sync.Mutex
	trimmer *trimmer
}

// begin is the first load, without which nothing is served.
func (r *reloader) begin(ctx context.Context) error {
	done := spin(r.stderr, "loading "+r.path)
	first, err := r.reload(ctx)
	done()
	switch {
	case err != nil:
		return failf("%s cannot be read: %s", r.path, reason(err))
	case !first.OK:
		return failf("%s has %s, and is not served", inWords(r.path), counted(first.Diagnostics))
	}
	r.tls = r.host.Certificates() != nil
	return nil
}

// reload loads what the folder holds now and prints what is wrong with it.
func (r *reloader) reload(ctx context.Context) (runtime.Report, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	files, err := r.folder.Snapshot()
	if err != nil {
		return runtime.Report{}, err
	}
	r.host.Load(ctx, files)
	r.trimmer.soon()
	report := r.host.Status().Last
	switch {
	case len(report.Diagnostics) == 0:
	case r.plain:
		diags, sources := under(r.path, report.Diagnostics, report.Sources)
		diags.Print(r.stderr, sources)
	case report.OK:
		r.log.Warn("the configuration has warnings", "diagnostics", report.Diagnostics)
	default:
		r.log.Error("the configuration has errors", "diagnostics", report.Diagnostics)
	}
	return report, nil
}

// again is a reload of a running server, accounted for in the log.
func (r *reloader) again(ctx context.Context, why string) (runtime.Report, error) {
	report, err := r.reload(ctx)
	switch {
	case err != nil:
		r.log.Error("the folder cannot be read; the last good configuration is served on", "why", why, "error", reason(err))
	case !report.OK:
		r.log.Error("reload failed; the last good configuration is served on", "why", why, "found", counted(report.Diagnostics), "revision", report.Revision)
	default:
		r.log.Info("reloaded", "why", why, "revision", report.Revision, "added", strings.Join(report.Added, " "), "removed", strings.Join(report.Removed, " "),
			"changed", strings.Join(report.Changed, " "), "unchanged", report.Unchanged, "ms", report.Duration)
		if r.tls != (r.host.Certificates() != nil) {
			r.log.Warn("the tls block has come or gone, which takes effect when the server is started again", "tls", r.tls)
		}
	}
	return report, err
}

// onHangup loads the folder at every SIGHUP from now on. What it returns waits for them until ctx ends.
func (r *reloader) onHangup(ctx context.Context) (wait func()) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	return func() {
		defer signal.Stop(hangups)
		for {
			select {
			case <-hangups:
				r.again(ctx, "SIGHUP")
			case <-ctx.Done():
				return
			}
		}
	}
}
