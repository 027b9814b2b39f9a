package toolsearch

import (
	"strings"
	"sync"
)

// irregularPairs are forms of words that no rule of stem removes, and words that British English spells in its own way,
// each before what it is read as.
const irregularPairs = `
became become began begin begun begin bought buy broke break broken break brought bring built build
caught catch chose choose chosen choose drove drive driven drive fell fall fallen fall forgot forget forgotten forget
froze freeze frozen freeze grew grow heard hear held hold hid hide hidden hide kept keep led lead lost lose met meet
paid pay ran run sent send sold sell spent spend stolen steal stuck stick taught teach threw throw withdrew withdraw
withdrawn withdraw wrote write written write
children child feet foot men man people person women woman criteria criterion indice index
catalogue catalog centre center cheque check defence defense dialogue dialog fibre fiber licence license litre liter
metre meter offence offense theatre theater tyre tire`

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
