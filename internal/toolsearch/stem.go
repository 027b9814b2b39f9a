package toolsearch

import "strings"

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
	return word
}
