package revision

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// Tree is a folder of a revision. It implements fs.FS, fs.ReadFileFS, fs.ReadDirFS and
// fs.StatFS, and is safe for concurrent use.
type Tree struct {
	ctx     context.Context
	dir     string // of the repository
	entries map[string]*entry
	ignores func(name string) bool

	mu sync.Mutex // guards the content of entries
}

// entry is a file or a folder. It implements fs.DirEntry and fs.FileInfo.
type entry struct {
	name, object string
	size         int64
	dir          bool
	link         bool // a symbolic link, which is not followed
	ignored      bool
	read         bool
	content      []byte
	children     []*entry
}

func (e *entry) Name() string               { return e.name }
func (e *entry) IsDir() bool                { return e.dir }
func (e *entry) Info() (fs.FileInfo, error) { return e, nil }
func (e *entry) Size() int64                { return e.size }
func (e *entry) ModTime() time.Time         { return time.Time{} }
func (e *entry) Sys() any                   { return nil }
func (e *entry) Type() fs.FileMode          { return e.Mode().Type() }

// Mode implements fs.FileInfo.
func (e *entry) Mode() fs.FileMode {
	if e.dir {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

// fileError is an error with the reason that a diagnostic shows.
type fileError string

func (e fileError) Error() string  { return string(e) }
func (e fileError) Reason() string { return string(e) }

func (t *Tree) find(op, name string) (*entry, error) {
	if e := t.entries[name]; e != nil && !e.ignored {
		return e, nil
	}
	return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}

// ReadFile implements fs.ReadFileFS.
func (t *Tree) ReadFile(name string) ([]byte, error) {
	e, err := t.find("open", name)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case e.dir:
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("it is a folder")}
	case e.link:
		return nil, fileError("it is a link, and links of a revision are not followed")
	case !e.read:
		contents, err := t.contents([]string{e.object})
		if err != nil {
			return nil, fileError(err.Error())
		}
		e.content, e.read = contents[0], true
	}
	return slices.Clone(e.content), nil
}

// ReadDir implements fs.ReadDirFS.
func (t *Tree) ReadDir(name string) ([]fs.DirEntry, error) {
	e, err := t.find("readdir", name)
	if err != nil {
		return nil, err
	}
	list := make([]fs.DirEntry, len(e.children))
	for i, c := range e.children {
		list[i] = c
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

// ListSkill lists what may be published of a directory of a skill, as that of source.Snapshot does. Links of a revision
// are not followed.
func (t *Tree) ListSkill(dir, _ string) ([]fs.DirEntry, error) {
	all, err := t.ReadDir(dir)
	return slices.DeleteFunc(all, func(e fs.DirEntry) bool {
		return strings.HasPrefix(e.Name(), ".") || t.isIgnored(path.Join(dir, e.Name()))
	}), err
}

// Stat implements fs.StatFS.
func (t *Tree) Stat(name string) (fs.FileInfo, error) { return t.find("stat", name) }

// Open implements fs.FS.
func (t *Tree) Open(name string) (fs.File, error) {
	e, err := t.find("open", name)
	if err != nil {
		return nil, err
	}
	content, err := t.ReadFile(name)
	if err != nil && !e.dir {
		return nil, err
	}
	return &openFile{e, bytes.NewReader(content)}, nil
}

type openFile struct {
	e *entry
	io.Reader
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.e, nil }
func (f *openFile) Close() error               { return nil }
