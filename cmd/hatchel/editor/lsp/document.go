package lsp

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"hatchel/cmd/hatchel/editor"
	"hatchel/runtime/load/source"
)

// document is the text of an open document. It is immutable: a change makes another one.
type document struct {
	uri     string
	version int
	path    string // absolute; empty for a document that is no file
	folder  *folder
	name    string // relative to the folder, with slashes
	src     []byte
	parse   func() *editor.File
}

func (s *Server) newDocument(uri string, version int, text string) *document {
	d := &document{uri: uri, version: version, src: []byte(text)}
	if path, ok := pathOf(uri); ok {
		d.path = path
	}
	d.parse = sync.OnceValue(func() *editor.File { return editor.Parse(d.name, d.src) })
	return d
}

// didOpen takes the text of a document that was opened.
func didOpen(s *Server, p *didOpenParams) {
	d := s.newDocument(p.Document.URI, p.Document.Version, p.Document.Text)
	s.documents[d.uri] = d
	s.assign(d)
	if d.folder != nil {
		d.folder.readAgain()
	}
}

// didChange takes the new text of a document. The server asks for whole texts.
func didChange(s *Server, p *didChangeParams) {
	old := s.documents[p.Document.URI]
	if old == nil || len(p.Changes) == 0 {
		return
	}
	before := old
	for _, c := range p.Changes {
		text := c.Text
		if c.Range != nil { // a client that sends parts is served, too
			t := editor.NewText(old.src)
			from, to := t.Offset(c.Range.Start), t.Offset(c.Range.End)
			text = string(old.src[:from]) + c.Text + string(old.src[max(from, to):])
		}
		old = s.newDocument(p.Document.URI, p.Document.Version, text)
	}
	old.folder, old.name = before.folder, before.name
	s.documents[old.uri] = old
	if old.folder != nil {
		old.folder.change()
	}
}

// didSave reads the folder of a document again.
func didSave(s *Server, p *documentParams) {
	if d := s.documents[p.Document.URI]; d != nil && d.folder != nil {
		d.folder.readAgain()
	}
}

// didClose forgets the text of a document: what is on disk counts again.
func didClose(s *Server, p *documentParams) {
	d := s.documents[p.Document.URI]
	if d == nil {
		return
	}
	delete(s.documents, p.Document.URI)
	if d.folder != nil {
		d.folder.readAgain()
	}
	s.dropFolders()
}

// changeWatchedFiles reads the folders of files that have changed.
func changeWatchedFiles(s *Server, p *watchedFilesParams) {
	changed := map[*folder]bool{}
	for _, c := range p.Changes {
		path, ok := pathOf(c.URI)
		if !ok {
			continue
		}
		for _, f := range s.folders {
			if f.holds(path) && f.reads(path) {
				changed[f] = true
			}
		}
	}
	for f := range changed {
		f.readAgain()
	}
}

// pathOf returns the path of a file: URI. A URI of another machine has none.
func pathOf(uri string) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" || strings.Contains(u.Path, "\x00") {
		return "", false
	}
	path := u.Path
	if drive := strings.TrimPrefix(path, "/"); filepath.VolumeName(drive) != "" { // file:///C:/tools of Windows
		path = drive
	}
	if path = filepath.Clean(filepath.FromSlash(path)); !filepath.IsAbs(path) {
		return "", false
	}
	return path, true
}

// holdsOwn reports whether a directory itself holds a *.hcl file that is part of a configuration.
func (s *Server) holdsOwn(dir string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if !isSource(e.Name()) || e.IsDir() {
			continue
		}
		src, err := source.ReadRegularFile(filepath.Join(dir, e.Name()), maxMessage)
		if err == nil && s.language.IsOwn(editor.Parse(e.Name(), src).Headers()) {
			return true
		}
	}
	return false
}

// isSource reports whether a name is that of a *.hcl file that is not hidden.
func isSource(name string) bool { return filepath.Ext(name) == ".hcl" && !strings.HasPrefix(name, ".") }
