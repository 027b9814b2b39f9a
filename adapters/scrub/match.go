package scrub

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"
	"net/url"
	"slices"
	"strings"
	"sync"

	"hatchel/adapters"
	"hatchel/hcl/jsonscan"
)

// needle is one spelling of a secret.
type needle struct {
	text   string
	folded bool // the case of letters makes no difference
	// breaks is set if there may be a break of a line at any place: in encodings, in secrets with breaks, and in
	// what is so long that it does not occur by chance.
	breaks bool
}

// minBroken is the length of a text that does not occur by chance across a break of a line.
const minBroken = 16

// minTwice is the length of base64 from which it is known in base64.
const minTwice = 6

// maxTwice is the length of a secret up to which base64 of its base64 is known.
const maxTwice = 1 << 10

// needlesOf returns the spellings of a secret that are no escapes of single characters, which views do not have: as it
// is, in a form of HTML, in hexadecimal, in base64, and in base64 of base64. In an encoding, the secret may be written
// as in JSON or in a URL.
func needlesOf(secret string) (all []needle) {
	add := func(text string, folded, breaks bool) {
		if !slices.ContainsFunc(all, func(n needle) bool { return n.text == text && n.folded == folded }) {
			all = append(all, needle{text, folded, breaks || len(text) >= minBroken})
		}
	}
	add(secret, false, false)
	// A view has the indentation after a break of a line if it is escaped.
	for _, joined := range []string{withoutBreaks(secret), breaks.Replace(secret)} {
		if joined != secret && len(joined) >= adapters.MinSecretLength {
			add(joined, false, true)
		}
		if strings.Contains(joined, " ") {
			add(strings.ReplaceAll(joined, " ", "+"), false, joined != secret)
		}
	}
	for v := (view{text: []byte(secret)}); len(all) < 8; { // a view may read a part of the secret as an escape
		if v = unescape(v.text, ofAllBreaks, nil, false); len(v.text) < adapters.MinSecretLength {
			break
		}
		add(string(v.text), false, true)
	}
	for _, quoted := range []*strings.Replacer{quotedInCSV, quotedInSQL, quotedInShell} {
		add(quoted.Replace(secret), false, false)
	}
	for _, line := range linesOf(secret) {
		add(line, false, true)
	}
	for _, separator := range []string{" ", ":"} {
		add(strings.ReplaceAll(fmt.Sprintf("% x", secret), " ", separator), true, true)
	}
	inJSON := string(jsonscan.AppendStringContent(nil, secret))
	inners := []string{secret, inJSON, strings.ReplaceAll(inJSON, "/", `\/`), forHTML.Replace(inJSON),
		url.QueryEscape(secret), url.PathEscape(secret)}
	slices.Sort(inners)
	for _, inner := range slices.Compact(inners) {
		add(hex.EncodeToString([]byte(inner)), true, true)
		for _, code := range base64Codes(inner) {
			add(code, false, true)
			if len(secret) > maxTwice || len(code) < minTwice {
				continue
			}
			for _, twice := range base64Codes(code) {
				add(twice, false, true)
			}
		}
	}
	return all
}

// A quote within quotes is written so. In a shell, a backslash precedes the second one, which a view does not have.
var (
	quotedInCSV   = strings.NewReplacer(`"`, `""`)
	quotedInSQL   = strings.NewReplacer("'", "''")
	quotedInShell = strings.NewReplacer("'", "'''")
)

// forHTML escapes what encoders of JSON escape that expect it within HTML.
var forHTML = strings.NewReplacer("&", `\u0026`, "<", `\u003c`, ">", `\u003e`)

// base64Codes returns a text as it occurs within base64, as in the header of basic authentication: one code for each
// alignment and alphabet, without the characters at both ends that encode adjacent bytes, too.
func base64Codes(text string) (codes []string) {
	for before := range 3 {
		padded := append(make([]byte, before), text...)
		from, to := (8*before+5)/6, len(padded)*8/6
		for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			codes = append(codes, alphabet.EncodeToString(padded)[from:to])
		}
	}
	return slices.Compact(codes)
}

// linesOf returns the lines of a secret that are as long as no text is by chance, as those of a private key: a program
// may answer each of them on its own. A secret that is JSON may have them in a string.
func linesOf(secret string) (lines []string) {
	text := []byte(secret)
	if read := unescape(text, ofAll, nil, false).text; read != nil {
		text = read
	}
	if !bytes.ContainsAny(text, "\r\n") {
		return nil
	}
	for _, line := range strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' || r == '\r' }) {
		line = strings.Trim(line, " \t")
		if len(line) >= minBroken && !strings.ContainsAny(line, " \t\",") && !strings.HasPrefix(line, "-----") {
			lines = append(lines, line)
		}
	}
	return lines
}

var breaks = strings.NewReplacer("\r", "", "\n", "")

// withoutBreaks returns a text as a view without breaks of lines has it.
func withoutBreaks(text string) string {
	if !strings.ContainsAny(text, "\r\n") {
		return text
	}
	return string(unescape([]byte(text), ofBreaks, nil, false).text)
}

// matcher finds needles that have at least some length, by grams: every needle that occurs has one of its first grams
// at a place that is a multiple of the stride, so that no other place is looked at. A place with a gram of a needle is
// a candidate, whose first bytes are looked up.
type matcher struct {
	shortest int // the length of the shortest needle, or maxShortest
	gram     int // bytes of a gram: 3 or 4
	stride   int

	filter []uint64          // a bit for the hash of each gram
	shift  int               // of the hash
	places map[uint32]uint32 // by gram: a bit for each place in a needle where it begins
	// by the first bytes of a needle, in lower case; the longest first
	needles map[string][]needle
}

const (
	minLong     = 8  // the length of needles from which they are looked for with a larger stride
	maxShortest = 32 // of a matcher
)

// newMatchers returns the matchers of needles: one for short needles, which have a small stride, and one for others.
func newMatchers(all []needle) (matchers []*matcher) {
	isShort := func(n needle) bool { return len(n.text) < minLong }
	for _, group := range [][]needle{
		slices.DeleteFunc(slices.Clone(all), func(n needle) bool { return !isShort(n) }),
		slices.DeleteFunc(slices.Clone(all), isShort),
	} {
		if len(group) > 0 {
			matchers = append(matchers, newMatcher(group))
		}
	}
	return matchers
}

func newMatcher(all []needle) *matcher {
	m := &matcher{shortest: maxShortest, gram: 4}
	for _, n := range all {
		m.shortest = min(m.shortest, len(n.text))
	}
	if m.shortest < minLong {
		m.gram = 3
	}
	m.stride = m.shortest - m.gram + 1
	m.places = make(map[uint32]uint32, m.stride*len(all))
	m.needles = make(map[string][]needle, len(all))
	for _, n := range all {
		first := string(appendFolded(nil, []byte(n.text[:m.shortest])))
		m.needles[first] = append(m.needles[first], n)
		for at := range m.stride {
			m.places[m.gramAt([]byte(first), at)] |= 1 << at
		}
	}
	for _, list := range m.needles {
		slices.SortFunc(list, func(a, b needle) int {
			return cmp.Or(len(b.text)-len(a.text), strings.Compare(a.text, b.text))
		})
	}
	size := max(bits.Len(uint(32*len(m.places))), 6)
	m.filter, m.shift = make([]uint64, 1<<(size-6)), 32-size
	for g := range m.places {
		h := m.hash(g)
		m.filter[h>>6] |= 1 << (h & 63)
	}
	return m
}

// fold is a gram in lower case; other characters are mapped, too, each of them to one.
const fold = 0x20202020

// gramAt returns the gram at a place of a text, folded.
func (m *matcher) gramAt(text []byte, at int) uint32 {
	var g uint32
	for i, c := range text[at : at+m.gram] {
		g |= uint32(c) << (8 * i)
	}
	return g | fold>>(8*(4-m.gram))
}

func (m *matcher) hash(gram uint32) uint32 { return gram * 0x9E3779B1 >> m.shift }

// appendFolded appends a text as grams have it.
func appendFolded(dst, text []byte) []byte {
	for _, c := range text {
		dst = append(dst, c|0x20)
	}
	return dst
}

// find calls found for each place where needles begin, the longest first, until it returns false. It may call it more
// than once for a place.
func (m *matcher) find(text []byte, found func(at int, list []needle) bool) {
	mask := uint32(1)<<(8*m.gram-1)<<1 - 1
	folds, filter, shift := uint32(fold)&mask, m.filter, m.shift&31
	last := len(text) - 4 // where four bytes can be read
	var buffer [maxShortest]byte
	for at := 0; at <= len(text)-m.gram; at += m.stride {
		var g uint32
		if at <= last {
			g = binary.LittleEndian.Uint32(text[at:])&mask | folds
		} else {
			g = m.gramAt(text, at)
		}
		h := g * 0x9E3779B1 >> shift
		if filter[h>>6&uint32(len(filter)-1)]&(1<<(h&63)) == 0 {
			continue
		}
		for places := m.places[g]; places != 0; places &= places - 1 {
			from := at - bits.TrailingZeros32(places)
			if from < 0 || from+m.shortest > len(text) {
				continue
			}
			list := m.needles[string(appendFolded(buffer[:0], text[from:from+m.shortest]))]
			if list != nil && !found(from, list) {
				return
			}
		}
	}
}

// isAt reports whether the needle is at the beginning of a text.
func (n *needle) isAt(text []byte) bool {
	if len(text) < len(n.text) {
		return false
	}
	text = text[:len(n.text)]
	return string(text) == n.text || n.folded && bytes.EqualFold(text, []byte(n.text))
}

// maxRounds is how often escapes are read again that have been escaped more than once.
const maxRounds = 3

// finds reports whether a text, or one of the strings of JSON, may have a secret in any spelling: it does not look at
// breaks of lines.
func (s *Scrubber) finds(text []byte, inJSON bool) (found bool) {
	buffers := buffersOf.Get().(*[2][]byte)
	defer buffersOf.Put(buffers)
	used := 0
	unescapeText := func(of *escapes) (read, again bool) {
		buffer := &buffers[used] // the other one has the text
		next := unescape(text, of, *buffer, false)
		if next.text == nil {
			return false, false
		}
		used = 1 - used
		if text = next.text; cap(text) <= maxBuffer {
			*buffer = text
		}
		return true, next.again
	}
	if inJSON {
		unescapeText(ofJSON)
	}
	read, again := true, true // escapes may be left
	for round := 0; read; round++ {
		s.search(text, func(part, *needle) bool { found = true; return false })
		if found || round == maxRounds || !again {
			break
		}
		read, again = unescapeText(ofAllBreaks)
	}
	return found
}

// buffersOf has the memory of views.
var buffersOf = sync.Pool{New: func() any { return new([2][]byte) }}

// maxBuffer is the size of the largest buffer that is kept.
const maxBuffer = 4 << 20

// find returns where secrets are in a text, in any spelling: the parts are sorted and do not overlap.
func (s *Scrubber) find(text []byte) (parts []part) {
	if !s.finds(text, false) {
		return nil
	}
	views := make([]view, 1, maxRounds+1)
	views[0].text = text
	for round := 0; ; round++ {
		s.search(views[round].text, func(p part, n *needle) bool {
			for i := round; i > 0; i-- {
				p = views[i].original(p)
			}
			if n.breaks || string(read(text[p.from:p.to], round)) == n.text {
				parts = append(parts, p)
			}
			return true
		})
		if round == maxRounds {
			break
		}
		next := unescape(views[round].text, ofAllBreaks, nil, true)
		if next.text == nil {
			break
		}
		views = append(views, next)
	}
	return mergeParts(parts)
}

// read returns a text as it is after some rounds, with its breaks.
func read(text []byte, rounds int) []byte {
	for ; rounds > 0; rounds-- {
		next := unescape(text, ofAll, nil, false)
		if next.text == nil {
			break
		}
		text = next.text
	}
	return text
}

// search calls found with each needle in a text, until it returns false.
func (s *Scrubber) search(text []byte, found func(part, *needle) bool) {
	for _, m := range s.matchers {
		goesOn := true
		m.find(text, func(at int, list []needle) bool {
			for i := range list {
				if n := &list[i]; n.isAt(text[at:]) {
					goesOn = found(part{at, at + len(n.text)}, n)
					if n.breaks || !goesOn {
						break
					}
				}
			}
			return goesOn
		})
		if !goesOn {
			return
		}
	}
}

// mergeParts sorts parts and joins those that overlap.
func mergeParts(parts []part) []part {
	slices.SortFunc(parts, func(a, b part) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	merged := parts[:0]
	for _, p := range parts {
		if last := len(merged) - 1; last >= 0 && p.from < merged[last].to {
			merged[last].to = max(merged[last].to, p.to)
		} else {
			merged = append(merged, p)
		}
	}
	return merged
}
