package toolsearch

import (
	_ "embed"
	"strings"
	"sync"
)

// thesaurusText has groups of words and phrases of English, one in a line. A line "a b c" has words for the same thing:
// a description has one of them, and a question another. A line "a: b c" has behind the colon what tools are called
// that a question with a asks for. The words of a phrase, such as "switch-off", have hyphens between them.
//
//go:embed thesaurus.txt
var thesaurusText string

// thesaurus has, by terms, what thesaurusText says. A phrase is the stems of its words as one term.
type thesaurus struct {
	synonyms map[string][]string // the others of the groups of a term
	askedFor map[string][]string // what the tools are called that a question with a term asks for
	roots    map[string][]string // the terms by their roots
	starts   map[string]bool     // the stems of the first words of phrases
}

var readThesaurus = sync.OnceValue(func() *thesaurus {
	t := &thesaurus{map[string][]string{}, map[string][]string{}, map[string][]string{}, map[string]bool{}}
	for line := range strings.Lines(thesaurusText) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		asked, told, isOneWay := strings.Cut(line, ":")
		of, from, to := t.synonyms, t.termsOf(asked), t.termsOf(told)
		if isOneWay {
			of = t.askedFor
		} else {
			to = from
		}
		for _, term := range from {
			t.roots[rootOf(term)] = appendNew(t.roots[rootOf(term)], term)
			for _, other := range to {
				if other != term {
					of[term] = appendNew(of[term], other)
				}
			}
		}
	}
	return t
})

// termsOf returns the terms of words and phrases between spaces. A phrase is also the one word that some write, such as
// "takeover".
func (t *thesaurus) termsOf(entries string) (terms []string) {
	for entry := range strings.FieldsSeq(entries) {
		parts := strings.Split(entry, "-")
		if len(parts) > 1 {
			for i := range parts {
				parts[i] = stem(parts[i])
			}
			t.starts[parts[0]] = true
			terms = appendNew(terms, strings.Join(parts, ""))
		}
		terms = appendNew(terms, stem(strings.ReplaceAll(entry, "-", "")))
	}
	return terms
}

// has reports whether a term is one of the thesaurus.
func (t *thesaurus) has(term string) bool {
	return len(t.synonyms[term]) > 0 || len(t.askedFor[term]) > 0
}
