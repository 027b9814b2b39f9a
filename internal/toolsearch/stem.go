package toolsearch

import (
	"slices"
	"strings"
	"sync"
)

// irregularPairs are forms of words that no rule of stem removes, and words that British English spells in its own way,
// each before what it is read as.
const irregularPairs = `
became become began begin begun begin bought buy broke break broken break brought bring built build caught catch
chose choose chosen choose drove drive driven drive fell fall fallen fall forgot forget forgotten forget ate eat
eaten eat bit bite bitten bite blew blow blown blow drank drink drunk drink drew draw drawn draw fed feed felt feel
flew fly flown fly fought fight froze freeze frozen freeze gave give given give gone go went go grew grow grown grow
heard hear held hold hid hide hidden hide hung hang kept keep knew know known know laid lay led lead lent lend lit
light lost lose made make met meet paid pay ran run rang ring ridden ride rode ride risen rise rose rise sent send
shaken shake shook shake shown show slept sleep sold sell spent spend spoke speak spoken speak stole steal stolen
steal stood stand stuck stick swam swim swept sweep taken take taught teach thought think threw throw thrown throw
told tell took take tore tear torn tear withdrew withdraw withdrawn withdraw woke wake woken wake won win wore wear
worn wear wrote write written write children child feet foot halve half knive knife men man mice mouse people person
women woman criteria criterion indice index shelve shelf teeth tooth wive wife catalogue catalog centre center
cheque check defence defense dialogue dialog fibre fiber licence license litre liter metre meter offence offense
theatre theater tyre tire`

var irregular = sync.OnceValue(func() map[string]string {
	of, words := map[string]string{}, strings.Fields(irregularPairs)
	for i := 0; i < len(words); i += 2 {
		of[words[i]] = words[i+1]
	}
	return of
})

// stem removes the endings of the plural, -ing and -ed from an English word in lower case, and then what depends on
// them: a last e, and one of two same letters at the end. Its results are no words, but equal for forms of one.
func stem(word string) string {
	if last := word[len(word)-1]; last < 'a' || last > 'z' || len(word) < 3 {
		return word
	}
	switch {
	case len(word) > 4 && (strings.HasSuffix(word, "ies") || strings.HasSuffix(word, "ied")):
		word = word[:len(word)-3] + "y"
	case strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") && !strings.HasSuffix(word, "us") &&
		!strings.HasSuffix(word, "is"):
		word = word[:len(word)-1]
	}
	if root, ok := irregular()[word]; ok {
		word = root
	}
	for _, ending := range []string{"ing", "ed"} {
		before, ok := strings.CutSuffix(word, ending)
		hasVowel := strings.ContainsAny(before, "aeiouy")
		if ok && hasVowel && len(before) > 2 && !strings.HasSuffix(word, "eed") {
			word = before
			break
		}
	}
	if last := len(word) - 1; last > 2 && word[last] == 'e' {
		word = word[:last]
	}
	if last := len(word) - 1; last > 2 && word[last] == word[last-1] {
		word = word[:last]
	}
	return oneSpelling(word)
}

// oneSpelling returns a stem as all spell it, of American and British English.
func oneSpelling(word string) string {
	for _, ending := range [...][2]string{{"iz", "is"}, {"yz", "ys"}, {"ization", "isation"}, {"our", "or"}} {
		if before, ok := strings.CutSuffix(word, ending[0]); ok && len(before) > 2 {
			return before + ending[1]
		}
	}
	return word
}

// derivedEndings are endings of words that are made of others, as stem leaves them: longer ones before those that they
// end with.
var derivedEndings = strings.Fields(`isation ication ation ition ution ment ancy ency anc enc sion tion ion ably
	ibly abl ibl nes ship ful les ity iv ary ory ant ent ist ism ual ial al at is
	ify ur ag er or ly y e`)

// underivedWords are words that have such an ending, and whose root would be that of a word which they are not of.
var underivedWords = strings.Fields(`apartment counter currency current customer department directory factory
	general hospital instance instant inventory letter master member message
	mission pressure priority property server session signal state statement
	station university version`)

var isUnderived = sync.OnceValue(func() map[string]bool {
	is := map[string]bool{}
	for _, word := range underivedWords {
		is[stem(word)] = true
	}
	return is
})

// minRoot is the number of bytes that removed endings leave.
const minRoot = 4

// rootOf removes up to three endings of a stem of which words are made: "employ", "employee" and "employment" have one
// root.
func rootOf(term string) string {
	if isUnderived()[term] {
		return term
	}
	for range 3 {
		at := slices.IndexFunc(derivedEndings, func(ending string) bool {
			return len(term) >= len(ending)+minRoot && strings.HasSuffix(term, ending)
		})
		if at < 0 {
			break
		}
		term = strings.TrimSuffix(term, derivedEndings[at])
	}
	if last := len(term) - 1; last > 2 && (term[last] == term[last-1] || term[last] == 'i') {
		term = term[:last]
	}
	return term
}
