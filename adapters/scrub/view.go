package scrub

import (
	"bytes"
	"html"
	"sort"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// part is a half-open interval of bytes.
type part struct{ from, to int }

// view is a text as another program reads it, and where its parts are in the text that is sent.
type view struct {
	text  []byte
	spans []span // by place; nil if each byte is one of the original
	again bool   // it may have escapes that the original has not
}

// span is a part of a view. Its bytes are those of the original from at on or, if whole is set, what stands for
// the escape there; the next span begins after it.
type span struct {
	place, at int
	whole     bool
}

// original returns the part of the original that a part of the view, which is not empty, was read from. It has whole
// escapes.
func (v *view) original(p part) part {
	if v.spans == nil {
		return p
	}
	spanOf := func(place int) int {
		return sort.Search(len(v.spans), func(i int) bool { return v.spans[i].place > place }) - 1
	}
	first, last := spanOf(p.from), spanOf(p.to-1)
	from := v.spans[first].at
	if !v.spans[first].whole {
		from += p.from - v.spans[first].place
	}
	if v.spans[last].whole {
		return part{from, v.spans[last+1].at}
	}
	return part{from, v.spans[last].at + p.to - v.spans[last].place}
}

// escapes are kinds of escapes.
type escapes struct {
	bytes         []byte // with which they begin
	starts        [256]bool
	withoutBreaks bool // breaks of lines are left out, with the indentation after them, also if they are escaped
}

func newEscapes(bytes string, withoutBreaks bool) *escapes {
	e := &escapes{bytes: []byte(bytes), withoutBreaks: withoutBreaks}
	for _, c := range e.bytes {
		e.starts[c] = true
	}
	return e
}

var (
	ofJSON      = newEscapes(`\`, false)
	ofAll       = newEscapes(`\%&`, false)
	ofAllBreaks = newEscapes("\\%&\n\r", true)
	ofBreaks    = newEscapes("\n\r", true)
)

// starts finds the bytes with which escapes begin.
type starts struct {
	text []byte
	is   *[256]bool
	// What is rare is found faster by looking for each byte on its own. A byte is searched once, up to its next place.
	bytes []byte
	next  []int // by byte: the next place, which may have been passed
}

func newStarts(text []byte, e *escapes) *starts {
	s := &starts{text: text, is: &e.starts}
	for _, c := range e.bytes {
		if i := bytes.IndexByte(text, c); i >= 0 {
			s.bytes, s.next = append(s.bytes, c), append(s.next, i)
		}
	}
	return s
}

// maxNear is the number of bytes that are looked at one by one, which is faster where there are many escapes.
const maxNear = 24

// after returns the first place at or after a place; the end of the text for none.
func (s *starts) after(at int) int {
	if len(s.bytes) == 0 {
		return len(s.text)
	}
	for i, c := range s.text[at:min(at+maxNear, len(s.text))] {
		if s.is[c] {
			return at + i
		}
	}
	at = min(at+maxNear, len(s.text))
	first := len(s.text)
	for i, next := range s.next {
		if next < at {
			if next = bytes.IndexByte(s.text[at:], s.bytes[i]); next < 0 {
				next = len(s.text)
			} else {
				next += at
			}
			s.next[i] = next
		}
		first = min(first, next)
	}
	return first
}

// unescape returns the view of a text in which each escape of some kinds is what it stands for, with its spans if
// mapped is set. It has no text if there is no escape. It writes to buffer if that is large enough.
func unescape(text []byte, of *escapes, buffer []byte, mapped bool) (v view) {
	s := newStarts(text, of)
	done := 0            // bytes of the text that the view has
	failed := -maxEntity // the last byte with which an escape could have begun
	var char [utf8.UTFMax]byte
	for at := s.after(0); at < len(text); at = s.after(at) {
		read, size := readEscape(char[:0], text[at:], of.withoutBreaks)
		if size == 0 {
			c := text[at]
			for at++; at+1 < len(text) && text[at] == c && text[at+1] == c; at++ { // only its end may begin one
			}
			failed = at
			continue
		}
		if v.text == nil {
			if v.text = buffer[:0]; cap(buffer) < len(text) {
				v.text = make([]byte, 0, len(text))
			}
		}
		if mapped {
			v.spans = append(v.spans, span{place: len(v.text), at: done})
		}
		v.text = append(v.text, text[done:at]...)
		v.again = v.again || at-failed < maxEntity || len(read) > 0 && ofAll.starts[read[0]]
		if len(read) > 0 {
			if mapped {
				v.spans = append(v.spans, span{len(v.text), at, true})
			}
			v.text = append(v.text, read...)
		}
		at += size
		done = at
	}
	if v.text == nil {
		return v
	}
	if mapped {
		v.spans = append(v.spans, span{place: len(v.text), at: done})
	}
	v.text = append(v.text, text[done:]...)
	return v
}

// readEscape appends what the escape at the beginning of a text stands for, and returns its size; 0 for none. A break
// of a line stands for nothing if breaks are left out, also one that is escaped.
func readEscape(dst, text []byte, withoutBreaks bool) (read []byte, size int) {
	switch text[0] {
	case '%':
		read, size = readPercent(dst, text)
	case '\\':
		read, size = readBackslash(dst, text)
	case '&':
		read, size = readEntity(dst, text)
	default:
		read, size = text[:1], 1
	}
	if !withoutBreaks || len(read) != 1 || read[0] != '\n' && read[0] != '\r' {
		return read, size
	}
	for rest := text[size:]; len(rest) > 0; rest = text[size:] { // an indentation, and further breaks
		if c := rest[0]; c == ' ' || c == '\t' || c == '\n' || c == '\r' {
			size++
		} else if c == '\\' && len(rest) > 1 && (rest[1] == 'n' || rest[1] == 'r') {
			size += 2
		} else {
			break
		}
	}
	return nil, size
}

// hexDigits returns the number that the first n bytes of a text are in hexadecimal; ok is false for other bytes.
func hexDigits(text []byte, n int) (number rune, ok bool) {
	if len(text) < n {
		return 0, false
	}
	for _, c := range text[:n] {
		d := nibbles[c]
		if d < 0 {
			return 0, false
		}
		number = number<<4 | rune(d)
	}
	return number, true
}

// nibbles are the values of hexadecimal digits; -1 for other bytes.
var nibbles = func() (all [256]int8) {
	for i := range all {
		all[i] = -1
	}
	for i, c := range "0123456789" {
		all[c] = int8(i)
	}
	for i, c := range "abcdef" {
		all[c], all[c-'a'+'A'] = int8(10+i), int8(10+i)
	}
	return all
}()

// readPercent reads %41, and %u0041 as readUnicode does.
func readPercent(dst, text []byte) (read []byte, size int) {
	if c, ok := hexDigits(text[1:], 2); ok {
		return append(dst, byte(c)), 3
	}
	if len(text) > 1 && text[1] == 'u' {
		return readUnicode(dst, text)
	}
	return dst, 0
}

// readBackslash reads the escapes of JSON and of programming languages.
func readBackslash(dst, text []byte) (read []byte, size int) {
	if len(text) < 2 {
		return dst, 0
	}
	switch c := text[1]; c {
	case 'b', 'f', 'n', 'r', 't', 'a', 'v', 'e':
		return append(dst, controls[c]), 2
	case 'x':
		if r, ok := hexDigits(text[2:], 2); ok {
			return append(dst, byte(r)), 4
		}
		return readBraces(dst, text)
	case 'u':
		return readUnicode(dst, text)
	case 'U':
		if r, ok := hexDigits(text[2:], 8); ok {
			return utf8.AppendRune(dst, r), 10
		}
	case '0', '1', '2', '3':
		if len(text) > 3 && isOctal(text[2]) && isOctal(text[3]) {
			return append(dst, (c-'0')<<6|(text[2]-'0')<<3|(text[3]-'0')), 4
		}
	default:
		if isPunctuation(c) || c == '\n' || c == '\r' {
			return append(dst, c), 2
		}
	}
	return dst, 0
}

// isPunctuation reports whether a backslash before a byte may make it literal, as in Markdown, in patterns and in words
// of a shell.
func isPunctuation(c byte) bool {
	return c >= ' ' && c < utf8.RuneSelf-1 && (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9')
}

var controls = map[byte]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'a': '\a', 'v': '\v', 'e': '\x1b'}

func isOctal(c byte) bool { return c >= '0' && c <= '7' }

// readBraces reads the code point of \u{41} and \x{41}.
func readBraces(dst, text []byte) (read []byte, size int) {
	if end := bytes.IndexByte(text[:min(len(text), 12)], '}'); len(text) > 2 && text[2] == '{' && end > 3 {
		if r, ok := hexDigits(text[3:], end-3); ok {
			return utf8.AppendRune(dst, r), end + 1
		}
	}
	return dst, 0
}

// readUnicode reads \u0041, a pair of surrogates, and \u{41}.
func readUnicode(dst, text []byte) (read []byte, size int) {
	r, ok := hexDigits(text[2:], 4)
	if !ok {
		return readBraces(dst, text)
	}
	if utf16.IsSurrogate(r) && len(text) > 7 && text[6] == text[0] && text[7] == 'u' {
		if low, ok := hexDigits(text[8:], 4); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return utf8.AppendRune(dst, pair), 12
			}
		}
	}
	return utf8.AppendRune(dst, r), 6
}

// maxEntity is the length of the longest reference of HTML.
const maxEntity = 34

// readEntity reads &#65;, &#x41; and &amp;. A number may have no semicolon after it.
func readEntity(dst, text []byte) (read []byte, size int) {
	if len(text) > 1 && text[1] == '#' {
		return readNumber(dst, text)
	}
	end := bytes.IndexByte(text[:min(len(text), maxEntity)], ';')
	if end < 2 {
		return dst, 0
	}
	name := text[1:end]
	switch string(name) {
	case "amp":
		return append(dst, '&'), end + 1
	case "lt":
		return append(dst, '<'), end + 1
	case "gt":
		return append(dst, '>'), end + 1
	case "quot":
		return append(dst, '"'), end + 1
	case "apos":
		return append(dst, '\''), end + 1
	}
	for _, c := range name {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') {
			return dst, 0
		}
	}
	reference := string(text[:end+1])
	if read := html.UnescapeString(reference); read != reference && read[len(read)-1] != ';' {
		return append(dst, read...), end + 1
	}
	return dst, 0
}

// maxZeros is how many zeros may precede the number of a reference, which is then no longer than maxEntity.
const maxZeros = 20

func readNumber(dst, text []byte) (read []byte, size int) {
	from, base := 2, 10
	if len(text) > 2 && text[2]|0x20 == 'x' {
		from, base = 3, 16
	}
	for end := min(len(text), from+maxZeros); from < end && text[from] == '0'; {
		from++
	}
	to := from
	for to < min(len(text), from+8) && nibbles[text[to]] >= 0 && int(nibbles[text[to]]) < base {
		to++
	}
	r, err := strconv.ParseUint(string(text[from:to]), base, 31)
	if err != nil {
		return dst, 0
	}
	if to < len(text) && text[to] == ';' {
		to++
	}
	return utf8.AppendRune(dst, rune(r)), to
}
