package lsp

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hatchel/cmd/hatchel/editor"
	"hatchel/hcl"
	"hatchel/runtime/load/source"
)

// folder is one configuration directory of which a document is open, or that is a root of the workspace.
type folder struct {
	server *Server
	dir    string
	source *source.Folder
	cache  *hcl.Cache
	disk   *source.Snapshot // as it was read last; nil to read it again

	changes int // of documents and files so far
	loaded  int // value of changes at the last load
	loading bool
	timer   *time.Timer
	waiting []func()         // for a load of what is there now
	files   *source.Snapshot // of the last load
	project *editor.Project  // of the last load; nil before the first
	catalog catalogOf
	good    map[string]*lastGood // of open documents, by name
	whole   *hcl.Config          // of the last load that could read all files, or of the last one; nil before the first

	published map[string]string // what was published last, as JSON by URI
}

// maxDirectories is how many directories a configuration may have below it. It keeps a file in a home directory from
// making the server read all of that.
const maxDirectories = 5000

// folderAt returns the folder of a directory, and loads it if it is new. It returns nil for one that is too large to be
// a configuration.
func (s *Server) folderAt(dir string) *folder {
	if f := s.folders[dir]; f != nil {
		return f
	}
	src, err := source.NewFolder(dir)
	if err != nil || source.HasMoreFolders(dir, maxDirectories) {
		return nil
	}
	f := &folder{server: s, dir: dir, source: src, cache: hcl.NewCache(), published: map[string]string{}, loaded: -1}
	f.timer = time.AfterFunc(0, func() { s.post(f.start) })
	s.folders[dir] = f
	return f
}

// assign finds the folder of a document. A document that is no file, or no *.hcl file, has none.
func (s *Server) assign(d *document) {
	if d.path == "" || !isSource(filepath.Base(d.path)) {
		return
	}
	if d.folder = s.folderAt(s.directoryOf(d.path)); d.folder == nil {
		return
	}
	rel, err := filepath.Rel(d.folder.dir, d.path)
	if err != nil {
		d.folder = nil
		return
	}
	d.name = filepath.ToSlash(rel)
}

// assignFolders finds the folders of all documents again.
func (s *Server) assignFolders() {
	for uri, old := range s.documents {
		d := s.newDocument(uri, old.version, string(old.src))
		s.documents[uri] = d
		s.assign(d)
		if d.folder != nil {
			d.folder.change()
		}
	}
	s.dropFolders()
}

// dropFolders drops the folders that no document and no root needs any more, with what was published of them.
func (s *Server) dropFolders() {
	needed := map[*folder]bool{}
	for _, d := range s.documents {
		needed[d.folder] = true
	}
	for _, root := range s.roots {
		needed[s.folders[root]] = true
	}
	for dir, f := range s.folders {
		if !needed[f] {
			f.timer.Stop()
			f.publish(nil)
			delete(s.folders, dir)
			f.endWaiting()
		}
	}
}

// directoryOf returns the configuration directory of a file: the highest directory in its root that itself holds files
// of a configuration, or the directory of the file.
func (s *Server) directoryOf(path string) string {
	dir, root := filepath.Dir(path), ""
	for _, r := range s.roots {
		if isBelow(path, r) && len(r) > len(root) {
			root = r
		}
	}
	if root == "" {
		return dir
	}
	for highest := dir; ; highest = filepath.Dir(highest) {
		if s.holdsOwn(highest) {
			dir = highest
		}
		if highest == root || len(highest) <= len(root) {
			return dir
		}
	}
}

// isBelow reports whether a path is in a directory or is the directory.
func isBelow(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// reads reports whether a change of a file may change the configuration: it is a *.hcl file, the list of ignored ones,
// or was read by a function.
func (f *folder) reads(path string) bool {
	name := filepath.Base(path)
	return isSource(name) || name == source.IgnoreFile || f.files != nil && f.files.HasRead(path)
}

func (f *folder) holds(path string) bool { return isBelow(path, f.dir) }

// sortedFolders returns the folders by directory.
func (s *Server) sortedFolders() []*folder {
	return slices.SortedFunc(maps.Values(s.folders), func(a, b *folder) int { return strings.Compare(a.dir, b.dir) })
}

// change notes that the text of a document has changed.
func (f *folder) change() {
	f.changes++
	if !f.loading {
		f.timer.Reset(debounce)
	}
}

// readAgain notes that files may have changed.
func (f *folder) readAgain() {
	f.disk = nil
	f.change()
}

// whenLoaded calls do when the last load is of what is there now. It does not wait for another keystroke.
func (f *folder) whenLoaded(do func()) {
	if f.loaded == f.changes {
		do()
		return
	}
	f.waiting = append(f.waiting, do)
	if !f.loading {
		f.start()
	}
}

// endWaiting calls what waits for a load.
func (f *folder) endWaiting() {
	waiting := f.waiting
	f.waiting = nil
	for _, do := range waiting {
		do()
	}
}

// whenFirstLoaded calls do when the folder of a document has been loaded, which may be of an older text.
func (s *Server) whenFirstLoaded(uri string, do func()) {
	if d := s.documents[uri]; d != nil && d.folder != nil && d.folder.loaded < 0 {
		d.folder.whenLoaded(do)
		return
	}
	do()
}

// openDocuments returns the open documents of the folder, by name.
func (f *folder) openDocuments() map[string]*document {
	open := map[string]*document{}
	for _, d := range f.server.documents {
		if d.folder == f {
			open[d.name] = d
		}
	}
	return open
}
