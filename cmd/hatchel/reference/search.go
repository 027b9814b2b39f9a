package reference

import (
	"bufio"
	"io"
	"strings"
)

// Search writes every block, argument and topic row that contains a word, and reports whether there
// is one.
func (r *Reference) Search(w io.Writer, word string) (bool, error) {
	var rows [][2]string
	add := func(place, text string) {
		if sentence := matchingSentence(place, text, strings.ToLower(word)); sentence != "" {
			rows = append(rows, [2]string{place, sentence})
		}
	}
	for _, b := range r.all {
		add(b.Key, b.Doc)
		for _, f := range b.Spec {
			if child := b.children[f.Name]; child == nil || child.Parent != b {
				add(b.Key+": "+f.Name, f.Doc)
			}
		}
	}
	for _, t := range r.Topics {
		for _, s := range t.Sections {
			for _, row := range s.Rows {
				add(t.Key+": "+row[0], row[1])
			}
		}
	}
	out := bufio.NewWriter(w)
	writeColumns(out, rows)
	return len(rows) > 0, out.Flush()
}

// matchingSentence returns the first sentence of a text that contains a word, or the first one when
// the place contains it.
func matchingSentence(place, text, word string) string {
	for sentence := range strings.SplitSeq(text, ". ") {
		if strings.Contains(strings.ToLower(sentence), word) {
			return strings.TrimSuffix(sentence, ".") + "."
		}
	}
	if strings.Contains(strings.ToLower(place), word) {
		return firstSentence(text)
	}
	return ""
}
