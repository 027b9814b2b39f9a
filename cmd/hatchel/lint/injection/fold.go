package injection

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"hatchel/internal/printable"
)

// folded is a text reduced to its letters, so that spacing, punctuation, case, accents and look-alikes do not
// matter. "1" and "l" are the same letter as "i".
type folded struct {
	text    string
	letters string
	source  []int32 // for each byte of letters, the offset in the text
	begins  []bool  // for each byte of letters, whether a word begins there
}

// fold returns the letters of a text. A word begins after anything that is no letter and at a capital after a small
// letter; so each letter of a spaced word is a word.
func fold(text string) folded {
	f := folded{text: text, source: make([]int32, 0, len(text)), begins: make([]bool, 0, len(text))}
	letters := make([]byte, 0, len(text))
	add := func(r rune, at int, begins bool) {
		n := len(letters)
		letters = utf8.AppendRune(letters, r)
		for i := n; i < len(letters); i++ {
			f.source = append(f.source, int32(at))
			f.begins = append(f.begins, begins && i == n)
		}
	}
	begins, small := true, false
	for at := 0; at < len(text); {
		c := text[at]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(text[at:])
			switch {
			case r >= 0xE0020 && r <= 0xE007E: // a tag character for an ASCII one
				if l, _ := foldASCII(string(r-0xE0000), 0); l != 0 {
					add(l, at, begins)
					begins = false
				} else {
					begins = true
				}
			case printable.IsHidden(r) || unicode.Is(unicode.Mn, r): // nobody sees it
			case foldOther(r, func(l rune) { add(l, at, begins || isSolid(r)); begins = false }):
				small, begins = unicode.IsLower(r), isSolid(r)
			default:
				begins = true
			}
			at += size
			continue
		}
		l, upper := foldASCII(text, at)
		if l == 0 {
			begins, small = true, false
		} else {
			add(l, at, begins || upper && small)
			begins, small = false, !upper
		}
		at++
	}
	f.letters = string(letters)
	return f
}

// isSolid reports whether a letter is of a script that is written without spaces, so that each letter is a word.
func isSolid(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// foldASCII returns the letter that the character at an offset reads as, or 0, and whether it is a capital.
func foldASCII(text string, at int) (l rune, upper bool) {
	c := text[at]
	switch {
	case 'A' <= c && c <= 'Z':
		return foldLetter(rune(c | 0x20)), true
	case 'a' <= c && c <= 'z':
		return foldLetter(rune(c)), false
	}
	if leet[c] == 0 {
		return 0, false
	}
	from, to := at, at+1
	for from > 0 && at-from < maxLeet && isLeet(text[from-1]) {
		from--
	}
	for to < len(text) && to-at <= maxLeet && isLeet(text[to]) {
		to++
	}
	before, after := from > 0 && isLetter(text[from-1]), to < len(text) && isLetter(text[to])
	if to-from > maxLeet || !before && !after || !isDigit(c) && !(before && after) {
		return 0, false
	}
	return leet[c], false
}

// maxLeet is how many digits and symbols in a row are read as letters.
const maxLeet = 2

// leet maps characters that are written for letters.
var leet = [utf8.RuneSelf]rune{
	'0': 'o', '1': 'i', '3': 'e', '4': 'a', '5': 's', '7': 't', '@': 'a', '$': 's', '!': 'i', '|': 'i',
}

func isLeet(c byte) bool { return c < utf8.RuneSelf && leet[c] != 0 }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// foldLetter merges letters that look alike.
func foldLetter(r rune) rune {
	if r == 'l' {
		return 'i'
	}
	return r
}

// foldOther calls add for the letters that a character reads as, and reports whether there are any.
func foldOther(r rune, add func(rune)) bool {
	switch {
	case 0x1F150 <= r && r <= 0x1F169:
		r = 'a' + r - 0x1F150
	case 0x1F170 <= r && r <= 0x1F189:
		r = 'a' + r - 0x1F170
	case 0x1F1E6 <= r && r <= 0x1F1FF:
		r = 'a' + r - 0x1F1E6
	}
	any := false
	for _, d := range norm.NFKD.String(string(r)) {
		d = unicode.ToLower(d)
		if l, ok := lookalikes[d]; ok {
			d = l
		}
		if unicode.IsLetter(d) {
			add(foldLetter(d))
			any = true
		}
	}
	return any
}

// lookalikes maps small letters that look like a Latin one to it.
var lookalikes = lookalikesOf(
	"аa вb сc ԁd еe һh іi ӏi јj кk ӄk мm ոn нh оo рp ԛq гr ѕs тt цu ѵv ԝw хx уy зz бb", // Cyrillic
	"αa βb εe ηn ιi κk νv οo ρp τt υu χx γy ωw σo",                                     // Greek
	"օo հh ցg սu ոn զq յj", // Armenian
	"ᴀa ʙb ᴄc ᴅd ᴇe ꜰf ɢg ʜh ɪi ᴊj ᴋk ʟi ᴍm ɴn ᴏo ᴘp ʀr ꜱs ᴛt ᴜu ᴠv ᴡw ʏy ᴢz", // small capitals
	"ɑa ɡg ıi ɩi ℓi øo łi đd ħh ŧt ƅb ꮯc ꭺa ꭼe ꮋh ꮖi",                         // others
)

func lookalikesOf(lists ...string) map[rune]rune {
	m := map[rune]rune{}
	for _, list := range lists {
		for _, pair := range strings.Fields(list) {
			runes := []rune(pair)
			m[runes[0]] = runes[1]
		}
	}
	return m
}
