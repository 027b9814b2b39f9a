package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"hatchel/internal/filelock"
)

// Limits of a folder.
const (
	maxContent = 64 << 20 // bytes
	maxFiles   = 10_000
)

// Repository is a remote repository whose revisions are kept below a folder of this machine. Several processes may use
// that folder. The methods may be called concurrently.
type Repository struct {
	Location
	home    string
	signers string // absolute path of the allowed signers; empty when commits need no signature
	timeout time.Duration
	maxPack int // bytes that one fetch may bring, compressed

	mu      sync.Mutex
	commit  string // the served commit; guarded by mu
	fetched string // the commit that was fetched last; guarded by mu
}

// Open returns the repository of a location, and creates the folder home for it. Signers is a file of allowed signers,
// as ssh-keygen reads it, or empty. The error is a phrase for an operator.
func Open(l Location, home, signers string) (*Repository, error) {
	r := &Repository{Location: l, home: home, timeout: time.Minute, maxPack: maxContent}
	if signers != "" {
		path, err := filepath.Abs(signers)
		if err != nil {
			return nil, err
		}
		r.signers = path
	}
	if err := os.MkdirAll(r.revisions(), 0o700); err != nil {
		return nil, err
	}
	r.commit = r.readCurrent()
	return r, nil
}

func (r *Repository) objects() string   { return filepath.Join(r.home, "objects.git") }
func (r *Repository) revisions() string { return filepath.Join(r.home, "revisions") }

// current is a link to the directory that is served.
func (r *Repository) current() string { return filepath.Join(r.home, "current") }

func (r *Repository) readCurrent() string {
	target, err := os.Readlink(r.current())
	if err != nil {
		return ""
	}
	return filepath.Base(target)
}

// CommitOf returns the commit of a directory that Fetch or Served has returned.
func CommitOf(dir string) string { return filepath.Base(dir) }

// Served returns the directory of the commit that was served last, be it by another process. With allowed signers it is
// only returned if its signature is still valid.
func (r *Repository) Served(ctx context.Context) (dir string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	dir = filepath.Join(r.revisions(), r.commit)
	if r.commit == "" || !isDirectory(dir) {
		return "", false
	}
	return dir, r.signers == "" || r.checkSignature(ctx, r.commit) == nil
}

// Fetch fetches the ref and returns the directory with the files of its commit, which never change. The commit is also
// returned with the error that refuses it. The error is a phrase for an operator.
func (r *Repository) Fetch(ctx context.Context) (dir, commit string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, r.timeout, errTimeout)
	defer cancel()
	r.markUsed() // also when the fetch fails: another process may serve another commit
	unlock, err := r.lock(ctx)
	if err != nil {
		return "", "", err
	}
	defer unlock()
	r.removeLeftovers()
	if commit, err = r.fetchCommit(ctx); err != nil {
		return "", "", fmt.Errorf("the repository %s cannot be fetched: %w", r.URL, err)
	}
	if err := r.checkCommit(ctx, commit); err != nil {
		return "", commit, fmt.Errorf("the commit %s is refused: %w", commit, err)
	}
	dir = filepath.Join(r.revisions(), commit)
	if !isDirectory(dir) {
		if err := r.extract(ctx, commit, dir); err != nil {
			return "", commit, fmt.Errorf("the commit %s cannot be read: %w", commit, err)
		}
	}
	r.fetched = commit
	r.markUsed()
	r.removeUnused()
	return dir, commit, nil
}

// fetchCommit fetches the ref and returns its commit. Without signatures it does not fetch the history.
func (r *Repository) fetchCommit(ctx context.Context) (string, error) {
	if _, err := r.git(ctx, "init", "--quiet", "--bare", "--template="); err != nil {
		return "", err
	}
	ref, object, err := r.findRef(ctx)
	if err != nil {
		return "", err
	}
	if fetched, _ := r.git(ctx, "rev-parse", "--verify", "--quiet", fetchedRef); fetched == object {
		return r.fetchedCommit(ctx)
	}
	args := []string{"fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--force"}
	if r.signers == "" || r.commit == "" {
		args = append(args, "--depth=1")
	}
	if _, err := r.git(ctx, append(args, "--", r.URL, ref+":"+fetchedRef)...); err != nil {
		return "", err
	}
	return r.fetchedCommit(ctx)
}

// fetchedCommit returns the commit of what was fetched last, which may be a tag.
func (r *Repository) fetchedCommit(ctx context.Context) (string, error) {
	return r.git(ctx, "rev-parse", "--verify", "--quiet", fetchedRef+"^{commit}")
}

// Refs of the local repository.
const (
	fetchedRef = "refs/hatchel/fetched"
	servedRef  = "refs/hatchel/served" // keeps the served commit, which signed ones must descend from
)

// Serve records that a directory is served. From then on signed commits must descend from its commit, and a process
// that cannot reach the repository at its start serves it.
func (r *Repository) Serve(ctx context.Context, dir string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	commit := CommitOf(dir)
	r.commit = commit
	if r.readCurrent() == commit {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.timeout, errTimeout)
	defer cancel()
	unlock, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	next := filepath.Join(r.home, "next-"+commit)
	if err := os.Symlink(filepath.Join("revisions", commit), next); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := os.Rename(next, r.current()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // if the link does not exist, another process has renamed it already
	}
	_, err = r.git(ctx, "update-ref", servedRef, commit)
	return err
}

// lock waits until no other process uses the local repository.
func (r *Repository) lock(ctx context.Context) (unlock func() error, err error) {
	f, err := os.OpenFile(filepath.Join(r.home, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := filelock.Lock(ctx, f); err != nil {
		f.Close()
		return nil, fmt.Errorf("another process uses %s: %w", r.home, err)
	}
	return f.Close, nil
}

// MaxInterval is the longest time between two calls of Fetch of a process.
const MaxInterval = time.Hour

// Every process marks the revisions that it uses each MarkInterval. Other processes remove those that were not marked
// for unusedAfter. A replaced configuration is used for a shorter time.
const (
	MarkInterval = 30 * time.Second
	unusedAfter  = 5 * time.Minute
)

// removeUnused removes the directories that no process uses.
func (r *Repository) removeUnused() {
	entries, err := os.ReadDir(r.revisions())
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		dir := filepath.Join(r.revisions(), e.Name())
		if err == nil && time.Since(info.ModTime()) > unusedAfter && e.Name() != r.readCurrent() {
			removeReadOnly(dir)
		}
	}
}

// MarkUsed marks the revisions that this process has served and fetched last.
func (r *Repository) MarkUsed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.markUsed()
}

func (r *Repository) markUsed() {
	for _, commit := range []string{r.commit, r.fetched} {
		if commit != "" {
			_ = os.Chtimes(filepath.Join(r.revisions(), commit), time.Time{}, time.Now())
		}
	}
}

// removeLeftovers removes the locks and partial objects of a git that was killed: git never does, and refuses to fetch
// or to collect garbage because of the locks. The caller holds the lock of the local repository.
func (r *Repository) removeLeftovers() {
	_ = filepath.WalkDir(r.objects(), func(path string, e fs.DirEntry, err error) error {
		name := filepath.Base(path)
		isLeftover := strings.HasSuffix(name, ".lock") || strings.HasPrefix(name, "tmp_") ||
			strings.HasPrefix(name, ".tmp-") || name == "gc.pid"
		if err == nil && !e.IsDir() && isLeftover {
			_ = os.Remove(path)
		}
		return nil
	})
}

// removeReadOnly removes a directory whose folders cannot be written to.
func removeReadOnly(dir string) {
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			err = os.Chmod(path, 0o700)
		}
		return err
	})
	_ = os.RemoveAll(dir)
}

func isDirectory(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}
