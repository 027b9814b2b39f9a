// Package printable finds what a text contains that people do not see, or see in another order: characters that a
// reviewer overlooks and a model reads.
package printable

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Match is a finding in a text: the bytes from Start to End of the text, and what is wrong with them, as the end of a
// sentence that begins with "It".
type Match struct {
	Start, End int
	Why        string
}

// Hidden returns what a text contains that people do not see or see in another order: tag characters, controls of
// the direction, zero-width characters, variation selectors, private characters, control characters. What a script
// or an emoji needs is no finding: joiners inside of Indic and Arabic words and of emoji, marks beside letters that
// are written from right to left, and the selector after an emoji. Adjacent findings of one kind are one.
func Hidden(text string) (found []Match) {
	if IsPlain(text) {
		return nil
	}
	before := rune(-1)
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		if n := flagLength(text[at:]); n > 0 {
			at, before = at+n, r
			continue
		}
		if why := hiddenKind(r); why != "" && !isNeeded(r, before, text[at+size:]) {
			if last := len(found) - 1; last >= 0 && found[last].End == at && found[last].Why == why {
				found[last].End += size
			} else {
				found = append(found, Match{at, at + size, why})
			}
		}
		at, before = at+size, r
	}
	return found
}

// Names returns the code points of a text, as in "U+200B U+202E", at most three and then "…".
func Names(text string) string {
	var names []string
	for _, r := range text {
		if len(names) == 3 {
			names = append(names, "…")
			break
		}
		names = append(names, fmt.Sprintf("U+%04X", r))
	}
	return strings.Join(names, " ")
}

// MixesScripts reports whether a name contains letters of Latin and of a script with similar letters.
func MixesScripts(name string) bool {
	latin, similar := false, false
	for _, r := range name {
		switch {
		case r < utf8.RuneSelf:
			latin = latin || unicode.IsLetter(r)
		case unicode.In(r, unicode.Latin):
			latin = true
		case unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee):
			similar = true
		}
	}
	return latin && similar
}

// IsHidden reports whether a character is of a kind that people do not see, whatever is around it.
func IsHidden(r rune) bool { return hiddenKind(r) != "" }

// IsPlain reports whether a text consists of printable ASCII and line breaks.
func IsPlain(text string) bool {
	for len(text) >= 8 {
		if plainBytes[text[0]]&plainBytes[text[1]]&plainBytes[text[2]]&plainBytes[text[3]]&
			plainBytes[text[4]]&plainBytes[text[5]]&plainBytes[text[6]]&plainBytes[text[7]] == 0 {
			return false
		}
		text = text[8:]
	}
	for i := range len(text) {
		if plainBytes[text[i]] == 0 {
			return false
		}
	}
	return true
}

// plainBytes has 1 for each byte of printable ASCII and of line breaks.
var plainBytes = func() (is [256]byte) {
	for c := byte(' '); c < 0x7f; c++ {
		is[c] = 1
	}
	is['\n'], is['\t'], is['\r'] = 1, 1, 1
	return is
}()

const (
	hiddenTag       = "has tag characters, which nobody sees and models read"
	hiddenDirection = "has a control of the direction, so people read it in another order than models"
	hiddenZeroWidth = "has zero-width characters, which nobody sees"
	hiddenSelector  = "has variation selectors without an emoji before them, which nobody sees"
	hiddenPrivate   = "has private characters, whose look is not defined"
	hiddenControl   = "has control characters, which nobody sees"
)

// hiddenKind returns what is wrong with a character, or "".
func hiddenKind(r rune) string {
	switch {
	case r >= 0xE0000 && r <= 0xE007F:
		return hiddenTag
	case r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069, r == 0x200E, r == 0x200F, r == 0x061C:
		return hiddenDirection
	case r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0100 && r <= 0xE01EF, r >= 0x180B && r <= 0x180D, r == 0x180F:
		return hiddenSelector
	case unicode.Is(unicode.Co, r):
		return hiddenPrivate
	case unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) && r != '\n' && r != '\t' && r != '\r':
		return hiddenControl
	case unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r), unicode.Is(blank, r):
		return hiddenZeroWidth
	}
	return ""
}

// blank lists characters that are letters, marks or symbols by their category, and show nothing.
var blank = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x034F, Hi: 0x034F, Stride: 1}, {Lo: 0x115F, Hi: 0x1160, Stride: 1}, {Lo: 0x17B4, Hi: 0x17B5, Stride: 1},
		{Lo: 0x2065, Hi: 0x2065, Stride: 1}, {Lo: 0x2800, Hi: 0x2800, Stride: 1}, {Lo: 0x3164, Hi: 0x3164, Stride: 1},
		{Lo: 0xFFA0, Hi: 0xFFA0, Stride: 1}, {Lo: 0xFFF0, Hi: 0xFFF8, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0xE0080, Hi: 0xE00FF, Stride: 1}, {Lo: 0xE01F0, Hi: 0xE0FFF, Stride: 1}},
}

// isNeeded reports whether the script or the emoji around a hidden character needs it.
func isNeeded(r, before rune, after string) bool {
	next, _ := utf8.DecodeRuneInString(after)
	switch {
	case r == 0x200C || r == 0x200D:
		if unicode.In(before, joining...) && unicode.In(next, joining...) {
			return true
		}
		return r == 0x200D && (isEmoji(before) || before == 0xFE0F) && isEmoji(next)
	case r == 0x200E || r == 0x200F || r == 0x061C:
		return unicode.In(before, rightToLeft...) || unicode.In(next, rightToLeft...)
	case r == 0xFE0E || r == 0xFE0F:
		return isEmoji(before) || strings.ContainsRune("#*0123456789", before) && next == 0x20E3
	case r >= 0xE0100 && r <= 0xE01EF:
		return unicode.Is(unicode.Han, before)
	case r >= 0x180B && r <= 0x180F:
		return unicode.Is(unicode.Mongolian, before) && unicode.IsLetter(before)
	}
	return false
}

var (
	rightToLeft = []*unicode.RangeTable{unicode.Arabic, unicode.Hebrew, unicode.Syriac, unicode.Thaana}
	joining     = []*unicode.RangeTable{
		unicode.Arabic, unicode.Syriac, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati,
		unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala,
		unicode.Khmer, unicode.Myanmar, unicode.Mongolian,
	}
)

// isEmoji reports whether a character may be part of an emoji.
func isEmoji(r rune) bool {
	return r > 0x7f && unicode.In(r, unicode.So, unicode.Sm, unicode.Sk) || strings.ContainsRune("‼⁉〰〽", r)
}

// flags are the tag sequences that emoji use: England, Scotland and Wales.
var flags = []string{tagged("gbeng"), tagged("gbsct"), tagged("gbwls")}

// tagged returns a black flag and a text in tag characters.
func tagged(text string) string {
	var b strings.Builder
	b.WriteRune(0x1F3F4)
	for _, c := range text {
		b.WriteRune(0xE0000 + c)
	}
	b.WriteRune(0xE007F)
	return b.String()
}

// flagLength returns the length of the flag at the beginning of a text, or 0.
func flagLength(text string) int {
	i := slices.IndexFunc(flags, func(f string) bool { return strings.HasPrefix(text, f) })
	if i < 0 {
		return 0
	}
	return len(flags[i])
}
