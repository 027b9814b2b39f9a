package lsp

import (
	"path/filepath"

	"hatchel/cmd/hatchel/editor"
	"hatchel/hcl/diag"
	"hatchel/internal/osfile"
)

// view is what a request about a document is answered from. It is immutable.
type view struct {
	server  *Server
	doc     *document
	project *editor.Project   // of the last load of the folder, which may be of an older text
	file    *editor.File      // the text of the document
	uris    map[string]string // of the open documents, by path
	shift   *shift            // from the text of the document, if file is an older one; nil otherwise
}

// view returns the view of an open document; nil if it is not part of a configuration that was loaded.
func (s *Server) view(uri string) *view {
	d := s.documents[uri]
	if d == nil || d.folder == nil || d.folder.project == nil || !d.folder.project.Own {
		return nil
	}
	v := s.viewOf(d.folder)
	v.doc, v.file = d, d.parse()
	return v
}

// viewOf returns the view of a folder, without a document.
func (s *Server) viewOf(f *folder) *view {
	v := &view{server: s, project: f.project, uris: make(map[string]string, len(s.documents))}
	for uri, d := range s.documents {
		v.uris[d.path] = uri
	}
	return v
}

// uriOfFile returns the URI of a file as its client writes it, if it is open.
func (v *view) uriOfFile(path string) string {
	if uri, open := v.uris[path]; open {
		return uri
	}
	return osfile.URI(path)
}

// offset returns the byte of the file at a position of the document. What is near a syntax error is at its end.
func (v *view) offset(p editor.Position) int {
	if v.shift == nil {
		return v.file.Offset(p)
	}
	if older, ok := v.shift.toOlder(v.shift.now.Offset(p)); ok {
		return older
	}
	return len(v.file.Src)
}

// span returns the range of the document of a span of the file.
func (v *view) span(s editor.Span) Range {
	if v.shift == nil {
		return rangeIn(v.file.Text, s)
	}
	return rangeIn(v.shift.now, editor.Span{From: v.shift.toNow(s.From), To: v.shift.toNow(s.To)})
}

func rangeIn(t *editor.Text, s editor.Span) Range { return Range{t.Position(s.From), t.Position(s.To)} }

// texts are the texts of the files of a load, with indexes of their lines that are made when they are needed.
type texts struct {
	project *editor.Project
	made    map[string]*editor.Text
}

func newTexts(p *editor.Project) *texts { return &texts{p, map[string]*editor.Text{}} }

func (t *texts) of(name string) *editor.Text {
	if t.made[name] == nil {
		t.made[name] = editor.NewText(t.project.Config.Sources[name])
	}
	return t.made[name]
}

// rangeOf returns a range of a file of the load as the protocol counts it.
func (t *texts) rangeOf(r diag.Range) Range {
	return rangeIn(t.of(r.File), editor.Span{From: r.Start.Byte, To: r.End.Byte})
}

// location returns a range of a file of the load with the URI of the file.
func (v *view) location(t *texts, r diag.Range) Location {
	if v.shift != nil && r.File == v.doc.name {
		return Location{v.doc.uri, v.span(editor.Span{From: r.Start.Byte, To: r.End.Byte})}
	}
	return Location{v.uriOfFile(filepath.Join(v.project.Dir, filepath.FromSlash(r.File))), t.rangeOf(r)}
}

func before(a, b editor.Position) bool {
	return a.Line < b.Line || a.Line == b.Line && a.Character < b.Character
}
