// Package detect finds e-mail addresses, account numbers, card numbers and telephone numbers in texts, without regular
// expressions and in one pass. It does not find values that are encoded, split or written out.
package detect

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Kinds are the kinds of values that are looked for, as a set.
type Kinds uint8

// The kinds.
const (
	Email Kinds = 1 << iota // with a dot in the domain
	IBAN                    // of the length of its country, and with the right check digits
	Card                    // of a known brand, and with the right check digit
	Phone                   // with + or 00 and the code of a country
)

// Words are the names of the kinds, in their order.
var Words = []string{"email", "iban", "card", "phone"}

// KindOf returns a kind by its name; 0 for none.
func KindOf(word string) Kinds {
	if at := slices.Index(Words, word); at >= 0 {
		return 1 << at
	}
	return 0
}

// Words returns the names of the kinds.
func (k Kinds) Words() (words []string) {
	for i, word := range Words {
		if k&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	return words
}

// Counts are how many values of each kind were replaced, in the order of Words.
type Counts [4]int

var replacements = [...]string{"[email]", "[iban]", "[card]", "[phone]"}

// Text returns a text with the name of its kind, as in [email], in place of each value. It counts in n.
func (k Kinds) Text(text string, n *Counts) string {
	if k == 0 || !k.mayHold(text) {
		return text
	}
	if out := k.append(nil, text, n); out != nil {
		return string(out)
	}
	return text
}

// Bytes is Text of bytes. The argument is returned if it holds none.
func (k Kinds) Bytes(text []byte, n *Counts) []byte {
	if k == 0 {
		return text
	}
	if out := k.append(nil, string(text), n); out != nil {
		return out
	}
	return text
}

// JSON returns encoded JSON with the kinds in place of the values in its texts. Names of members and numbers stay.
func (k Kinds) JSON(text []byte, n *Counts) []byte {
	if k == 0 {
		return text
	}
	var out []byte
	copied := 0
	for at := 0; at < len(text); {
		next := bytes.IndexByte(text[at:], '"')
		if next < 0 {
			break
		}
		start := at + next
		end, escaped := endOfString(text, start+1)
		if at = end; isName(text[end:]) {
			continue
		}
		var plain string
		if !escaped {
			plain = string(text[start+1 : max(end-1, start+1)])
		} else if json.Unmarshal(text[start:end], &plain) != nil {
			continue
		}
		replaced := k.append(nil, plain, n)
		if replaced == nil {
			continue
		}
		out = append(out, text[copied:start]...)
		quoted, _ := json.Marshal(string(replaced)) // a string has a JSON form
		out, copied = append(out, quoted...), end
	}
	if out == nil {
		return text
	}
	return append(out, text[copied:]...)
}

// endOfString returns where the JSON string ends that begins before a position, and whether it has escapes.
func endOfString(text []byte, at int) (end int, escaped bool) {
	for ; at < len(text); at++ {
		switch text[at] {
		case '\\':
			escaped = true
			at++
		case '"':
			return at + 1, escaped
		}
	}
	return len(text), escaped
}

// isName reports whether a string was the name of a member: what is after it.
func isName(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}

// mayHold reports whether a text has a character that every value of a kind has.
func (k Kinds) mayHold(text string) bool {
	if k&^Email == 0 {
		return strings.IndexByte(text, '@') >= 0
	}
	return strings.ContainsAny(text, "@0123456789")
}

// append appends a text with the kinds in place of values; nil if it holds none.
func (k Kinds) append(dst []byte, text string, n *Counts) []byte {
	copied := 0
	replace := func(kind, start, end int) {
		dst = append(append(dst, text[copied:start]...), replacements[kind]...)
		n[kind]++
		copied = end
	}
	var email span
	if k&Email != 0 {
		email = nextEmail(text, 0)
	}
	for i := 0; i < len(text); {
		if email.end > 0 && i >= email.start {
			replace(0, max(email.start, copied), email.end)
			i = email.end
			email = nextEmail(text, i)
			continue
		}
		c := text[i]
		if classes[c]&(digit|letter) == 0 && c != '+' {
			i++
			continue
		}
		kind, end := 0, 0
		if !touchesBefore(text, i) {
			kind, end = k.at(text, i)
		}
		if end == 0 || email.end > 0 && end > email.start {
			for i++; i < len(text) && classes[text[i]]&(digit|letter) != 0; i++ { // each touches the one before it
			}
			continue
		}
		replace(kind, i, end)
		i = end
	}
	if copied == 0 {
		return nil
	}
	return append(dst, text[copied:]...)
}

// at returns the kind of the value that begins at a position, and where it ends; 0 for none.
func (k Kinds) at(text string, i int) (kind, end int) {
	switch c := text[i]; {
	case classes[c]&letter != 0:
		if k&IBAN != 0 && len(text) > i+2 && classes[text[i+2]]&digit != 0 {
			return 1, ibanAt(text, i)
		}
	case c == '+':
		if k&Phone != 0 {
			return 3, phoneAt(text, i)
		}
	default:
		if k&Card != 0 {
			if end := cardAt(text, i); end > 0 {
				return 2, end
			}
		}
		if k&Phone != 0 && c == '0' {
			return 3, phoneAt(text, i)
		}
	}
	return 0, 0
}

type span struct{ start, end int }

// The classes of characters.
const (
	letter     = 1 << iota // of ASCII
	digit                  // of ASCII
	touching               // a value that touches it is a part of something else
	ofLocal                // may stand before the @ of an address
	ofDomain               // may stand after it
	ofDialling             // separates the digits of a telephone number
)

var classes = func() (table [256]uint8) {
	for c := range table {
		switch {
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			table[c] = letter | touching | ofLocal | ofDomain
		case c >= '0' && c <= '9':
			table[c] = digit | touching | ofLocal | ofDomain
		case c == '-':
			table[c] = touching | ofLocal | ofDomain | ofDialling
		case c == '_':
			table[c] = touching | ofLocal
		case c == '.':
			table[c] = ofLocal | ofDomain | ofDialling
		case c == ' ' || c == '/' || c == '(' || c == ')':
			table[c] = ofDialling
		case c >= 0x80 || strings.IndexByte("+%'!#$&=~", byte(c)) >= 0:
			table[c] = ofLocal
		}
	}
	return table
}()
