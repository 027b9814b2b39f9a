package source

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"hatchel/internal/backoff"
)

// Snapshot is the content of a configuration directory at one moment, as an fs.FS: the *.hcl files
// from memory, and any other file from disk, unless its links lead outside the folder. Reads of
// other files are recorded.
type Snapshot struct {
	dir   string
	nodes map[string]*node // *.hcl files and folders, by slash path
	// contents are other files that have another content than on disk, by slash path
	contents map[string][]byte

	mu         sync.Mutex
	otherFiles map[string]contentDigest // other files that were read, with their digests; guarded by mu
	listed     map[listKey]listing      // folders that were listed; guarded by mu
	secrets    map[string]contentDigest // files of secrets that were read, by absolute path; guarded by mu
}

// Dir returns the absolute path of the directory.
func (s *Snapshot) Dir() string { return s.dir }

type contentDigest [sha256.Size]byte

// listKey is a folder that was listed, for the files of a skill or for all of its files.
type listKey struct {
	name    string
	ofSkill bool
}

// listing is what List has returned.
type listing struct {
	digest contentDigest // of the names; zero for a folder that cannot be read
	ignore func(fs.DirEntry) bool
}

// node is one file or folder.
type node struct {
	name    string // its base name
	content []byte
	err     error         // why it could not be read
	entries []fs.DirEntry // sorted
	folder  bool
}

// maxFolders limits a walk, so that cycles of links end.
const maxFolders = 100_000

// readFolder reads every *.hcl file below dir. It follows links, because deployments such as
// ConfigMaps link files into a folder that is swapped; it skips names that start with a dot, and
// what the IgnoreFile names. The error reports that dir cannot be read, or that ctx has ended.
func readFolder(ctx context.Context, dir string) (*Snapshot, error) {
	s := &Snapshot{dir: dir, nodes: map[string]*node{}, otherFiles: map[string]contentDigest{},
		listed: map[listKey]listing{}, secrets: map[string]contentDigest{}}
	err := walk(dir, func(name string, info fs.FileInfo, err error) {
		at := filepath.Join(dir, filepath.FromSlash(name))
		n := &node{name: path.Base(name), folder: info != nil && info.IsDir(), err: err}
		if !n.folder && err == nil {
			n.content, n.err = readSource(ctx, at)
		}
		switch {
		case errors.Is(n.err, fs.ErrNotExist) && !isLink(at):
			return // removed since its folder was listed
		case errors.Is(n.err, fs.ErrNotExist):
			n.err = fileError("it is a link to a file that does not exist")
		case errors.Is(n.err, syscall.ELOOP):
			n.err = fileError("it is part of a cycle of links")
		}
		s.nodes[name] = n
		if parent := s.nodes[path.Dir(name)]; parent != nil && name != "." {
			parent.entries = append(parent.entries, n)
		}
	})
	return s, cmp.Or(err, ctx.Err())
}

// emptyFileGrace is how long an empty file counts as one that is being written: many programs
// truncate a file before they write it, and an empty file has no errors, but no tools either.
const emptyFileGrace = 250 * time.Millisecond

// readSource reads one *.hcl file. If the file is empty, it waits briefly for content, until ctx ends.
func readSource(ctx context.Context, name string) ([]byte, error) {
	for range writeBackoff.Attempts(ctx) {
		began := time.Now()
		content, err := ReadRegularFile(name, maxSourceFile)
		if err != nil || len(content) > 0 {
			return content, err
		}
		info, err := os.Stat(name)
		if err != nil || staysEmpty(info, began) {
			return content, nil
		}
	}
	return nil, ctx.Err()
}

// writeBackoff is how often a file that is being written is read again.
var writeBackoff = backoff.Policy{First: emptyFileGrace / 25}

// staysEmpty reports whether a file that was empty when a read began is not being written. It may
// have changed since on a busy machine: a file that is no longer empty, or was modified since, does
// not stay empty. A modification time in the future is ignored.
func staysEmpty(now fs.FileInfo, began time.Time) bool {
	return now.Size() == 0 && (began.Sub(now.ModTime()) >= emptyFileGrace ||
		time.Until(now.ModTime()) >= emptyFileGrace)
}

func isLink(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.Mode().Type() == fs.ModeSymlink
}

// equal reports whether two snapshots have the same content, including the other files that were
// read from before.
func (s *Snapshot) equal(before *Snapshot) bool {
	if len(s.nodes) != len(before.nodes) {
		return false
	}
	for name, n := range s.nodes {
		o, ok := before.nodes[name]
		if !ok || n.folder != o.folder || !bytes.Equal(n.content, o.content) || (n.err == nil) != (o.err == nil) ||
			errors.Is(n.err, fs.ErrPermission) != errors.Is(o.err, fs.ErrPermission) {
			return false
		}
	}
	others, listed, secrets := before.requestedFiles()
	for name, was := range others {
		if _, now, _ := s.readOther(name); now != was {
			return false
		}
	}
	for key, was := range listed {
		if _, now, _ := s.listFolder(key.name, was.ignore); now != was.digest {
			return false
		}
	}
	for path, was := range secrets {
		if _, now, _ := readSecret(path); now != was {
			return false
		}
	}
	return true
}

// requestedFiles returns the other files that were read, the folders that were listed, and the files of secrets.
func (s *Snapshot) requestedFiles() (others map[string]contentDigest, listed map[listKey]listing,
	secrets map[string]contentDigest,
) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.otherFiles), maps.Clone(s.listed), maps.Clone(s.secrets)
}

// requestedPaths returns the absolute paths of what requestedFiles returns.
func (s *Snapshot) requestedPaths() (paths []string) {
	others, listed, secrets := s.requestedFiles()
	for name := range others {
		paths = append(paths, filepath.Join(s.dir, filepath.FromSlash(name)))
	}
	for key := range listed {
		paths = append(paths, filepath.Join(s.dir, filepath.FromSlash(key.name)))
	}
	return slices.AppendSeq(paths, maps.Keys(secrets))
}

const maxSecretFile = 1 << 20 // bytes

// readSecret reads the file of a secret. The digest of one that cannot be read is zero.
func readSecret(path string) (content []byte, d contentDigest, err error) {
	content, err = ReadRegularFile(path, maxSecretFile)
	if err == nil {
		d = sha256.Sum256(content)
	}
	return content, d, err
}

// List lists the files and folders of a folder, those too that are not part of the snapshot. It leaves out what ignore
// reports: a file of these that appears or disappears is no change of the folder.
func (s *Snapshot) List(name string, ignore func(fs.DirEntry) bool) ([]fs.DirEntry, error) {
	return s.list(listKey{name: name}, ignore)
}

func (s *Snapshot) list(key listKey, ignore func(fs.DirEntry) bool) ([]fs.DirEntry, error) {
	entries, d, err := s.listFolder(key.name, ignore)
	s.mu.Lock()
	s.listed[key] = listing{d, ignore}
	s.mu.Unlock()
	return entries, err
}

// listFolder is List without a record of it. The digest is that of the listing.
func (s *Snapshot) listFolder(
	name string, ignore func(fs.DirEntry) bool,
) (list []fs.DirEntry, d contentDigest, err error) {
	folder, err := os.OpenInRoot(s.dir, filepath.FromSlash(name))
	if err != nil {
		return nil, d, err
	}
	defer folder.Close()
	if list, err = folder.ReadDir(-1); err != nil {
		return nil, d, err
	}
	list = slices.DeleteFunc(list, ignore)
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	h := sha256.New()
	for _, e := range list {
		fmt.Fprintf(h, "%s %t\n", e.Name(), e.IsDir())
	}
	return list, contentDigest(h.Sum(nil)), nil
}

// readOther reads a file that is not part of the snapshot. The digest of one that cannot be read is zero.
func (s *Snapshot) readOther(name string) (content []byte, d contentDigest, err error) {
	content, replaced := s.contents[name]
	if !replaced {
		content, err = readFileBelow(s.dir, filepath.FromSlash(name), maxOtherFile)
	}
	if err == nil {
		d = sha256.Sum256(content)
	}
	return content, d, err
}

// ReadFile returns the content of a file.
func (s *Snapshot) ReadFile(name string) ([]byte, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrInvalid}
	}
	if n, ok := s.nodes[name]; ok {
		if n.folder {
			return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("is a folder")}
		}
		return bytes.Clone(n.content), n.err
	}
	content, d, err := s.readOther(name)
	s.mu.Lock()
	s.otherFiles[name] = d
	s.mu.Unlock()
	return content, err
}

// ReadDir lists the *.hcl files and folders of a folder.
func (s *Snapshot) ReadDir(name string) ([]fs.DirEntry, error) {
	n, ok := s.nodes[name]
	if !ok || !n.folder {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	return slices.Clone(n.entries), nil
}

// Stat describes a file or folder of the snapshot.
func (s *Snapshot) Stat(name string) (fs.FileInfo, error) {
	if n, ok := s.nodes[name]; ok {
		return n, nil
	}
	return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
}

// Open opens a file or folder for reading.
func (s *Snapshot) Open(name string) (fs.File, error) {
	if n, ok := s.nodes[name]; ok && n.folder {
		return &openFile{node: n, Reader: bytes.NewReader(nil)}, nil
	}
	b, err := s.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return &openFile{node: &node{name: path.Base(name), content: b}, Reader: bytes.NewReader(b)}, nil
}

// openFile is an open file or folder.
type openFile struct {
	*node
	*bytes.Reader
	nextEntry int // number of entries that were returned
}

func (o *openFile) Stat() (fs.FileInfo, error) { return o.node, nil }
func (o *openFile) Close() error               { return nil }
func (o *openFile) Size() int64                { return o.node.Size() }

// ReadDir returns the next n entries of a folder, or all remaining ones.
func (o *openFile) ReadDir(n int) ([]fs.DirEntry, error) {
	left := slices.Clone(o.entries[o.nextEntry:])
	if n > 0 && len(left) == 0 {
		return nil, io.EOF
	}
	if n > 0 && n < len(left) {
		left = left[:n]
	}
	o.nextEntry += len(left)
	return left, nil
}

func (n *node) Name() string               { return n.name }
func (n *node) IsDir() bool                { return n.folder }
func (n *node) Size() int64                { return int64(len(n.content)) }
func (n *node) ModTime() time.Time         { return time.Time{} }
func (n *node) Sys() any                   { return nil }
func (n *node) Type() fs.FileMode          { return n.Mode().Type() }
func (n *node) Info() (fs.FileInfo, error) { return n, nil }

// Mode returns the type of the file.
func (n *node) Mode() fs.FileMode {
	if n.folder {
		return fs.ModeDir | 0o555
	}
	return 0o444
}
