package files

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"hatchel/internal/filelock"
	"hatchel/internal/osfile"
)

// StagedFiles are the files of one call as programs read them: by path, in a directory of their own,
// until Close. Its methods may be called concurrently.
type StagedFiles struct {
	store  *Store
	mu     sync.Mutex
	dir    string            // absolute; empty before the first file; guarded by mu
	paths  map[string]string // by file ID; guarded by mu
	closed bool              // guarded by mu
}

// Stage returns the staged files of a call. It makes nothing yet.
func (s *Store) Stage() *StagedFiles { return &StagedFiles{store: s} }

// Dir returns the directory of the staged files, or an empty string before the first one.
func (c *StagedFiles) Dir() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dir
}

var errCopiesClosed = errors.New("the call has ended")

// Path returns the path of a read-only copy of a file. It makes the copy at the first call.
func (c *StagedFiles) Path(ctx context.Context, f *File) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return "", errCopiesClosed
	}
	if path, ok := c.paths[f.ID]; ok {
		return path, nil
	}
	if c.dir == "" {
		dir, err := c.store.newDir()
		if err != nil {
			return "", err
		}
		c.dir, c.paths = dir, map[string]string{}
	}
	// Only the extension comes from the caller, because programs derive the type from it.
	path := filepath.Join(c.dir, fmt.Sprintf("%d%s", len(c.paths)+1, extension(f.Name)))
	if err := copyTo(path, c.store.Open(ctx, f)); err != nil {
		return "", err
	}
	c.paths[f.ID] = path
	return path, nil
}

func copyTo(path string, in io.ReadCloser) error {
	defer in.Close()
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o400)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err != nil {
		os.Remove(path)
	}
	return err
}

// Close removes the staged files. Path fails afterwards.
func (c *StagedFiles) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.dir == "" {
		return nil
	}
	dir := c.dir
	c.dir = ""
	return os.RemoveAll(dir)
}

// processDir is the directory of this process for staged files. Its lock tells other processes
// whether this one is alive.
type processDir struct {
	path string
	lock *os.File // held until the process ends
}

const lockSuffix = ".lock"

// parentDir returns the directory that holds the directories of all processes of this user.
func parentDir() (string, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("hatchel-files-%d", os.Getuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err == nil && (!info.IsDir() || !osfile.IsPrivate(info)) {
		err = fmt.Errorf("%s is not a directory that only this user can access", dir)
	}
	return dir, err
}

// newDir makes a directory with a name that nobody can guess. It makes the directory of the process
// first, also when a cleaner of temporary files has removed it.
func (s *Store) newDir() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == nil || isGone(s.dir.path) {
		dir, err := newProcessDir()
		if err != nil {
			return "", err
		}
		s.dir = dir
	}
	path := filepath.Join(s.dir.path, strings.ToLower(rand.Text()))
	return path, os.Mkdir(path, 0o700)
}

func isGone(path string) bool {
	_, err := os.Lstat(path)
	return err != nil
}

func newProcessDir() (*processDir, error) {
	parent, err := parentDir()
	if err != nil {
		return nil, err
	}
	for {
		path := filepath.Join(parent, strings.ToLower(rand.Text()))
		lock, locked, err := openLocked(path+lockSuffix, os.O_CREATE|os.O_EXCL)
		if err != nil {
			return nil, err
		}
		if !locked || isGone(path+lockSuffix) { // Sweep of another process was faster
			lock.Close()
			continue
		}
		return &processDir{path, lock}, os.Mkdir(path, 0o700)
	}
}

// openLocked opens a file and tries to lock it.
func openLocked(name string, flag int) (f *os.File, locked bool, err error) {
	if f, err = os.OpenFile(name, os.O_RDWR|flag, 0o600); err != nil {
		return nil, false, err
	}
	if locked, err = filelock.TryLock(f); err != nil {
		f.Close()
		return nil, false, err
	}
	return f, locked, nil
}

// RemoveStale removes the staged files of processes that were killed.
func RemoveStale() error {
	parent, err := parentDir()
	if err != nil {
		return err
	}
	locks, err := filepath.Glob(filepath.Join(parent, "*"+lockSuffix))
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range locks {
		lock, locked, err := openLocked(name, 0)
		if err != nil {
			continue // another process sweeps, too
		}
		if locked {
			errs = append(errs, os.RemoveAll(strings.TrimSuffix(name, lockSuffix)), os.Remove(name))
		}
		lock.Close()
	}
	return errors.Join(errs...)
}

// Close removes the staged files of this process. It is called when no call needs them any more.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == nil {
		return nil
	}
	dir := s.dir
	s.dir = nil
	return errors.Join(os.RemoveAll(dir.path), os.Remove(dir.path+lockSuffix), dir.lock.Close())
}
