package surface

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"hatchel/hcl/value"
)

// JoinNames returns names in one line, sorted, as the lines of a lock have them. A name with a separator, a blank or a
// quote is in quotes, so that lists that differ have lines that differ.
func JoinNames(names []string, separator string) string {
	written := slices.Sorted(slices.Values(names))
	for i, name := range written {
		needsQuotes := func(r rune) bool {
			return !unicode.IsGraphic(r) || unicode.IsSpace(r) || strings.ContainsRune(`,"\`+separator, r)
		}
		if name == "" || strings.ContainsFunc(name, needsQuotes) {
			written[i] = string(value.AppendCanonicalString(nil, name))
		}
	}
	return strings.Join(written, separator)
}

// cutNames returns the names that JoinNames has put at the beginning of a text, with commas between them, and the rest
// of the text. It reports false if there are none.
func cutNames(text string) (names []string, rest string, ok bool) {
	for {
		name := text
		if strings.HasPrefix(text, `"`) {
			quoted, err := strconv.QuotedPrefix(text)
			if err != nil {
				return nil, "", false
			}
			if name, err = strconv.Unquote(quoted); err != nil {
				return nil, "", false
			}
			text = text[len(quoted):]
		} else {
			if i := strings.IndexAny(text, ", "); i >= 0 {
				name = text[:i]
			}
			if name == "" {
				return nil, "", false
			}
			text = text[len(name):]
		}
		names = append(names, name)
		if !strings.HasPrefix(text, ",") {
			return names, text, true
		}
		text = strings.TrimPrefix(text[1:], " ")
	}
}

// cutNamed is cutNames after a word, as in " groups a,b"; without the word there are none.
func cutNamed(text, word string) (names []string, rest string, ok bool) {
	after, found := strings.CutPrefix(text, word+" ")
	if !found {
		return nil, text, true
	}
	return cutNames(after)
}
