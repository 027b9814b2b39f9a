package injection

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// Steering returns the phrases of a text that instruct a model beyond the tool that it describes: to ignore its
// instructions, to keep something from the user, to use this tool before or instead of all others, to read
// credentials, to pass on the conversation. So are tags that imitate the instructions of a system.
//
// A phrase is found in every spelling that reads the same: in other compatibility forms (NFKC), case, accents,
// letters of other scripts that look alike, digits for letters, letters with spaces or punctuation or hidden characters
// between them; in tag characters; and in text that is encoded as base64, hexadecimal digits, percent signs,
// references of HTML or escapes of JSON. Matches are sorted and do not overlap.
func Steering(text string) []Match { return steering(text, maxEncodings) }

// maxEncodings is how many encodings are decoded one inside the other.
const maxEncodings = 2

// maxPhrase is the number of bytes of folded text that a phrase can have.
const maxPhrase = 400

func steering(text string, encodings int) (found []Match) {
	f := fold(text)
	byStart := phrases()
	for from, begins := range f.begins {
		if !begins || from+startLength > len(f.letters) {
			continue
		}
		for _, p := range byStart[f.letters[from:from+startLength]] {
			at := p.pattern.FindStringIndex(f.letters[from:min(from+maxPhrase, len(f.letters))])
			if at == nil {
				continue
			}
			if to := from + at[1]; to == len(f.letters) || f.begins[to] {
				found = append(found, Match{int(f.source[from]), f.end(to), p.why})
			}
		}
	}
	found = append(found, literalMatches(text)...)
	if encodings > 0 {
		found = append(found, encodedMatches(text, encodings)...)
	}
	slices.SortStableFunc(found, func(a, b Match) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End))
	})
	end := 0
	return slices.DeleteFunc(found, func(m Match) bool {
		if m.Start < end {
			return true
		}
		end = m.End
		return false
	})
}

// end returns the offset in the text at which the letter before an index ends.
func (f *folded) end(i int) int {
	last := int(f.source[i-1])
	_, size := utf8.DecodeRuneInString(f.text[last:])
	return last + size
}
