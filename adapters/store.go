package adapters

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// IfExists is what writing does with a file that is already there.
type IfExists string

// What an author can write in if_exists.
const (
	ExistsFail    IfExists = "fail"
	ExistsReplace IfExists = "replace"
	ExistsAppend  IfExists = "append"
)

// Replace writes the file whole or not at all: whoever reads it sees what was there before, or all of the new content. With keep, a file that is there
// is left alone and the error says so. Ready is asked when all is written and before anything can be seen; its error undoes everything.
func (e *Entry) Replace(ctx context.Context, data []byte, keep bool, ready func() error) error {
	info, err := e.root.Lstat(e.name)
	switch {
	case err == nil && info.IsDir():
		return FileFault(syscall.EISDIR, e.Path)
	case err == nil && keep:
		return FileFault(fs.ErrExist, e.Path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return FileFault(err, e.Path)
	}
	temp := "." + rand.Text() + ".tmp" // a name of its own: the target's with an ending could be too long
	f, err := e.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return FileFault(err, e.Path)
	}
	defer func() { _ = e.root.Remove(temp) }() // gone already when it took the place of the target
	if err := fill(f, data, info); err != nil {
		return FileFault(err, e.Path)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := ready(); err != nil {
		return err
	}
	if keep {
		err = e.claim(temp)
	} else {
		err = e.root.Rename(temp, e.name)
	}
	if err != nil {
		return FileFault(err, e.Path)
	}
	return e.syncFolder()
}

// fill writes and closes a new file; old is what it replaces, or nil.
func fill(f *os.File, data []byte, old fs.FileInfo) error {
	_, err := f.Write(data)
	if err == nil && old != nil && old.Mode().IsRegular() {
		err = f.Chmod(old.Mode().Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// claim gives the file its name unless there is one. A second link says at once whether there is; where links cannot be had, an empty file holds the
// place for the moment until the rename.
func (e *Entry) claim(temp string) error {
	err := e.root.Link(temp, e.name)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	place, err := e.root.OpenFile(e.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	if err := errors.Join(place.Close(), e.root.Rename(temp, e.name)); err != nil {
		return errors.Join(err, e.root.Remove(e.name))
	}
	return nil
}

// syncFolder makes the new name last. Some file systems cannot do it for a folder, and need not.
func (e *Entry) syncFolder() error {
	dir, err := e.root.Open(".")
	if err != nil {
		return FileFault(err, e.Path)
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return FileFault(err, e.Path)
	}
	return nil
}

// Append adds to the file, which is made when it is not there, under a lock that other processes of this kind respect. Make is given the file, to read
// what stands in it, and its size; what it returns is written with one write, and taken back if it did not fit.
func (e *Entry) Append(ctx context.Context, make func(f *os.File, size int64) ([]byte, error)) error {
	f, created, err := e.lock(ctx)
	if err != nil {
		return err
	}
	defer f.Close() // releases the lock
	info, err := f.Stat()
	if err != nil {
		return FileFault(err, e.Path)
	}
	data, err := make(f, info.Size())
	if err == nil && len(data) > 0 {
		err = e.extend(f, info.Size(), data)
	}
	if err != nil && created {
		_ = e.root.Remove(e.name)
	}
	return err
}

func (e *Entry) extend(f *os.File, size int64, data []byte) error {
	n, err := f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		return nil
	}
	if n > 0 {
		err = errors.Join(err, f.Truncate(size))
	}
	return FileFault(err, e.Path)
}

// lock opens the file and waits for its lock. The file may be replaced while we wait: then the new one is what has to be locked.
func (e *Entry) lock(ctx context.Context) (f *os.File, created bool, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		if f, created, err = e.openAppend(); err != nil {
			return nil, false, FileFault(err, e.Path)
		}
		err := e.plain(f)
		if err == nil {
			err = waitLock(ctx, f)
		}
		if err != nil {
			f.Close()
			if ctx.Err() != nil {
				return nil, false, ctx.Err()
			}
			return nil, false, FileFault(err, e.Path)
		}
		ours, err1 := f.Stat()
		there, err2 := e.root.Stat(e.name)
		if err1 == nil && err2 == nil && os.SameFile(ours, there) {
			return f, created && ours.Size() == 0, nil
		}
		f.Close()
	}
}

func (e *Entry) openAppend() (*os.File, bool, error) {
	const flags = os.O_RDWR | os.O_APPEND | openNonblock
	f, err := e.root.OpenFile(e.name, flags, 0)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, false, err
	}
	f, err = e.root.OpenFile(e.name, flags|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) { // somebody was quicker
		f, err = e.root.OpenFile(e.name, flags, 0)
		return f, false, err
	}
	return f, true, err
}

const (
	firstLockWait = 2 * time.Millisecond
	lastLockWait  = 50 * time.Millisecond
)

// waitLock asks for the lock until it has it or the context ends: a lock that blocks could not be cancelled.
func waitLock(ctx context.Context, f *os.File) error {
	for wait := firstLockWait; ; wait = min(2*wait, lastLockWait) {
		held, err := tryLock(f)
		if held || err != nil {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}
