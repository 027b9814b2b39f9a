// Package toolsearch ranks tools by the words of a question, by BM25 over the names, descriptions and inputs of tools.
package toolsearch

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	maxQueryBytes = 256
	maxQueryWords = 16
)

// maxRepeats is how often a word counts in one field. BM25 alone would put a description that repeats the words of a
// question 500 times above the tool that is named after them.
const maxRepeats = 2

// The weights of the fields, in halves: whole numbers have sums that do not depend on their order.
const (
	weightOfName        = 6
	weightOfTitle       = 4
	weightOfHint        = 4
	weightOfDescription = 2
	weightOfInputName   = 1
	weightOfInputText   = 1
)

// Tool is what is searched of a tool. Hint is words by which its author wants it to be found.
type Tool struct {
	Name, Title, Description, Hint string
	Inputs                         []Input
}

// Input is an input of a tool. Values are the texts of an enumeration.
type Input struct {
	Name, Description string
	Values            []string
}

// Index finds tools. It does not change, and is for concurrent use.
type Index struct {
	names    []string
	lengths  []int // the number of words of each tool, by weight
	postings map[string][]posting
	roots    map[string][]string // the terms of postings by their roots, sorted
}

// posting is a tool that has a word, and how often, by weight.
type posting struct{ tool, count int32 }

// Match is a tool that was found, as an index into the tools of New. Scores are comparable within one answer only.
type Match struct {
	Tool  int
	Score float64
}

// New returns an index of tools.
func New(tools []Tool) *Index {
	x := &Index{
		names: make([]string, len(tools)), lengths: make([]int, len(tools)), postings: map[string][]posting{},
		roots: map[string][]string{},
	}
	for i, tool := range tools {
		var inputNames, inputTexts []string
		for _, input := range tool.Inputs {
			inputNames = append(inputNames, input.Name)
			inputTexts = append(append(inputTexts, input.Description), input.Values...)
		}
		x.names[i] = tool.Name
		x.add(i, weightOfName, tool.Name)
		x.add(i, weightOfTitle, tool.Title)
		x.add(i, weightOfHint, tool.Hint)
		x.add(i, weightOfDescription, tool.Description)
		x.add(i, weightOfInputName, inputNames...)
		x.add(i, weightOfInputText, inputTexts...)
	}
	for term, found := range x.postings {
		x.postings[term] = slices.Clip(found)
	}
	for _, term := range slices.Sorted(maps.Keys(x.postings)) {
		root := rootOf(term)
		x.roots[root] = append(x.roots[root], term)
	}
	return x
}

// add adds the texts of one field of a tool. Words of which a phrase is made are also that phrase, see queryTerms.
func (x *Index) add(tool, weight int, texts ...string) {
	counts := map[string]int{}
	for _, text := range texts {
		written := words(text)
		stems := stemsOf(written)
		for i := range written {
			x.lengths[tool] += weight
			x.addTerm(tool, weight, stems[i], counts)
			if phrase, _ := phraseAt(written, stems, i, readThesaurus().has); phrase != "" {
				x.addTerm(tool, weight, phrase, counts)
			}
		}
	}
}

// addTerm adds a term of a field. The counts are those of the field.
func (x *Index) addTerm(tool, weight int, term string, counts map[string]int) {
	if counts[term]++; counts[term] > maxRepeats {
		return
	}
	found := x.postings[term]
	if last := len(found) - 1; last >= 0 && int(found[last].tool) == tool {
		found[last].count += int32(weight)
		return
	}
	x.postings[term] = append(found, posting{int32(tool), int32(weight)})
}

// Check returns an error, for the author of the query, if a query is empty or too long.
func Check(query string) error {
	if words := len(strings.Fields(query)); words > maxQueryWords {
		return fmt.Errorf("query has %d words; at most %d are accepted", words, maxQueryWords)
	}
	if len(query) > maxQueryBytes {
		return fmt.Errorf("query has %d bytes; at most %d are accepted", len(query), maxQueryBytes)
	}
	if len(words(query)) == 0 {
		return errors.New("query has no word: write in a few words what the tool has to do")
	}
	return nil
}

// Find returns at most limit tools that a query matches, as indexes into the tools of New, best first. A tool for which
// visible returns false is not found, and changes neither the order nor the scores of others. With nil every tool is
// visible.
func (x *Index) Find(query string, visible func(tool int) bool, limit int) []int {
	var found []int
	for _, match := range x.Scored(query, visible, limit) {
		found = append(found, match.Tool)
	}
	return found
}
