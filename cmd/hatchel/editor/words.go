package editor

import (
	"strings"

	"hatchel/cmd/hatchel/editor/highlight"
	"hatchel/hcl/decode"
	"hatchel/hcl/template"
)

// Word is one word on one line, for highlighting.
type Word struct {
	highlight.Word
	Binding template.BindingKind // of the delimiters of a ${...}; Written if it is not known
}

// Words returns the words of a file, in their order.
func (p *Project) Words(f *File) []Word {
	found := highlight.Words(f.Src, p.contents)
	kinds := map[int]template.BindingKind{}
	for _, b := range p.notesOf(f.Name).Bindings {
		kinds[b.At.Start.Byte], kinds[b.At.End.Byte] = b.Kind, b.Kind
	}
	words := make([]Word, len(found))
	for i, w := range found {
		words[i].Word = w
		if w.Kind == highlight.Interpolation {
			at := w.Start
			if f.Src[at] != '$' {
				at = w.End
			}
			words[i].Binding = kinds[at]
		}
	}
	return words
}

// contents returns the language in the value of an argument: its spec says it.
func (l *Language) contents(path []highlight.Header, argument string) highlight.Language {
	var kind *Kind
	for i, h := range path {
		if i == 0 {
			kind = l.keyed(h.Type, h.Labels)
		} else {
			kind = l.Inside(kind, h.Type, h.Labels)
		}
	}
	return languageOf(kind.Field(argument, true))
}

func languageOf(f *decode.Field) highlight.Language {
	switch {
	case f == nil:
		return highlight.Text
	case f.Type == "SQL":
		return highlight.SQL
	case f.Type == "shell script":
		return highlight.Shell
	case f.Type == "expr" || strings.HasPrefix(f.Type, "expr,"):
		return highlight.Program
	}
	return highlight.Text
}
