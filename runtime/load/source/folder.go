package source

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"hatchel/internal/osfile"
)

// Folder is a folder of *.hcl files. Its methods may be called concurrently.
type Folder struct {
	mu   sync.Mutex
	dir  string    // guarded by mu
	last *Snapshot // the latest; guarded by mu
}

// NewFolder returns the folder at dir.
func NewFolder(dir string) (*Folder, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	return &Folder{dir: abs}, nil
}

// Dir returns the absolute path of the folder.
func (f *Folder) Dir() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dir
}

// Snapshot reads the folder as it is now.
func (f *Folder) Snapshot(ctx context.Context) (*Snapshot, error) { return f.SnapshotOf(ctx, f.Dir()) }

// SnapshotOf reads another directory, which is the folder from now on unless the error says that it cannot be read. Dir
// is an absolute path.
func (f *Folder) SnapshotOf(ctx context.Context, dir string) (*Snapshot, error) {
	s, err := readFolder(ctx, dir)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dir, f.last = dir, s
	return s, nil
}

// ReadSecret reads the file of a secret; a relative path is relative to the folder. Watch reports the
// changes of the files that were read since the last Snapshot.
func (f *Folder) ReadSecret(path string) ([]byte, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(f.Dir(), path)
	}
	content, d, err := readSecret(path)
	if last := f.latest(); last != nil {
		last.mu.Lock()
		defer last.mu.Unlock()
		last.secrets[path] = d
	}
	return content, err
}

func (f *Folder) latest() *Snapshot {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

// fingerprint identifies the state of a folder without the content of its files.
type fingerprint struct {
	text   string
	recent bool // something was written so recently that another change might have the same times
}

// timestampResolution is the coarsest timestamp resolution of supported file systems.
const timestampResolution = 2 * time.Second

// fingerprint reads the names, sizes, times and inodes of everything in the last snapshot.
func (f *Folder) fingerprint() (g fingerprint) {
	now, out := time.Now(), []byte(nil)
	note := func(name string, info fs.FileInfo, err error) {
		switch {
		case err != nil:
			out = fmt.Appendf(out, "%s!\n", name)
		case info.IsDir():
			out = fmt.Appendf(out, "%s/\n", name)
		default:
			out = fmt.Appendf(out, "%s %d %d %d\n", name, info.Size(), info.ModTime().UnixNano(), osfile.Inode(info))
			g.recent = g.recent || now.Sub(info.ModTime()).Abs() < timestampResolution
		}
	}
	if err := walk(f.Dir(), note); err != nil {
		return fingerprint{text: "gone"}
	}
	if last := f.latest(); last != nil {
		for _, path := range slices.Sorted(slices.Values(last.requestedPaths())) {
			info, err := os.Stat(path)
			note(path, info, err)
		}
	}
	g.text = string(out)
	return g
}
