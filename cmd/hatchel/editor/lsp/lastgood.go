package lsp

import "hatchel/cmd/hatchel/editor"

// lastGood is the last text of a document without a syntax error, and what its load knew.
type lastGood struct {
	project *editor.Project
	file    *editor.File
}

// keepGood keeps the texts of open documents without a syntax error, after a load of them, and forgets those of
// documents that are closed.
func (f *folder) keepGood() {
	good := map[string]*lastGood{}
	for name, d := range f.openDocuments() {
		if file := d.parse(); !file.Broken() {
			good[name] = &lastGood{f.project, file}
		} else if f.good[name] != nil {
			good[name] = f.good[name]
		}
	}
	f.good = good
}

// shift maps offsets between two versions of a text, of which one part differs.
type shift struct {
	now  *editor.Text
	same int // bytes at the beginning that are the same
	was  int // bytes of the part that differs, in the older text
	is   int // and in the newer
}

func newShift(older, now *editor.Text) *shift {
	s := &shift{now: now}
	a, b := older.Src, now.Src
	for s.same < min(len(a), len(b)) && a[s.same] == b[s.same] {
		s.same++
	}
	end := 0
	for end < min(len(a), len(b))-s.same && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	s.was, s.is = len(a)-end-s.same, len(b)-end-s.same
	return s
}

// toOlder returns the offset in the older text. An offset in the part that differs is not there.
func (s *shift) toOlder(offset int) (int, bool) {
	switch {
	case offset <= s.same:
		return offset, true
	case offset >= s.same+s.is:
		return offset - s.is + s.was, true
	}
	return 0, false
}

// toNow returns the offset in the newer text, or the end of the part that differs for one in it.
func (s *shift) toNow(offset int) int {
	switch {
	case offset <= s.same:
		return offset
	case offset >= s.same+s.was:
		return offset - s.was + s.is
	}
	return s.same + s.is
}

// readable returns a view of the last text without a syntax error, if the text has one: a request about a position that
// is not near the mistake is answered as before. It returns the view itself otherwise.
func (v *view) readable(params any) *view {
	if !v.file.Broken() {
		return v
	}
	good := v.doc.folder.good[v.doc.name]
	if good == nil {
		return v
	}
	older := *v
	older.project, older.file = good.project, good.file
	older.shift = newShift(good.file.Text, v.file.Text)
	if p, ok := params.(interface{ position() editor.Position }); ok {
		if _, same := older.shift.toOlder(v.offset(p.position())); !same {
			return v
		}
	}
	return &older
}
