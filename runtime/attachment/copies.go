package attachment

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
)

// Copies are the files that one call has for programs that read them by a path: in a folder of their own that nobody else knows, until Close. It is safe for many goroutines.
type Copies struct {
	shelf  *Shelf
	mu     sync.Mutex
	folder string            // absolute; empty before there is one; guarded by mu
	paths  map[string]string // by id; guarded by mu
	closed bool              // guarded by mu
}

// NewCopies returns the copies of a call, of which there are none yet.
func (s *Shelf) NewCopies() *Copies { return &Copies{shelf: s} }

// Folder is where the copies are; empty while there is none.
func (c *Copies) Folder() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.folder
}

var errCopiesClosed = errors.New("the call is over")

// Path is the path of a copy of a file that can be read and not be written, which is made when it is asked for the first time.
func (c *Copies) Path(ctx context.Context, f *File) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return "", errCopiesClosed
	}
	if path, ok := c.paths[f.ID]; ok {
		return path, nil
	}
	if c.folder == "" {
		folder, err := c.shelf.newFolder()
		if err != nil {
			return "", err
		}
		c.folder, c.paths = folder, map[string]string{}
	}
	// The name is ours, but for an extension of letters and digits, by which programs tell what they read.
	path := filepath.Join(c.folder, fmt.Sprintf("%d%s", len(c.paths)+1, extension(f.Name)))
	if err := copyTo(path, c.shelf.Open(ctx, f)); err != nil {
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

// Close removes the copies.
func (c *Copies) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.folder == "" {
		return nil
	}
	folder := c.folder
	c.folder = ""
	return os.RemoveAll(folder)
}

// home is the folder of this process for the copies of its calls. It has a lock, by which other processes see whether this one is still there.
type home struct {
	folder string
	lock   *os.File // held until the process ends
}

const lockSuffix = ".lock"

// place is the folder of all processes of this user.
func place() (string, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("hatchel-files-%d", os.Getuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err == nil && (!info.IsDir() || info.Mode().Perm() != 0o700 || !ours(info)) {
		err = fmt.Errorf("%s is not a folder of this user alone", dir)
	}
	return dir, err
}

// newFolder makes a folder that nobody can guess. The one around it is made with the first, and again when it is gone, as after something has cleaned up the place for temporary files.
func (s *Shelf) newFolder() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.home == nil || gone(s.home.folder) {
		h, err := newHome()
		if err != nil {
			return "", err
		}
		s.home = h
	}
	folder := filepath.Join(s.home.folder, strings.ToLower(rand.Text()))
	return folder, os.Mkdir(folder, 0o700)
}

func gone(folder string) bool {
	_, err := os.Lstat(folder)
	return err != nil
}

func newHome() (*home, error) {
	dir, err := place()
	if err != nil {
		return nil, err
	}
	for {
		h := &home{folder: filepath.Join(dir, strings.ToLower(rand.Text()))}
		held := false
		if h.lock, held, err = lockFile(h.folder+lockSuffix, os.O_CREATE|os.O_EXCL); err != nil {
			return nil, err
		}
		if !held { // somebody sweeps, and took it for one that was left
			h.lock.Close()
			continue
		}
		if gone(h.folder + lockSuffix) {
			h.lock.Close()
			continue
		}
		return h, os.Mkdir(h.folder, 0o700)
	}
}

// Sweep removes the copies that processes have left behind which ended before their calls did.
func Sweep() error {
	dir, err := place()
	if err != nil {
		return err
	}
	locks, err := filepath.Glob(filepath.Join(dir, "*"+lockSuffix))
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range locks {
		lock, held, err := lockFile(name, 0)
		if err != nil {
			continue // somebody else sweeps
		}
		if held {
			errs = append(errs, os.RemoveAll(strings.TrimSuffix(name, lockSuffix)), os.Remove(name))
		}
		lock.Close()
	}
	return errors.Join(errs...)
}

// Close removes what is left of copies. The calls that have some are over.
func (s *Shelf) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.home == nil {
		return nil
	}
	h := s.home
	s.home = nil
	return errors.Join(os.RemoveAll(h.folder), os.Remove(h.folder+lockSuffix), h.lock.Close())
}
