//go:build linux && cgo

package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"hatchel/adapters/sandbox/supervisor"
)

// Workspace is what the programs of one call are confined in: a temporary directory that they may write to, and the
// Landlock rules that name it. Its methods are called by one goroutine, except for WaitExits.
//
// A workspace whose directory is empty at the end serves later calls of the same block, because making one costs as
// much as running a short program.
type Workspace struct {
	sandbox *Sandbox
	tempDir string // absolute
	path    string // the PATH whose directories the rules name
	created time.Time
	rules   *os.File
	roots   supervisor.Roots // what the rules let programs write to
	exits   *exitWatcher

	allowed   map[string]bool // programs outside of the readable directories that have a rule
	exclusive bool            // it may read files of a single call and serves no other

	processes   *processSet // of the current call
	sessions    []*int32    // where its programs have recorded their sessions
	supervisors []*supervisor.Supervisor
	waiting     atomic.Bool // WaitExits has not returned
}

const (
	tempDirPrefix     = "hatchel-"
	maxIdleWorkspaces = 64

	// maxWorkspaceAge bounds reuse: Landlock rules are about the files that existed when the rules were made, and
	// files such as /etc/resolv.conf are replaced.
	maxWorkspaceAge = 10 * time.Second
)

// Acquire returns a workspace for the programs of one call, which have the given PATH. The caller releases it.
func (s *Sandbox) Acquire(path string) (*Workspace, error) {
	for path == s.Path {
		s.mu.Lock()
		last := len(s.idle) - 1
		if last < 0 {
			s.mu.Unlock()
			break
		}
		w := s.idle[last]
		s.idle = s.idle[:last]
		s.mu.Unlock()
		if time.Since(w.created) < maxWorkspaceAge {
			w.processes = newProcessSet(s)
			return w, nil
		}
		w.destroy()
	}
	return s.newWorkspace(path)
}

func (s *Sandbox) newWorkspace(path string) (*Workspace, error) {
	dir, err := os.MkdirTemp("", tempDirPrefix)
	if err != nil {
		return nil, err
	}
	w := &Workspace{
		sandbox: s, tempDir: dir, path: path, created: time.Now(),
		allowed: map[string]bool{}, processes: newProcessSet(s),
	}
	if w.tempDir, err = filepath.Abs(dir); err == nil {
		w.roots, err = s.openRoots(w.tempDir)
	}
	if err == nil {
		w.rules, err = s.newRuleset(path, w.roots)
	}
	if err == nil {
		w.exits, err = newExitWatcher()
	}
	if err != nil {
		w.destroy()
		return nil, err
	}
	return w, nil
}

// TempDir returns the directory that programs may write to. It is removed with the workspace.
func (w *Workspace) TempDir() string { return w.tempDir }

// Release gives the workspace back when the programs of the call have ended. A nil workspace is ignored.
func (w *Workspace) Release() {
	if w == nil {
		return
	}
	if !w.waiting.Load() {
		for _, session := range w.sessions {
			w.sandbox.sessions.Release(session)
		}
		w.sessions = nil
	}
	if !w.stopSupervisors() {
		go func() {
			for _, s := range w.supervisors {
				<-s.Done()
			}
			w.destroy()
		}()
		return
	}
	s := w.sandbox
	reusable := w.path == s.Path && !w.exclusive && !w.waiting.Load() && w.isEmpty()
	s.mu.Lock()
	if reusable = reusable && !s.closed && len(s.idle) < maxIdleWorkspaces; reusable {
		s.idle = append(s.idle, w)
	}
	s.mu.Unlock()
	if !reusable {
		w.destroy()
	}
}

// stopSupervisors ends the supervisors and reports whether they have ended in time. A file system that does not answer
// can hold one up.
func (w *Workspace) stopSupervisors() bool {
	for _, s := range w.supervisors {
		s.Stop()
	}
	for _, s := range w.supervisors {
		select {
		case <-s.Done():
			continue
		default:
		}
		select {
		case <-s.Done():
		case <-time.After(unkillableAfter):
			return false
		}
	}
	w.supervisors = nil
	return true
}

// Close removes the workspaces that no call uses. The others are removed when they are released.
func (s *Sandbox) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.idle {
		w.destroy()
	}
	s.idle, s.closed = nil, true
	return nil
}

// isEmpty reports whether the temporary directory is as it was made.
func (w *Workspace) isEmpty() bool {
	dir, err := unix.Open(w.tempDir, unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(dir)
	var stat unix.Stat_t
	if unix.Fstat(dir, &stat) != nil || stat.Mode&0o7777 != 0o700 { // a program has changed its mode
		return false
	}
	var entries [512]byte // more than "." and ".." need
	n, err := unix.ReadDirent(dir, entries[:])
	if err != nil {
		return false
	}
	_, others, _ := unix.ParseDirent(entries[:n], 1, nil)
	return others == 0
}

func (w *Workspace) destroy() {
	if w.rules != nil {
		w.rules.Close()
	}
	w.exits.close()
	w.roots.Close()
	if os.RemoveAll(w.tempDir) != nil {
		w.makeRemovable()
		_ = os.RemoveAll(w.tempDir)
	}
}

// makeRemovable gives the server back its access to directories that a program has closed.
func (w *Workspace) makeRemovable() {
	root, err := openClosedDir(w.tempDir)
	if err != nil {
		return
	}
	defer root.Close()
	_ = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() { // it is read afterwards
			_ = root.Chmod(name, 0o700)
		}
		return nil
	})
}

// openClosedDir opens a directory that a program may have closed, also to the server. A link that the program has put
// in its place is not followed.
func openClosedDir(dir string) (*os.Root, error) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if err := unix.Chmod(supervisor.DescriptorPath(fd), 0o700); err != nil {
		return nil, err
	}
	return os.OpenRoot(supervisor.DescriptorPath(fd))
}
