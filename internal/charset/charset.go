// Package charset decodes texts in the encodings of the web and of the IANA registry. It says where a text is not in
// its encoding, and removes byte order marks.
package charset

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// Encoding is how a text is written in bytes. Nil stands for UTF-8.
type Encoding struct {
	name string
	enc  encoding.Encoding
	// replacement is how a text in the encoding has U+FFFD; nil if it cannot have it.
	replacement []byte
}

// Names are the names of encodings that are shown and suggested. Find knows their other names, too.
var Names = []string{
	"utf-8", "utf-16le", "utf-16be", "utf-16", "utf-32le", "utf-32be", "utf-32",
	"windows-1250", "windows-1251", "windows-1252", "windows-1253", "windows-1254", "windows-1255", "windows-1256",
	"windows-1257", "windows-1258", "windows-874", "iso-8859-1", "iso-8859-2", "iso-8859-3", "iso-8859-4", "iso-8859-5",
	"iso-8859-6", "iso-8859-7", "iso-8859-8", "iso-8859-8-i", "iso-8859-9", "iso-8859-10", "iso-8859-13", "iso-8859-14",
	"iso-8859-15", "iso-8859-16", "koi8-r", "koi8-u", "macintosh", "x-mac-cyrillic", "ibm437", "ibm850", "ibm852",
	"ibm855", "ibm00858", "ibm860", "ibm862", "ibm863", "ibm865", "ibm866", "ibm037", "ibm1047", "gbk", "gb18030",
	"hz-gb-2312", "big5", "euc-jp", "iso-2022-jp", "shift_jis", "euc-kr", "latin1", "us-ascii",
}

var (
	utf16LE = find("utf-16le")
	utf16BE = find("utf-16be")
	utf32LE = find("utf-32le")
	utf32BE = find("utf-32be")
)

// Find returns the encoding of a name of the WHATWG Encoding Standard or of the IANA registry, in any case. As that
// standard defines, "iso-8859-1" and "us-ascii" are windows-1252, and "utf-16" is utf-16le unless a byte order mark
// says otherwise. It returns nil for UTF-8.
func Find(name string) (e *Encoding, known bool) {
	name = strings.ToLower(strings.TrimSpace(name))
	name = cmp.Or(otherNames[name], name)
	if enc, err := htmlindex.Get(name); err == nil && enc == unicode.UTF8 {
		return nil, true
	}
	e = find(name)
	return e, e != nil
}

// otherNames are names of encodings that neither registry has: of Windows, Python, Java and MySQL.
var otherNames = map[string]string{
	"cp932": "windows-31j", "cp936": "gbk", "cp949": "euc-kr", "cp950": "big5", "cp65001": "utf-8",
	"latin-1": "iso-8859-1", "utf_8": "utf-8", "utf-8-sig": "utf-8", "utf8mb4": "utf-8",
}

func find(name string) *Encoding {
	var enc encoding.Encoding
	switch name {
	case "utf-32le", "utf-32", "utf32":
		enc = utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)
	case "utf-32be":
		enc = utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)
	case "hz-gb-2312": // the standard replaces a text in it
		enc, _ = ianaindex.IANA.Encoding(name)
	default:
		var err error
		if enc, err = htmlindex.Get(name); err != nil {
			enc, _ = ianaindex.IANA.Encoding(name)
		}
	}
	if enc == nil || enc == encoding.Replacement {
		return nil
	}
	e := &Encoding{name: name, enc: enc}
	if encoded, err := enc.NewEncoder().Bytes([]byte("\uFFFD")); err == nil {
		if decoded, err := enc.NewDecoder().Bytes(encoded); err == nil && string(decoded) == "\uFFFD" {
			e.replacement = encoded
		}
	}
	return e
}

// String returns the name of the encoding.
func (e *Encoding) String() string {
	if e == nil {
		return "UTF-8"
	}
	return e.name
}

// unit returns the size of the units of which each text in the encoding consists.
func (e *Encoding) unit() int {
	switch {
	case e == nil:
		return 1
	case strings.HasPrefix(e.name, "utf-16"):
		return 2
	case strings.HasPrefix(e.name, "utf-32"), e.name == "utf32":
		return 4
	}
	return 1
}

// joinsBytes reports whether characters of the encoding may have several bytes, of which the second one may also be a
// character.
func (e *Encoding) joinsBytes() bool {
	if e == nil || e.unit() > 1 {
		return false
	}
	_, oneByte := e.enc.(*charmap.Charmap)
	return !oneByte
}

// marks are the byte order marks; that of UTF-16 begins one of UTF-32.
var marks = []struct {
	bytes string
	of    *Encoding
}{
	{"\xef\xbb\xbf", nil}, {"\xff\xfe\x00\x00", utf32LE}, {"\x00\x00\xfe\xff", utf32BE}, {"\xff\xfe", utf16LE},
	{"\xfe\xff", utf16BE},
}

// Detect returns the encoding that the byte order mark of a text names, and the size of the mark. Without a mark it is
// the declared one.
func Detect(text []byte, declared *Encoding) (e *Encoding, size int) {
	for _, mark := range marks {
		if bytes.HasPrefix(text, []byte(mark.bytes)) {
			return mark.of, len(mark.bytes)
		}
	}
	return declared, 0
}

// Error is a place where a text is not in its encoding.
type Error struct {
	Encoding *Encoding
	Bytes    []byte // that do not belong there
	Offset   int64  // of the first of them, counted from 0
	Line     int    // in which they are, counted from 1; 0 if it is not known
	Marked   bool   // a byte order mark names the encoding
}

func (e *Error) Error() string {
	text := fmt.Sprintf("not %s: %s at byte %d", e.Encoding, Hex(e.Bytes), e.Offset+1)
	if e.Line > 0 {
		text += fmt.Sprintf(", in line %d", e.Line)
	}
	return text
}

// Hex returns bytes as they are shown.
func Hex(b []byte) string {
	shown := make([]string, len(b))
	for i, c := range b {
		shown[i] = fmt.Sprintf("0x%02X", c)
	}
	return strings.Join(shown, " ")
}

// Decode returns a text without its byte order mark, as UTF-8. Its byte order mark precedes the declared encoding. The
// error is an *Error.
func Decode(raw []byte, declared *Encoding) (string, error) {
	text, faults := decodeAll(raw, declared)
	if len(faults) > 0 {
		return "", faults[0].Err
	}
	return text, nil
}

// Encode returns a text in an encoding, and whether the encoding has all of its characters.
func Encode(text string, e *Encoding) (raw []byte, ok bool) {
	if e == nil {
		return []byte(text), true
	}
	raw, err := e.enc.NewEncoder().Bytes([]byte(text))
	if err != nil {
		return nil, false
	}
	decoded, err := Decode(raw, e)
	return raw, err == nil && decoded == text
}

// Show returns a text as Decode does, but with each byte that is not in the encoding as <0xFF>, and the first such
// place, or nil.
func Show(raw []byte, declared *Encoding) (text string, bad *Error) {
	if _, size := Detect(raw, declared); declared == nil && size == 0 && utf8.Valid(raw) {
		return string(raw), nil
	}
	return show(decodeAll(raw, declared))
}

// maxCharacter is the maximum size of a character in any encoding.
const maxCharacter = 4

// ShowHead returns the beginning of a text as Show does, without a part of a character at its end, and how many bytes
// of it that is.
func ShowHead(raw []byte, declared *Encoding) (text string, size int, bad *Error) {
	decoded, faults := decodeAll(raw, declared)
	size = len(raw)
	for i, f := range faults {
		atEnd := f.Err.Encoding.joinsBytes() || strings.Trim(decoded[f.At:], "\uFFFD") == ""
		if at := int(f.Err.Offset); atEnd && at > len(raw)-maxCharacter {
			decoded, faults, size = decoded[:f.At], faults[:i], at
			break
		}
	}
	text, bad = show(decoded, faults)
	return text, size, bad
}

// ShowTail returns the end of a text as Show does, without a part of a character at its beginning, and how many bytes
// of it that is. The encoding is that of the whole text, in which the end is at an offset.
func ShowTail(raw []byte, e *Encoding, offset int64) (text string, size int, bad *Error) {
	skipped := min(len(raw), int((int64(e.unit())-offset%int64(e.unit()))%int64(e.unit())))
	if e.joinsBytes() { // a byte may be the second one of a character
		skipped = bytes.IndexByte(raw, '\n') + 1
	}
	base := offset + int64(skipped)
	decoded, faults := newPartReader(raw[skipped:], e).readAll()
	for len(faults) > 0 && faults[0].At == 0 && int(faults[0].Err.Offset) < maxCharacter-1 {
		n, cut := len(faults[0].Err.Bytes), len("\uFFFD")
		skipped, decoded, faults = skipped+n, decoded[cut:], faults[1:]
		for i := range faults {
			faults[i].At -= cut
		}
	}
	for _, f := range faults {
		f.Err.Offset, f.Err.Line = f.Err.Offset+base, 0
	}
	text, bad = show(decoded, faults)
	return text, len(raw) - skipped, bad
}

// show returns a decoded text with the bytes of its faults.
func show(text string, faults []Fault) (string, *Error) {
	if len(faults) == 0 {
		return text, nil
	}
	var shown strings.Builder
	done := 0
	for _, f := range faults {
		shown.WriteString(text[done:f.At])
		shown.WriteString("<" + Hex(f.Err.Bytes) + ">")
		done = f.At + len("\uFFFD")
	}
	shown.WriteString(text[done:])
	return shown.String(), faults[0].Err
}

func decodeAll(raw []byte, declared *Encoding) (string, []Fault) {
	return NewReader(bytes.NewReader(raw), declared).readAll()
}

// Advice returns what the tool must do whose text is not in its encoding.
func Advice(raw []byte, bad *Error) string {
	switch {
	case bad.Marked:
		return `use as = "bytes", because the byte order mark of the text names the encoding`
	case bad.Encoding != nil:
		return fmt.Sprintf(`name another encoding than %q, or use as = "bytes"`, bad.Encoding)
	}
	return fmt.Sprintf(`name the encoding, such as encoding = %q, or use as = "bytes"`, Guess(raw))
}

// GuessUTF16 returns the name of the form of UTF-16 that a text is most likely in which was decoded as UTF-8, as it may
// be without a byte order mark; empty for none.
func GuessUTF16(text string) string {
	if strings.IndexByte(text, 0) >= 0 {
		if name := Guess([]byte(text)); strings.HasPrefix(name, "utf-16") {
			return name
		}
	}
	return ""
}

// UTF16Advice returns what the tool must do whose text GuessUTF16 has taken for UTF-16.
func UTF16Advice(name string) string {
	return fmt.Sprintf(`name the encoding: encoding = %q, or encoding = "utf-8" for a text with NUL characters`, name)
}

// Guess returns the name of the encoding that a text which is not UTF-8 is most likely in.
func Guess(raw []byte) string {
	even, odd := 0, 0 // bytes that are zero, as every second one of a Latin text in UTF-16
	for i, c := range raw {
		switch {
		case c == 0 && i%2 == 0:
			even++
		case c == 0:
			odd++
		}
	}
	switch {
	case odd > len(raw)/4 && 4*even < odd:
		return "utf-16le"
	case even > len(raw)/4 && 4*odd < even:
		return "utf-16be"
	}
	return "windows-1252"
}
