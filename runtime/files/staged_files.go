package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
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
