package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"

	"hatchel/hcl"
	"hatchel/runtime"
	"hatchel/runtime/load/source/git"
)

// RepositoryHome returns the folder for the revisions of a repository: beside the state, which is in a file or, when
// that is empty, in its default place.
func RepositoryHome(stateFile string, l git.Location) (string, error) {
	parent, _, err := stateDirectory()
	if stateFile != "" {
		parent, err = filepath.Abs(filepath.Dir(stateFile))
	}
	sum := sha256.Sum256([]byte(l.String()))
	return filepath.Join(parent, l.Name()+"-"+hex.EncodeToString(sum[:6])+".git"), err
}

// fetchAndLoad loads the directory, of a repository its present revision. A revision that cannot be fetched, or is
// refused, is a load that fails. The error is that of ctx, or reports that the directory cannot be read.
func (r *Reloader) fetchAndLoad(ctx context.Context) (runtime.Report, error) {
	if r.Repository == nil {
		return r.load(ctx, r.Folder.Dir())
	}
	dir, commit, err := r.Repository.Fetch(ctx)
	if ctx.Err() != nil {
		return runtime.Report{}, context.Cause(ctx) // which says nothing of the revision
	}
	return r.loadFetched(ctx, dir, commit, err)
}

func (r *Reloader) loadFetched(ctx context.Context, dir, commit string, err error) (runtime.Report, error) {
	r.commit, r.problem = commit, ""
	if err == nil {
		return r.load(ctx, dir)
	}
	r.problem = err.Error()
	report := r.refuse()
	r.Loaded(report)
	return report, nil
}

// refuse records that the last fetch has brought nothing to load.
func (r *Reloader) refuse() runtime.Report {
	return r.Host.Refuse(runtime.Report{Commit: r.commit, Diagnostics: hcl.Diagnostics{{
		Summary: "Revision not served",
		Detail:  capitalize(r.problem) + ".",
	}}})
}

// poll fetches the repository. It loads and logs nothing when that has the result of the last time, and when ctx ends.
func (r *Reloader) poll(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	dir, commit, err := r.Repository.Fetch(ctx)
	if ctx.Err() != nil || err == nil && r.problem == "" && commit == r.commit ||
		err != nil && commit == r.commit && withoutDigits(r.problem) == withoutDigits(err.Error()) {
		return
	}
	report, err := r.loadFetched(ctx, dir, commit, err)
	r.logResult("fetch", report, err)
}

// withoutDigits returns what is the same of a problem each time: texts of git have durations.
func withoutDigits(problem string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, problem)
}

// loadServed loads the revision that was served last, because the present one cannot be served. What is served is stale
// then. Without such a revision, the report is that of the failed load.
func (r *Reloader) loadServed(ctx context.Context, failed runtime.Report) (runtime.Report, error) {
	dir, ok := r.Repository.Served(ctx)
	if !ok || git.CommitOf(dir) == failed.Commit {
		return failed, nil
	}
	report, err := r.load(ctx, dir)
	if err != nil || !report.OK {
		return report, err
	}
	r.Log.Warn("revision not served, the last one is served again", "commit", report.Commit, "refused", failed.Commit)
	r.Host.Refuse(failed)
	return report, nil
}

// recordServed records that a revision is served from now on.
func (r *Reloader) recordServed(ctx context.Context, report runtime.Report, from runtime.Revision) {
	if r.Repository == nil || !report.OK {
		return
	}
	if err := r.Repository.Serve(ctx, from.Dir); err != nil {
		r.Log.Error("served revision not recorded, a restart may serve the one before", "commit", from.Commit,
			"error", err)
	}
}
