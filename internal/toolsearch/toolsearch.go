// Package toolsearch ranks tools by the words of a question, by BM25 over the names, descriptions and inputs of tools.
package toolsearch

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

const (
	maxQueryBytes = 256
	maxQueryWords = 16
)

// The parameters of BM25: how soon repetitions of a word stop counting, and how much the length of a text counts.
const (
	saturation = 1.2
	lengthPart = 0.75
)

// maxRepeats is how often a word counts in one field. BM25 alone would put a description that repeats the words of a
// question 500 times above the tool that is named after them.
const maxRepeats = 2

// weightOfRelated is what a synonym counts, and a word with another ending, such as "shipment" for "ship". Of these one
// is the beginning of the other, of at least minRoot bytes, and what follows has at most maxEnding: "cert" is related
// to "certificate".
const (
	weightOfRelated = 0.3
	minRoot         = 4
	maxEnding       = 7
)

// weightOfMinor is what a number counts, which in a question mostly is a value, such as "in 30 days". The parts of a
// verb that is also one word, such as "log in", count the same.
const weightOfMinor = 0.3

// The weights of the fields, in halves: whole numbers have sums that do not depend on their order.
const (
	weightOfName        = 6
	weightOfTitle       = 4
	weightOfHint        = 4
	weightOfDescription = 2
	weightOfInputName   = 2
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
	terms    []string // those of postings, sorted
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
	x.terms = slices.Sorted(maps.Keys(x.postings))
	return x
}

// add adds the texts of one field of a tool. Words of which one verb is made are also that verb, see queryTerms.
func (x *Index) add(tool, weight int, texts ...string) {
	counts := map[string]int{}
	for _, text := range texts {
		written := append(words(text), "")
		for i, word := range written[:len(written)-1] {
			x.lengths[tool] += weight
			x.addTerm(tool, weight, stem(word), counts)
			if next := written[i+1]; slices.Contains(particles, next) {
				if verb := joinVerb(word, next, hasSynonym); verb != "" {
					x.addTerm(tool, weight, verb, counts)
				}
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

// Scored is Find with the scores. A tool whose name is the query is first whatever its score is.
func (x *Index) Scored(query string, visible func(tool int) bool, limit int) []Match {
	shown, number, total := make([]bool, len(x.names)), 0, 0
	for i := range x.names {
		if shown[i] = visible == nil || visible(i); shown[i] {
			number++
			total += x.lengths[i]
		}
	}
	scores, counts := make([]float64, len(x.names)), make([]float64, len(x.names))
	has := func(term string) bool { return x.has(term, shown) }
	for _, term := range queryTerms(query, has) {
		having := x.count(term.text, shown, counts)
		rarity := term.weight * math.Log(1+(float64(number-having)+0.5)/(float64(having)+0.5))
		for i, count := range counts {
			if count > 0 {
				length := float64(x.lengths[i]*number) / float64(total)
				scores[i] += rarity * count * (saturation + 1) / (count + saturation*(1-lengthPart+lengthPart*length))
			}
		}
	}
	named := slices.Index(x.names, strings.TrimSpace(query))
	if named >= 0 && !shown[named] {
		named = -1
	}
	var matches []Match
	for i, score := range scores {
		if score > 0 && i != named {
			matches = append(matches, Match{i, score})
		}
	}
	slices.SortFunc(matches, func(a, b Match) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(x.names[a.Tool], x.names[b.Tool]))
	})
	if named >= 0 {
		matches = slices.Insert(matches, 0, Match{named, scores[named]})
	}
	return matches[:max(0, min(limit, len(matches)))]
}

// has reports whether a tool that is shown has a term or a synonym of it.
func (x *Index) has(term string, shown []bool) bool {
	return slices.ContainsFunc(append([]string{term}, synonyms()[term]...), func(term string) bool {
		return slices.ContainsFunc(x.postings[term], func(p posting) bool { return shown[p.tool] })
	})
}

// count sets how often each tool that is shown has a term or a related one, and returns how many have any: to the one
// who asks they are the same thing, so they are as frequent as one.
func (x *Index) count(term string, shown []bool, counts []float64) (having int) {
	clear(counts)
	add := func(term string, weight float64) {
		for _, p := range x.postings[term] {
			if shown[p.tool] {
				if counts[p.tool] == 0 {
					having++
				}
				counts[p.tool] += weight * float64(p.count) / weightOfDescription
			}
		}
	}
	add(term, 1)
	for _, other := range x.related(term) {
		add(other, weightOfRelated)
	}
	return having
}

// related returns the synonyms of a term, and the terms of the index that differ from it in their endings. A last y
// counts as part of the ending: "notify" is related to "notification".
func (x *Index) related(term string) []string {
	others := slices.Clone(synonyms()[term])
	root := strings.TrimSuffix(term, "y")
	if len(root) < minRoot {
		return others
	}
	for end := max(minRoot, len(term)-maxEnding); end < len(term); end++ {
		for _, shorter := range []string{term[:end], term[:end] + "y"} {
			if shorter != term {
				others = appendNew(others, shorter)
			}
		}
	}
	before := others
	for at, _ := slices.BinarySearch(x.terms, root); at < len(x.terms) && strings.HasPrefix(x.terms[at], root); at++ {
		longer := x.terms[at]
		if longer != term && len(longer)-len(root) <= maxEnding && !slices.Contains(before, longer) {
			others = append(others, longer)
		}
	}
	return others
}
