package toolsearch

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// The parameters of BM25: how soon repetitions of a word stop counting, and how much the length of a text counts.
const (
	saturation = 1
	lengthPart = 0.6
)

// The weights of what is related to a word of a question: a word with the same root, such as "shipment" for "ship", a
// synonym, and what the tools are called that a question with the word asks for. A word of the root of a synonym counts
// as sameRootPart of the synonym. What is related counts as besidesWordPart of that if tools have the word itself. The
// more synonyms a word has, the less each counts, since it has more meanings: manyRelated of them halve the weight.
const (
	weightOfSameRoot = 0.7
	weightOfSynonym  = 0.6
	weightOfAskedFor = 0.35
	sameRootPart     = 0.3
	besidesWordPart  = 0.7
	manyRelated      = 5
)

// Scored is Find with the scores. A tool whose name is the query is first whatever its score is.
func (x *Index) Scored(query string, visible func(tool int) bool, limit int) []Match {
	r := ranking{Index: x, shown: make([]bool, len(x.names)), scores: make([]float64, len(x.names)),
		matched: make([]float64, len(x.names)), counts: make([]float64, len(x.names)),
		best: make([]float64, len(x.names)), isUsed: map[string]bool{}}
	for i := range x.names {
		if r.shown[i] = visible == nil || visible(i); r.shown[i] {
			r.number++
			r.length += x.lengths[i]
		}
	}
	terms := queryTerms(query, r.has)
	for _, term := range terms {
		r.isUsed[term.text] = true
	}
	for _, term := range terms {
		r.score(term)
	}
	named := slices.Index(x.names, strings.TrimSpace(query))
	order := func(a, b Match) int {
		switch named {
		case a.Tool:
			return -1
		case b.Tool:
			return 1
		}
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(x.names[a.Tool], x.names[b.Tool]))
	}
	var matches []Match
	for i, score := range r.scores {
		if !r.shown[i] || score == 0 && i != named {
			continue
		}
		match := Match{i, score * math.Sqrt(r.matched[i])}
		if at, _ := slices.BinarySearchFunc(matches, match, order); at < limit {
			matches = slices.Insert(matches, at, match)
			matches = matches[:min(limit, len(matches))]
		}
	}
	return matches
}

// ranking is one search. A tool that matches several terms of a query is before one that matches one of them as well:
// its score is the sum of those of the terms, times the square root of the weight of the terms that it matches.
type ranking struct {
	*Index
	shown           []bool
	number, length  int // of the tools that are shown
	scores, matched []float64
	counts, best    []float64       // those of score, for one term
	isUsed          map[string]bool // the terms of the index that have counted, and those of the query
}

// score adds what a term of the query counts. A term of the index counts for one term of the query: otherwise one word
// of a tool that several words of the query are related to would count as much as several words.
func (r *ranking) score(term queryTerm) {
	clear(r.counts)
	clear(r.best)
	hasWord, others := r.isShown(term.text), r.related(term.text)
	r.count(term.text, 1)
	others = append(others, r.sameRoot(term.text)...)
	for _, other := range others {
		if r.isUsed[other.text] {
			continue
		}
		r.isUsed[other.text] = true
		if hasWord {
			other.weight *= besidesWordPart
		}
		r.count(other.text, other.weight)
	}
	having := 0.0
	for _, weight := range r.best {
		having += weight
	}
	rarity := term.weight * math.Log(1+(float64(r.number)-having+0.5)/(having+0.5))
	for i, count := range r.counts {
		if count > 0 {
			length := float64(r.lengths[i]*r.number) / float64(r.length)
			r.matched[i] += term.weight
			r.scores[i] += rarity * count * (saturation + 1) / (count + saturation*(1-lengthPart+lengthPart*length))
		}
	}
}

// count adds how often each tool that is shown has a term.
func (r *ranking) count(term string, weight float64) {
	for _, p := range r.postings[term] {
		if r.shown[p.tool] {
			r.best[p.tool] = max(r.best[p.tool], weight)
			r.counts[p.tool] += weight * float64(p.count) / weightOfDescription
		}
	}
}

func (r *ranking) isShown(term string) bool {
	return slices.ContainsFunc(r.postings[term], func(p posting) bool { return r.shown[p.tool] })
}

// has reports whether a tool that is shown has a term or what the thesaurus relates to it.
func (r *ranking) has(term string) bool {
	isShown := func(other queryTerm) bool { return r.isShown(other.text) }
	return r.isShown(term) || slices.ContainsFunc(r.related(term), isShown)
}

// related returns the terms of the index that the thesaurus relates to a term, those with the highest weight first. A
// term that is not in the thesaurus has what those of its root have.
func (x *Index) related(term string) (all []queryTerm) {
	t := readThesaurus()
	names := []string{term}
	if !t.has(term) {
		names = t.roots[rootOf(term)]
	}
	for _, name := range names {
		all = x.appendRelated(all, t.synonyms[name], weightOfSynonym)
	}
	for _, name := range names {
		all = x.appendRelated(all, t.askedFor[name], weightOfAskedFor)
	}
	slices.SortStableFunc(all, func(a, b queryTerm) int { return cmp.Compare(b.weight, a.weight) })
	return all
}

func (x *Index) appendRelated(all []queryTerm, others []string, weight float64) []queryTerm {
	weight *= manyRelated / float64(manyRelated+len(others))
	for _, other := range others {
		if len(x.postings[other]) > 0 {
			all = append(all, queryTerm{other, weight})
		}
		for _, same := range x.roots[rootOf(other)] {
			if same != other {
				all = append(all, queryTerm{same, weight * sameRootPart})
			}
		}
	}
	return all
}

// sameRoot returns the other terms of the index with the root of a term.
func (x *Index) sameRoot(term string) (all []queryTerm) {
	for _, same := range x.roots[rootOf(term)] {
		if same != term {
			all = append(all, queryTerm{same, weightOfSameRoot})
		}
	}
	return all
}
