package server

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"hatchel/hcl/surface"
	"hatchel/internal/backoff"
	"hatchel/runtime"
	"hatchel/runtime/load/source"
	"hatchel/runtime/load/source/git"
)

// Reloader loads a configuration directory into a host, one load at a time. All fields but those of a repository are
// required.
type Reloader struct {
	Folder *source.Folder
	Host   *runtime.Host
	Log    *slog.Logger

	Repository *git.Repository // whose revisions are the directory; nil for one that is served in its place
	Every      time.Duration   // between two fetches of the repository

	// Loading is called when a load begins, and the function that it returns when the load has ended.
	Loading func() (done func())
	// Loaded is called after every load, before the next one begins.
	Loaded func(runtime.Report)

	mu      sync.Mutex       // held during a load
	held    *source.Snapshot // what the last load was of, if it is held; guarded by mu
	serving *source.Snapshot // what is served; guarded by mu
	renews  bool             // a database rejects the secrets of what is served; guarded by mu
	tls     bool             // the first configuration has a tls block; constant after Load

	commit  string // of the repository that was loaded last; guarded by mu
	problem string // why the last fetch brought nothing to load; guarded by mu
}

// heldBackoff is how often what is held is loaded again.
var heldBackoff = backoff.Policy{First: 30 * time.Second}

// Load loads the directory for the first time. The error reports that the directory cannot be read. Where the revision
// of a repository cannot be served, it loads the one that was served last, and the report is that of the latter.
func (r *Reloader) Load(ctx context.Context) (runtime.Report, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	report, err := r.fetchAndLoad(ctx)
	if r.Repository != nil && err == nil && !report.OK {
		report, err = r.loadServed(ctx, report)
	}
	r.tls = r.Host.Certificates() != nil
	return report, err
}

// load loads the directory as it is on this machine.
func (r *Reloader) load(ctx context.Context, dir string) (runtime.Report, error) {
	defer r.Loading()()
	files, err := r.Folder.SnapshotOf(ctx, dir)
	if err != nil {
		return runtime.Report{}, err
	}
	report := r.loadSnapshot(ctx, files)
	r.Loaded(report)
	if !report.OK {
		r.loadSecrets(ctx)
		report.Revision = r.Host.Current().Config.ID
	}
	return report, nil
}

func (r *Reloader) loadSnapshot(ctx context.Context, files *source.Snapshot) runtime.Report {
	from := r.revisionOf(files)
	report := r.Host.LoadRevision(ctx, from)
	r.held = nil
	switch {
	case report.Held:
		r.held = files
	case report.OK:
		r.serving, r.renews = files, false
	}
	r.recordServed(ctx, report, from)
	return report
}

func (r *Reloader) revisionOf(files *source.Snapshot) runtime.Revision {
	from := runtime.Revision{Files: files, Dir: files.Dir()}
	if r.Repository != nil {
		from.Commit = git.CommitOf(from.Dir)
	}
	return from
}

// loadSecrets serves what is served with other values of its secrets, if there are any, because the latest files are
// not served. It logs nothing while a database still rejects them.
func (r *Reloader) loadSecrets(ctx context.Context) {
	if r.serving == nil {
		return
	}
	report, changed := r.Host.LoadSecrets(ctx, r.revisionOf(r.serving))
	before := r.renews
	r.renews = report.Held
	if !changed || before && report.Held {
		return
	}
	if !report.OK {
		r.Loaded(report)
	}
	r.logReload("secret of the served configuration", report)
}

// retry loads again what is held. It logs nothing while the load is still held.
func (r *Reloader) retry(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held == nil && !r.renews {
		return
	}
	defer r.Loading()()
	if r.held != nil {
		if report := r.loadSnapshot(ctx, r.held); !report.Held {
			r.Loaded(report)
			r.logReload("held reload", report)
		}
	}
	if r.renews {
		r.loadSecrets(ctx)
	}
}

// Reload loads the directory again, of a repository as it is there, and logs the result. The trigger says what caused
// the reload. A configuration with errors is reported in the report, and the last valid configuration stays active.
func (r *Reloader) Reload(ctx context.Context, trigger string) (runtime.Report, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	report, err := r.fetchAndLoad(ctx)
	return r.logResult(trigger, report, err)
}

// ReloadLocal is Reload without a fetch, because a file of this machine or the value of a secret has changed.
func (r *Reloader) ReloadLocal(ctx context.Context, trigger string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	report, err := r.load(ctx, r.Folder.Dir())
	if err == nil && r.problem != "" {
		r.refuse()
	}
	r.logResult(trigger, report, err)
}

func (r *Reloader) logResult(trigger string, report runtime.Report, err error) (runtime.Report, error) {
	if err != nil {
		r.Log.Error("reload failed, the last valid configuration stays active", "trigger", trigger, "error", err)
		return report, err
	}
	r.logReload(trigger, report)
	return report, nil
}

func (r *Reloader) logReload(trigger string, report runtime.Report) {
	log := r.Log.With("trigger", trigger)
	if report.Commit != "" {
		log = log.With("commit", report.Commit)
	}
	if report.OK {
		log.Info("configuration reloaded", "revision", report.Revision, "added", strings.Join(report.Added, " "),
			"removed", strings.Join(report.Removed, " "), "changed", strings.Join(report.Changed, " "),
			"unchanged", report.Unchanged, "ms", report.Duration)
		if released := report.Released; released != nil {
			log.Info("held reload released", "held_since", released.Since, "lock_owner", released.Owner)
		}
		logChanges(log, report.Differences)
		if r.tls != (r.Host.Certificates() != nil) {
			log.Warn("tls block added or removed, restart the server to apply it", "tls", r.tls)
		}
		return
	}
	errs, warnings := report.Diagnostics.Counts()
	log = log.With("errors", errs, "warnings", warnings, "revision", report.Revision)
	switch {
	case report.Hold != nil && report.Hold.Problem != "":
		log.Error("reload held, the last valid configuration stays active", "problem", report.Hold.Problem,
			"since", report.Hold.Since, "retry", heldBackoff.First)
	case report.Hold != nil:
		log.Error("reload held by its lock, the last valid configuration stays active", "hold", report.Hold.Class,
			"since", report.Hold.Since, "differences", len(report.Hold.Changes), "retry", heldBackoff.First)
	case report.Held:
		log.Error("reload held by a database, the last valid configuration stays active",
			"retry", heldBackoff.First)
	default:
		log.Error("reload failed, the last valid configuration stays active")
	}
}

// maxLoggedChanges is the maximum number of changes of a reload in the log.
const maxLoggedChanges = 50

// logChanges logs what a reload means for callers, as hatchel diff says it.
func logChanges(log *slog.Logger, changes []surface.Change) {
	for i, c := range changes {
		if i == maxLoggedChanges {
			log.Info("further configuration changes not logged", "count", len(changes)-i)
			return
		}
		log.Info("configuration changed", "class", c.Class.String(), "place", c.Place, "change", c.Text)
	}
}

// Run starts to listen for SIGHUP and returns the loop that reloads at each one, fetches the repository, and tries held
// reloads again, until ctx ends.
func (r *Reloader) Run(ctx context.Context) (loop func()) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	return func() {
		defer signal.Stop(hangups)
		var retrying sync.WaitGroup
		defer retrying.Wait()
		retrying.Go(func() {
			for range heldBackoff.Attempts(ctx) {
				r.retry(ctx)
			}
		})
		var polls, marks <-chan time.Time
		if r.Repository != nil {
			ticker := time.NewTicker(r.Every)
			defer ticker.Stop()
			polls = ticker.C
			marking := time.NewTicker(git.MarkInterval)
			defer marking.Stop()
			marks = marking.C
		}
		for {
			select {
			case <-hangups:
				r.Reload(ctx, "SIGHUP")
			case <-marks:
				r.Repository.MarkUsed()
			case <-polls:
				r.poll(ctx)
			case <-ctx.Done():
				return
			}
		}
	}
}
