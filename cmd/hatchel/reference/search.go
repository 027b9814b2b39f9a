package reference

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"hatchel/hcl/spelling"
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

// ExplainUnknown says of a word that is no block or topic which blocks have an argument of that name, or what is near.
func (r *Reference) ExplainUnknown(word string) string {
	if holders := r.Holders(word); len(holders) > 0 {
		return fmt.Sprintf("%s is not a block, but an argument of %s: see hatchel docs %s", word,
			strings.Join(holders, ", "), holders[0])
	}
	if near := spelling.Nearest(word, r.Keys()); near != "" {
		return fmt.Sprintf("there is no block or topic %q. Did you mean %q?", word, near)
	}
	return fmt.Sprintf("there is no block or topic %q. hatchel docs lists all", word)
}
