package files

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

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

// Close removes what is left of copies, and ends the looking for what others have left. The calls that have copies are over.
func (s *Shelf) Close() error {
	s.mu.Lock()
	stop := s.stop
	s.mu.Unlock()
	if stop != nil {
		stop()
		s.tending.Wait()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.home == nil {
		return nil
	}
	h := s.home
	s.home = nil
	return errors.Join(os.RemoveAll(h.folder), os.Remove(h.folder+lockSuffix), h.lock.Close())
}
