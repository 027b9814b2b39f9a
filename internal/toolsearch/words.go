package toolsearch

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// stopWords are words of questions that do not say what is asked for: common words of English, and those of requests
// and of time. Descriptions of tools seldom have them, so that without this list they would count most.
var stopWords = strings.Fields(`a about above again against ago all also always am an and another any anybody
	anyone anything are arent as at be because been being below between both but by can cannot cant could day
	days did didnt do does doesnt doing dont each else ever every everybody everyone everything few find for
	from further get gets give given go goes got had has hasnt have havent having he her here hers him his hour
	hours how i if in into is isnt it its just know last let like look looks made make makes many may me might
	minute minutes month months more most much must my need needs never new next no nobody nor not nothing now
	of ok once only or other ought our ours own please put right same say says see shall she should show so some
	somebody someone something soon still such take tell than thank thanks that thats the their them then there
	these they thing things this those through to today together tomorrow tonight too until us use used using
	very want wants was wasnt way we week weeks were werent what whats when where which while who whom whose why
	will with within without wont would year years yes yesterday yet you your yours`)

// negations are stop words after which the next word is negated.
var negations = strings.Fields(`arent cannot cant couldnt didnt doesnt dont hadnt hasnt havent isnt never not
	shouldnt wasnt werent without wont wouldnt`)

// particles make one verb with the word before them, which names and descriptions write as one word, such as "login".
var particles = strings.Fields(`away back down in off on out over up`)

// prepositions are particles that also are before a noun.
var prepositions = strings.Fields(`in on out over`)

// weightOfMinor is what a number counts, which in a question mostly is a value, such as "in 30 days". The words of a
// phrase count the same. weightOfQuestionWord is what a stop word counts that asks for something, such as "when".
const (
	weightOfMinor        = 0.4
	weightOfQuestionWord = 0.5
)

// queryTerm is a term of a query, and what it counts.
type queryTerm struct {
	text   string
	weight float64
}

// queryTerms returns each term of a query once, without stop words unless it has nothing else. What is negated is also
// looked for with un-: "not paid" is "unpaid". Two words that has knows as one are also that one, such as "web hook".
// The words of a phrase count less than the phrase: "log in" asks for a login more than for a log.
func queryTerms(query string, has func(term string) bool) []queryTerm {
	var all, telling []queryTerm
	isNegated, written := false, words(query)
	stems, isPart := stemsOf(written), make([]bool, len(written))
	for i, word := range written {
		phrase, places := phraseAt(written, stems, i, has)
		if phrase == "" {
			phrase, places = splitVerb(written, stems, i, has)
		}
		if phrase != "" {
			telling = appendTerm(telling, phrase, 1)
			for _, at := range places {
				isPart[at] = true
			}
		}
		weight := 1.0
		if isNumber(word) || isPart[i] {
			weight = weightOfMinor
		}
		all = appendTerm(all, stems[i], weight)
		if slices.Contains(stopWords, word) {
			isNegated = isNegated || slices.Contains(negations, word)
			if phrase == "" && len(readThesaurus().askedFor[stems[i]]) > 0 {
				telling = appendTerm(telling, stems[i], weightOfQuestionWord)
			}
			continue
		}
		telling = appendTerm(telling, stems[i], weight)
		if isNegated {
			telling = appendTerm(telling, stem("un"+word), weight)
			if not := "not" + stems[i]; has(not) {
				telling = appendTerm(telling, not, 1)
			}
		}
		if i+1 < len(written) {
			if compound := stem(word + written[i+1]); has(compound) {
				telling = appendTerm(telling, compound, 1)
			}
		}
		isNegated = false
	}
	if len(telling) == 0 {
		return all
	}
	return telling
}

func stemsOf(written []string) []string {
	stems := make([]string, len(written))
	for i, word := range written {
		stems[i] = stem(word)
	}
	return stems
}

// maxPhrase is the number of words of the longest phrase.
const maxPhrase = 4

// determiners do not matter within phrases: "lost my card" is "lost card".
var determiners = strings.Fields("a an her his its my our some that the their these this those your")

// phraseAt returns the longest phrase that begins with a word, as the one term that has knows, and the places of its
// words.
func phraseAt(written, stems []string, from int, has func(term string) bool) (phrase string, places []int) {
	if !readThesaurus().starts[stems[from]] {
		return "", nil
	}
	joined, parts := stems[from], []int{from}
	for at := from + 1; at < len(written) && len(parts) < maxPhrase; at++ {
		if slices.Contains(determiners, written[at]) {
			continue
		}
		joined, parts = joined+stems[at], append(parts, at)
		if has(joined) {
			phrase, places = joined, slices.Clone(parts)
		}
	}
	return phrase, places
}

// splitVerb returns a verb whose particle follows after one or two words, as in "turn the alarm off", and the places of
// both. A preposition mostly begins a phrase of its own: "in May".
func splitVerb(written, stems []string, verb int, has func(term string) bool) (joined string, places []int) {
	for at := verb + 1; at < min(verb+4, len(written)); at++ {
		isNext := at == verb+1
		if slices.Contains(particles, written[at]) && (isNext || !slices.Contains(prepositions, written[at])) {
			for _, joined := range []string{stem(written[verb] + written[at]), stems[verb] + written[at]} {
				if has(joined) {
					return joined, []int{verb, at}
				}
			}
			return "", nil
		}
	}
	return "", nil
}

func appendTerm(terms []queryTerm, text string, weight float64) []queryTerm {
	if slices.ContainsFunc(terms, func(term queryTerm) bool { return term.text == text }) {
		return terms
	}
	return append(terms, queryTerm{text, weight})
}

func appendNew(terms []string, term string) []string {
	if slices.Contains(terms, term) {
		return terms
	}
	return append(terms, term)
}

// words returns the words of a text in lower case and without accents. A name is split at marks, digits and capitals; a
// word with inner capitals or one hyphen is also a word as a whole, so that "GitHub" and "e-mail" match "github" and
// "email". A script without spaces has every pair of neighbours as a word.
func words(text string) (all []string) {
	for _, word := range strings.FieldsFunc(fold(text), isBetweenWords) {
		pieces := strings.FieldsFunc(dropApostrophes(cutContraction(word)), isHyphen)
		for _, piece := range pieces {
			all = appendPiece(all, []rune(piece))
		}
		if len(pieces) == 2 {
			all = append(all, strings.ToLower(pieces[0]+pieces[1]))
		}
	}
	return all
}

// spellings replaces letters that Unicode does not decompose by those that people write in their place.
var spellings = strings.NewReplacer("ß", "ss", "ẞ", "SS", "æ", "ae", "Æ", "AE", "œ", "oe", "Œ", "OE",
	"ø", "o", "Ø", "O", "ł", "l", "Ł", "L", "đ", "d", "Đ", "D", "ı", "i")

// fold removes what different spellings of a letter differ in, except for its case.
func fold(text string) string {
	if isASCII(text) {
		return text
	}
	text = strings.Map(func(r rune) rune {
		if 0x300 <= r && r <= 0x36f { // accents of Latin, Greek and Cyrillic letters
			return -1
		}
		return r
	}, spellings.Replace(norm.NFKD.String(text)))
	return norm.NFC.String(text)
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII })
}

func isBetweenWords(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) && !isHyphen(r) && !isApostrophe(r)
}

func isHyphen(r rune) bool { return r == '-' || r == '‐' || r == '‑' }

func isApostrophe(r rune) bool { return r == '\'' || r == '’' }

// cutContraction removes a shortened verb or the mark of a genitive: "I'll" is no "ill", and "I'd" no "id".
func cutContraction(word string) string {
	if at := strings.LastIndexFunc(word, isApostrophe); at > 0 {
		_, size := utf8.DecodeRuneInString(word[at:])
		switch strings.ToLower(word[at+size:]) {
		case "d", "ll", "m", "re", "s", "ve":
			return word[:at]
		}
	}
	return word
}

func dropApostrophes(word string) string {
	return strings.Map(func(r rune) rune {
		if isApostrophe(r) {
			return -1
		}
		return r
	}, word)
}

// appendPiece appends the words of letters, marks and digits: each run of one kind, and the whole if it has letters and
// digits. A single letter of those is no word.
func appendPiece(all []string, piece []rune) []string {
	isMixed := hasLettersAndDigits(piece)
	for from, to := 0, 0; from < len(piece); from = to {
		kind := kindOf(piece[from])
		for to = from + 1; to < len(piece) && kindOf(piece[to]) == kind; to++ {
		}
		switch run := piece[from:to]; {
		case kind == digits:
			all = append(all, string(run))
		case kind == dense:
			all = appendPairs(all, run)
		case !isMixed || len(run) > 1:
			all = appendLetters(all, run)
		}
	}
	if isMixed {
		all = append(all, strings.ToLower(string(piece)))
	}
	return all
}

// hasLettersAndDigits reports whether a piece is an abbreviation with a number, such as "k8s" and "2FA".
func hasLettersAndDigits(piece []rune) bool {
	isLetter := func(r rune) bool { return kindOf(r) == letters }
	return slices.ContainsFunc(piece, isLetter) && slices.ContainsFunc(piece, unicode.IsNumber)
}

type kind int

const (
	letters kind = iota
	digits
	dense // letters of scripts without spaces, and of Korean, whose particles are written without one
)

func kindOf(r rune) kind {
	switch {
	case unicode.IsNumber(r):
		return digits
	case r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai,
		unicode.Lao, unicode.Khmer, unicode.Myanmar):
		return dense
	}
	return letters
}

func appendPairs(all []string, run []rune) []string {
	if len(run) == 1 {
		return append(all, string(run))
	}
	for i := range run[1:] {
		all = append(all, string(run[i:i+2]))
	}
	return all
}

// appendLetters appends letters, and their parts if they have inner capitals: "GitHub" has "git" and "hub",
// "HTTPStatus" has "http" and "status". The plural of an abbreviation, such as "URLs", has no parts.
func appendLetters(all []string, run []rune) []string {
	whole := strings.ToLower(string(run))
	if last := len(run) - 1; last > 1 && run[last] == 's' && !slices.ContainsFunc(run[:last], unicode.IsLower) {
		return append(all, whole)
	}
	from := 0
	for i := 1; i < len(run); i++ {
		afterLower := unicode.IsLower(run[i-1])
		lastOfUpper := unicode.IsUpper(run[i-1]) && i+1 < len(run) && unicode.IsLower(run[i+1])
		if unicode.IsUpper(run[i]) && (afterLower || lastOfUpper) {
			all = append(all, strings.ToLower(string(run[from:i])))
			from = i
		}
	}
	if from > 0 {
		all = append(all, strings.ToLower(string(run[from:])))
	}
	return append(all, whole)
}

func isNumber(term string) bool {
	return !strings.ContainsFunc(term, func(r rune) bool { return !unicode.IsNumber(r) })
}
