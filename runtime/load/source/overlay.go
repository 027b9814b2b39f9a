package source

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// NewSnapshot returns the snapshot of a folder without *.hcl files.
func NewSnapshot(dir string) *Snapshot {
	return &Snapshot{dir: dir, nodes: map[string]*node{".": {name: ".", folder: true}},
		otherFiles: map[string]contentDigest{}, listed: map[listKey]listing{}, secrets: map[string]contentDigest{}}
}

// With returns the snapshot in which files have another content, by slash path: that of the buffers of an editor,
// or of files before and after an import. An *.hcl file that is not part of the snapshot is added if it does not
// exist yet; if it exists, it is ignored or hidden, or was made since, and the next snapshot has it.
func (s *Snapshot) With(files map[string][]byte) *Snapshot {
	out := NewSnapshot(s.dir)
	out.nodes, out.contents = maps.Clone(s.nodes), maps.Clone(s.contents)
	for name, content := range files {
		if path.Ext(name) != ".hcl" {
			if out.contents == nil {
				out.contents = map[string][]byte{}
			}
			out.contents[name] = content
			continue
		}
		if n := s.nodes[name]; n != nil && n.folder || n == nil && !s.mayAdd(name) {
			continue
		}
		out.put(&node{name: path.Base(name), content: content}, name)
	}
	return out
}

// mayAdd reports whether a file that does not exist yet would be part of the folder.
func (s *Snapshot) mayAdd(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") {
			return false
		}
	}
	at := filepath.Join(s.dir, filepath.FromSlash(name))
	globs, err := readIgnored(s.dir)
	if err != nil {
		return false
	}
	for dir := name; dir != "."; dir = path.Dir(dir) {
		if globs.has(dir) {
			return false
		}
	}
	_, err = os.Lstat(at)
	return os.IsNotExist(err)
}

// put adds a node, and the folders above it that do not exist, or replaces one. It changes no node of another
// snapshot.
func (s *Snapshot) put(n *node, name string) {
	s.nodes[name] = n
	if name == "." {
		return
	}
	parent := &node{name: path.Base(path.Dir(name)), folder: true}
	if old := s.nodes[path.Dir(name)]; old != nil {
		*parent = *old
	}
	at, found := slices.BinarySearchFunc(parent.entries, n.name, func(e os.DirEntry, name string) int {
		return strings.Compare(e.Name(), name)
	})
	parent.entries = slices.Clone(parent.entries)
	if found {
		parent.entries[at] = n
	} else {
		parent.entries = slices.Insert(parent.entries, at, os.DirEntry(n))
	}
	s.put(parent, path.Dir(name))
}

// HasRead reports whether a file other than *.hcl, by its absolute path, was read from the snapshot.
func (s *Snapshot) HasRead(path string) bool { return slices.Contains(s.requestedPaths(), path) }
