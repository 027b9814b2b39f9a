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
