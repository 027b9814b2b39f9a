// Package injection finds phrases in texts that models read, such as the description of a tool, that instruct a model
// beyond the tool that they describe.
//
// The check is a plain list. It is a pure function of one text, safe for concurrent use, and takes time in proportion
// to it. It finds what it lists in every spelling that [Steering] names; it does not understand a text, so a text
// without a match is not thereby harmless.
package injection

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"hatchel/internal/lazyregexp"
	"hatchel/internal/printable"
)

// Steering returns the phrases of a text that instruct a model beyond the tool that it describes: to ignore its
// instructions, to keep something from the user, to use this tool before or instead of all others, to read
// credentials, to pass on the conversation. So are tags that imitate the instructions of a system.
//
// A phrase is found in every spelling that reads the same: in other compatibility forms (NFKC), case, accents,
// letters of other scripts that look alike, digits for letters, letters with spaces or punctuation or hidden characters
// between them; in tag characters; and in text that is encoded as base64, hexadecimal digits, percent signs,
// references of HTML or escapes of JSON. A name such as SystemOverride, which is the whole text, may be a phrase of up
// to three words. Matches are sorted and do not overlap.
func Steering(text string) []printable.Match { return steering(text, maxEncodings) }

// maxEncodings is how many encodings are decoded one inside the other.
const maxEncodings = 2

// maxPhrase is the number of bytes of folded text that a phrase can have.
const maxPhrase = 400

func steering(text string, encodings int) (found []printable.Match) {
	f := fold(text)
	byStart, isName := phrases(), name.MatchString(text)
	for from, begins := range f.begins {
		if !begins || from+startLength > len(f.letters) {
			continue
		}
		for _, p := range byStart[f.letters[from:from+startLength]] {
			isEnd := func(n int) bool { return from+n == len(f.letters) || f.begins[from+n] }
			if n := p.match(f.letters[from:min(from+maxPhrase, len(f.letters))], isEnd); n > 0 &&
				!(isName && f.words(from, from+n) <= maxNameWords) {
				found = append(found, printable.Match{Start: int(f.source[from]), End: f.end(from + n), Why: p.why})
			}
		}
	}
	found = append(found, literalMatches(text)...)
	if encodings > 0 {
		found = append(found, encodedMatches(text, encodings)...)
	}
	slices.SortStableFunc(found, func(a, b printable.Match) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End))
	})
	end := 0
	return slices.DeleteFunc(found, func(m printable.Match) bool {
		if m.Start < end {
			return true
		}
		end = m.End
		return false
	})
}

// name matches a text that is one name.
var name = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_.-]*$`)

// maxNameWords is how many words of a name may be a phrase.
const maxNameWords = 3

// words returns the number of words that begin in a range of the letters.
func (f *folded) words(from, to int) (n int) {
	for _, begins := range f.begins[from:to] {
		if begins {
			n++
		}
	}
	return n
}

// end returns the offset in the text at which the letter before an index ends.
func (f *folded) end(i int) int {
	last := int(f.source[i-1])
	_, size := utf8.DecodeRuneInString(f.text[last:])
	return last + size
}
