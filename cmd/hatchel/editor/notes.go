package editor

import (
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
)

// FileNotes are the notes of a load about one file.
type FileNotes struct{ eval.Notes }

// NotesOf returns the notes about a file. It has none about a file that was not open when the project was loaded.
func (p *Project) NotesOf(name string) *FileNotes {
	p.once.Do(p.gatherNotes)
	if n := p.notes[name]; n != nil {
		return n
	}
	return &FileNotes{}
}

// gatherNotes sorts the notes of the load by file, and completes what the decoder of a block did not know.
func (p *Project) gatherNotes() {
	p.notes = map[string]*FileNotes{}
	of := func(r diag.Range) *FileNotes {
		n := p.notes[r.File]
		if n == nil {
			n = &FileNotes{}
			p.notes[r.File] = n
		}
		return n
	}
	for _, list := range p.Config.Notes.Lists {
		for _, v := range list.Values {
			n := of(v.At)
			n.Values = append(n.Values, v)
		}
		for _, r := range list.Reads {
			n := of(r.At)
			n.Reads = append(n.Reads, p.complete(r))
		}
		for _, b := range list.Bindings {
			n := of(b.At)
			n.Bindings = append(n.Bindings, b)
		}
	}
}

// ValueAt returns what is known of the innermost expression around an offset; nil for nothing.
func (n *FileNotes) ValueAt(offset int) (found *eval.NotedValue) {
	for i := range n.Values {
		v := &n.Values[i]
		if s := spanOfRange(v.At); s.Contains(offset) && (found == nil || s.To-s.From <= length(found.At)) {
			found = v
		}
	}
	return found
}

// outermostIn returns what is known of the longest expression in a span; nil for nothing.
func (n *FileNotes) outermostIn(s Span) (found *eval.NotedValue) {
	for i := range n.Values {
		v := &n.Values[i]
		of := spanOfRange(v.At)
		if s.From <= of.From && of.To <= s.To && (found == nil || of.To-of.From > length(found.At)) {
			found = v
		}
	}
	return found
}

// valueOf returns what is known of the expression at exactly a span; nil for nothing.
func (n *FileNotes) valueOf(s Span) *eval.NotedValue {
	for i := range n.Values {
		if spanOfRange(n.Values[i].At) == s {
			return &n.Values[i]
		}
	}
	return nil
}

// BindingAt returns how the innermost ${...} around an offset is bound; nil if that is not known.
func (n *FileNotes) BindingAt(offset int) (found *eval.NotedBinding) {
	for i := range n.Bindings {
		b := &n.Bindings[i]
		if s := spanOfRange(b.At); s.Contains(offset) && (found == nil || s.To-s.From < length(found.At)) {
			found = b
		}
	}
	return found
}

// ReadAt returns the declaration that is named at an offset; nil for none.
func (n *FileNotes) ReadAt(offset int) *eval.NotedRead {
	for i := range n.Reads {
		if spanOfRange(n.Reads[i].At).Contains(offset) {
			return &n.Reads[i]
		}
	}
	return nil
}

func length(r diag.Range) int { return r.End.Byte - r.Start.Byte }
