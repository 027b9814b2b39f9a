package test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"hatchel/adapters"
)

// maxCopied is the maximum size in bytes of the directories that a test copies.
const maxCopied = 64 << 20

// copies are private copies of directories, at the same places below a temporary directory.
type copies struct {
	root string          // the temporary directory; empty if there is none
	done map[string]bool // the directories that are copied, relative to the configuration directory
	size int64
}

func (c *copies) remove() error {
	if c.root == "" {
		return nil
	}
	return os.RemoveAll(c.root)
}

// CopyDirectory implements adapters.Mocks. A directory that does not exist has a copy that does not exist.
func (m *Mocks) CopyDirectory(path string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	rel, err := filepath.Rel(m.dir, path)
	if err != nil {
		return "", err
	}
	if m.copies.root == "" {
		root, err := os.MkdirTemp("", "hatchel-test-")
		if err != nil {
			return "", err
		}
		m.copies.root, m.copies.done = root, map[string]bool{}
	}
	err = m.copies.add(m.dir, filepath.ToSlash(rel))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.problems = append(m.problems, Problem{Summary: "Directory not copied", Detail: fmt.Sprintf(
			"The directory %s cannot be copied for the test: %v.", path, err)})
		return "", err
	}
	return filepath.Join(m.copies.root, rel), nil
}

// add copies the regular files of a directory, but for what is copied already. A symbolic link is copied as the file
// that it names.
func (c *copies) add(base, dir string) error {
	for parent := dir; ; parent = path.Dir(parent) {
		if c.done[parent] {
			return nil
		}
		if parent == "." {
			break
		}
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return err
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(c.root, filepath.FromSlash(name))
		info, err := root.Stat(name)
		switch {
		case err != nil: // a link that leads out of the directory, or nowhere
			return nil
		case c.done[name]:
			return fs.SkipDir
		case d.IsDir() || name == dir && info.IsDir():
			return os.MkdirAll(target, 0o700)
		case !info.Mode().IsRegular():
			return nil
		}
		if c.size += info.Size(); c.size > maxCopied {
			return &adapters.Fault{Message: "the files that the test uses have more than 64 MiB together"}
		}
		return copyFile(root, name, target)
	})
	c.done[dir] = err == nil
	return err
}

func copyFile(root *os.Root, name, target string) error {
	in, err := root.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, maxCopied))
	return errors.Join(err, out.Close())
}

// ReadFile implements adapters.Mocks.
func (m *Mocks) ReadFile(name string, limit int64) ([]byte, error) {
	root, err := os.OpenRoot(m.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	name = filepath.FromSlash(name)
	info, err := root.Stat(name) // opening a pipe would wait for its other end
	var failed *fs.PathError
	switch {
	case errors.As(err, &failed):
		return nil, failed.Err // without the system call
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Size() > limit:
		return nil, fmt.Errorf("it has more than %d MiB", limit>>20)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}
