package detect

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of an address; see RFC 5321, section 4.5.3.1.
const (
	maxLocal  = 64
	maxDomain = 255
)

// nextEmail returns the first address from a position on; an empty span for none.
func nextEmail(text string, from int) span {
	for at := from; ; at++ {
		next := strings.IndexByte(text[at:], '@')
		if next < 0 {
			return span{}
		}
		at += next
		if start, end := localBefore(text, from, at), domainAfter(text, at+1); start < at && end > 0 {
			return span{start, end}
		}
	}
}

// localBefore returns where the local part before an @ begins; the position of the @ for none.
func localBefore(text string, from, at int) int {
	start := at
	for start > from && at-start < maxLocal {
		r, size := utf8.DecodeLastRuneInString(text[from:start])
		if classes[text[start-1]]&ofLocal == 0 || r >= utf8.RuneSelf && !unicode.Is(unicode.Latin, r) {
			break
		}
		start -= size
	}
	for start < at && strings.IndexByte(".'=&#$!~", text[start]) >= 0 { // what stands before addresses in other texts
		start++
	}
	return start
}

// notDomains are the ends of names that are no domains: of files, and of the units of systemd.
var notDomains = map[string]bool{
	"service": true, "socket": true, "timer": true, "target": true, "slice": true, "scope": true, "mount": true,
	"automount": true, "device": true, "path": true, "swap": true, "png": true, "jpg": true, "jpeg": true, "gif": true,
	"svg": true, "webp": true, "js": true, "mjs": true, "cjs": true, "ts": true, "tsx": true, "jsx": true, "css": true,
	"json": true, "html": true, "yaml": true, "yml": true, "xml": true, "log": true, "txt": true, "go": true,
}

// domainAfter returns where the domain at a position ends; 0 for none.
func domainAfter(text string, start int) (end int) {
	label, dots := start, 0
	for i := start; i <= len(text) && i-start <= maxDomain; i++ {
		if i < len(text) && classes[text[i]]&ofDomain != 0 && text[i] != '.' {
			continue
		}
		name := text[label:i]
		if name == "" || name[0] == '-' {
			break
		}
		if dots > 0 && isTop(name) {
			end = i
		} else if dots > 0 {
			if letters := leadingLetters(name); letters >= 2 && letters < len(name) && name[letters] == '-' &&
				!notDomains[strings.ToLower(name[:letters])] {
				end = label + letters
			}
		}
		if i == len(text) || text[i] != '.' {
			break
		}
		label = i + 1
		dots++
	}
	return end
}

func leadingLetters(name string) int {
	for i := range len(name) {
		if classes[name[i]]&letter == 0 {
			return i
		}
	}
	return len(name)
}

// isTop reports whether a label may be that of a top-level domain.
func isTop(name string) bool {
	if notDomains[strings.ToLower(name)] {
		return false
	}
	return len(name) >= 2 && (leadingLetters(name) == len(name) || strings.HasPrefix(strings.ToLower(name), "xn--"))
}

// ibanLengths are the lengths of account numbers by country; see ISO 13616.
var ibanLengths = func() map[string]int {
	const lengths = "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 " +
		"DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 " +
		"IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 " +
		"MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 " +
		"SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30"
	table := map[string]int{}
	for _, entry := range strings.Fields(lengths) {
		table[entry[:2]] = int(entry[2]-'0')*10 + int(entry[3]-'0')
	}
	return table
}()

// ibanAt returns where the account number that begins at a position ends; 0 for none. It is written without spaces, or
// in groups of four.
func ibanAt(text string, i int) int {
	if len(text) < i+15 || classes[text[i+1]]&letter == 0 || classes[text[i+2]]&digit == 0 ||
		classes[text[i+3]]&digit == 0 {
		return 0
	}
	length := ibanLengths[strings.ToUpper(text[i:i+2])]
	if length == 0 {
		return 0
	}
	var number [34]byte
	n, end := 0, i
	for ; end < len(text) && n < length; end++ {
		switch c := text[end]; {
		case classes[c]&(letter|digit) != 0:
			number[n] = c &^ 0x20
			if classes[c]&digit != 0 {
				number[n] = c
			}
			n++
		case c != ' ' && c != '-' || n == 0 || n%4 != 0 || classes[text[end-1]]&(letter|digit) == 0:
			return 0
		}
	}
	if n < length || touchesAfter(text, end) {
		return 0
	}
	rest := 0
	for k := range n {
		c := number[(k+4)%n]
		if classes[c]&digit != 0 {
			rest = (rest*10 + int(c-'0')) % 97
		} else {
			rest = (rest*100 + int(c-'A') + 10) % 97
		}
	}
	if rest != 1 {
		return 0
	}
	return end
}

// touchesAfter reports whether what ends at a position is a part of something else.
func touchesAfter(text string, end int) bool {
	return end < len(text) && classes[text[end]]&touching != 0 &&
		(text[end] != '-' || end+1 < len(text) && classes[text[end+1]]&(letter|digit) != 0)
}

// touchesBefore reports whether what begins at a position is a part of something else.
func touchesBefore(text string, start int) bool {
	return start > 0 && classes[text[start-1]]&touching != 0 &&
		(text[start-1] != '-' || start > 1 && classes[text[start-2]]&(letter|digit) != 0)
}

// isFraction reports whether the digits from start to end are a part of a number with a fraction.
func isFraction(text string, start, end int) bool {
	return start > 1 && text[start-1] == '.' && classes[text[start-2]]&digit != 0 ||
		end+1 < len(text) && text[end] == '.' && classes[text[end+1]]&digit != 0
}

// cardAt returns where the card number that begins at a position ends; 0 for none. It is written without spaces, or in
// groups of three digits or more, of which the first has four or six. A number may stand after the last group.
func cardAt(text string, i int) (card int) {
	var number [19]byte
	n, groups := 0, 0
	for at := i; ; at++ { // a group begins
		start := at
		for ; at < len(text) && classes[text[at]]&digit != 0; at++ {
			if n == len(number) {
				return card
			}
			number[n] = text[at] - '0'
			n++
		}
		groups++
		if at-start >= 3 && !touchesAfter(text, at) && !isFraction(text, i, at) && isCard(number[:n], groups > 1) {
			card = at
		}
		isGrouped := at-start >= 3 && (groups > 1 || at-start == 4 || at-start == 6)
		if !isGrouped || at+1 >= len(text) || text[at] != ' ' && text[at] != '-' || classes[text[at+1]]&digit == 0 {
			return card
		}
	}
}

// isCard reports whether digits are those of a card: the prefix and the length of a brand, and the check digit of Luhn.
// Lengths that are rare are those of cards only in groups.
func isCard(number []byte, grouped bool) bool {
	n := len(number)
	if n < 13 || n > 19 {
		return false
	}
	prefix := int(number[0])*1000 + int(number[1])*100 + int(number[2])*10 + int(number[3])
	ofBrand := false
	switch {
	case prefix/1000 == 4: // Visa
		ofBrand = n == 16 || grouped && (n == 13 || n == 19)
	case prefix/100 >= 51 && prefix/100 <= 55, prefix >= 2221 && prefix <= 2720: // Mastercard
		ofBrand = n == 16
	case prefix/100 == 34, prefix/100 == 37: // American Express
		ofBrand = n == 15
	case prefix == 6011, prefix/10 >= 644 && prefix/10 <= 649, prefix/100 == 65, // Discover
		prefix >= 3528 && prefix <= 3589, prefix/100 == 62: // JCB and China Union Pay
		ofBrand = n == 16 || grouped && n > 16
	case prefix/10 >= 300 && prefix/10 <= 305, prefix/100 == 36, prefix/100 == 38, prefix/100 == 39: // Diners Club
		ofBrand = n == 14 && grouped || n == 16
	case prefix/100 == 50, prefix/100 >= 56 && prefix/100 <= 58, prefix/100 == 67: // Maestro
		ofBrand = n == 16 || grouped
	}
	sum := 0
	for k := range n {
		d := int(number[n-1-k])
		if k%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return ofBrand && sum%10 == 0
}

// Bounds of a telephone number with the code of its country; see ITU-T E.164.
const (
	minPhone = 8
	maxPhone = 15
)

// phoneAt returns where the telephone number that begins with + or 00 at a position ends; 0 for none.
func phoneAt(text string, i int) int {
	at, separated := i+1, true
	if text[i] != '+' {
		if at, separated = i+2, false; !strings.HasPrefix(text[i:], "00") {
			return 0
		}
	}
	if at >= len(text) || text[at] < '1' || text[at] > '9' { // no country has a code with 0
		return 0
	}
	digits, end, between := 0, 0, 0
	for ; at < len(text) && digits <= maxPhone && between <= 3; at++ {
		c := text[at]
		if classes[c]&digit != 0 {
			separated = separated || between > 0
			digits, end, between = digits+1, at+1, 0
			continue
		}
		if between++; classes[c]&ofDialling == 0 {
			break
		}
	}
	if digits < minPhone || digits > maxPhone || !separated || touchesAfter(text, end) || isTime(text[i:end]) {
		return 0
	}
	return end
}

// isTime reports whether what looks like a telephone number is a date or the zone of a time before its year.
func isTime(text string) bool {
	if text[0] == '+' {
		return len(text) == len("+0000 0000") && text[5] == ' '
	}
	return len(text) >= len("0000-00-00") && text[4] == '-' && text[7] == '-' &&
		(len(text) == len("0000-00-00") || classes[text[10]]&digit == 0)
}
