package jsonscan

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"

	"hatchel/internal/cut"
)

// Masks of words of eight bytes, which are searched at once. The high bit of each byte that is found is set. Borrows
// can only set bits above a correct one, so the lowest is correct.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks the bytes of a word that are a quote, a backslash, below a space, or not ASCII.
func special(w uint64) uint64 {
	quote := w ^ (ones * '"')
	return (w | (quote-ones)&^quote | backslash(w) | (w-ones*' ')&^w) & highs
}

// backslash marks the bytes of a word that are a backslash.
func backslash(w uint64) uint64 {
	slash := w ^ (ones * '\\')
	return (slash - ones) &^ slash & highs
}

// skipPlain returns the first index from i on whose byte is not plain ASCII text of a string.
func skipPlain(d []byte, i int) int {
	for ; i+8 <= len(d); i += 8 {
		if found := special(binary.LittleEndian.Uint64(d[i:])); found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(d); i++ {
		if c := d[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			break
		}
	}
	return i
}

// skipUnescaped returns the first index from i on that has a backslash, or the length of d. A text with escapes often
// has little between them, which is searched by words.
func skipUnescaped(d []byte, i int) int {
	for range 2 {
		if i+8 > len(d) {
			break
		}
		if found := backslash(binary.LittleEndian.Uint64(d[i:])); found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
		i += 8
	}
	if n := bytes.IndexByte(d[i:], '\\'); n >= 0 {
		return i + n
	}
	return len(d)
}

// escapeLen returns the length of the escape sequence that d begins with, or 0 if it is invalid. A
// surrogate pair counts as one sequence; a lone surrogate is one that only a lossy Scanner accepts.
func escapeLen(d []byte) int {
	if len(d) < 2 {
		return 0
	}
	switch d[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		_, n := unicodeEscape(d)
		return n
	}
	return 0
}

// unicodeEscape returns the character that a \u sequence stands for, and its length, as escapeLen does. A lone
// surrogate stands for itself.
func unicodeEscape(d []byte) (r rune, length int) {
	r, ok := parseHex4(d[2:])
	switch {
	case !ok:
		return 0, 0
	case !utf16.IsSurrogate(r) || len(d) < 8 || d[6] != '\\' || d[7] != 'u':
		return r, 6
	}
	low, ok := parseHex4(d[8:])
	if pair := utf16.DecodeRune(r, low); ok && pair != utf8.RuneError {
		return pair, 12
	}
	return r, 6
}

// isLoneSurrogate reports whether an escape sequence of a known length is one half of a pair.
func isLoneSurrogate(d []byte, length int) bool {
	return length == 6 && (d[2] == 'd' || d[2] == 'D') && d[3] >= '8'
}

// replacement is the escape sequence of U+FFFD. It has the length of that of a lone surrogate.
const replacement = `\ufffd`

func parseHex4(d []byte) (r rune, ok bool) {
	if len(d) < 4 {
		return 0, false
	}
	r = hexValues[d[0]]<<12 | hexValues[d[1]]<<8 | hexValues[d[2]]<<4 | hexValues[d[3]]
	return r, r >= 0
}

// hexValues are those of the hexadecimal digits; negative for other bytes.
var hexValues = func() (values [256]rune) {
	for i := range values {
		values[i] = -1
	}
	for i, digit := range "0123456789abcdef" {
		values[digit] = rune(i)
		values[unicode.ToUpper(digit)] = rune(i)
	}
	return values
}()

// Unescape appends the decoded content of a string that a Scanner has accepted.
func Unescape(dst, content []byte) []byte {
	dst, _ = unescapePart(dst, content, 0, len(content))
	return dst
}

// unescapePart appends the decoded content from i on, up to the first escape sequence that ends at to or behind it. It
// returns where that is; the length of content if there is none.
func unescapePart(dst, content []byte, i, to int) ([]byte, int) {
	for {
		dst, i = appendUnescaped(dst, content, i)
		if i == len(content) {
			return dst, i
		}
		n := 2
		switch e := content[i+1]; e {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			var r rune
			r, n = unicodeEscape(content[i:])
			dst = utf8.AppendRune(dst, r) // U+FFFD for a lone surrogate
		default:
			dst = append(dst, e)
		}
		if i += n; i >= to {
			return dst, i
		}
	}
}

// appendUnescaped appends what content has from i on up to a backslash, and returns where that is; the length of
// content if there is none. As skipUnescaped, it begins with words.
func appendUnescaped(dst, content []byte, i int) ([]byte, int) {
	for range 2 {
		n := len(dst)
		if i+8 > len(content) || n+8 > cap(dst) {
			break
		}
		w := binary.LittleEndian.Uint64(content[i:])
		binary.LittleEndian.PutUint64(dst[n:n+8], w)
		if found := backslash(w); found != 0 {
			plain := bits.TrailingZeros64(found) / 8
			return dst[:n+plain], i + plain
		}
		dst, i = dst[:n+8], i+8
	}
	end := len(content)
	if n := bytes.IndexByte(content[i:], '\\'); n >= 0 {
		end = i + n
	}
	return append(dst, content[i:end]...), end
}

// Text returns the decoded string that a scanned value is. It reports false for any other value.
func Text(value []byte) (string, bool) {
	text, ok := content(value)
	if bytes.IndexByte(text, '\\') >= 0 {
		return unescaped(text), ok
	}
	return string(text), ok
}

// unescaped is Unescape for a text of its own, whose memory has the length of the text: callers reserve memory by that.
func unescaped(content []byte) string {
	if len(content) > maxDecoded {
		text, _ := unescapedSteps(content, nil)
		return unsafe.String(unsafe.SliceData(text), len(text))
	}
	b := decoded.Get().(*[]byte)
	defer decoded.Put(b)
	*b = Unescape(slices.Grow((*b)[:0], len(content)), content)
	return string(*b)
}

// decoded are buffers for texts whose length is not known before they are decoded, which takes less time than to count
// first.
var decoded = sync.Pool{New: func() any { return new([]byte) }}

const maxDecoded = 256 << 10 // bytes of a text that is decoded into a buffer that is kept

// unescapedSteps is Unescape for a text of its own. It calls step, unless it is nil, before parts of the content.
func unescapedSteps(content []byte, step Step) ([]byte, error) {
	length, n := 0, 0
	for i := 0; i < len(content); length += n {
		if err := step.take(); err != nil {
			return nil, err
		}
		n, i = unescapedLen(content, i, i+stepBytes)
	}
	text := make([]byte, 0, length)
	for i := 0; i < len(content); {
		if err := step.take(); err != nil {
			return nil, err
		}
		text, i = unescapePart(text, content, i, i+stepBytes)
	}
	return text, nil
}

// unescapedLen returns the length of what unescapePart appends, and where that ends.
func unescapedLen(content []byte, i, to int) (length, end int) {
	for i < to {
		escape := skipUnescaped(content, i)
		if length += escape - i; escape == len(content) {
			return length, escape
		}
		n, decoded := 2, 1
		if content[escape+1] == 'u' {
			var r rune
			if r, n = unicodeEscape(content[escape:]); !utf8.ValidRune(r) {
				r = utf8.RuneError
			}
			decoded = utf8.RuneLen(r)
		}
		i, length = escape+n, length+decoded
	}
	return length, i
}

// AppendText appends the decoded string that a scanned value is. It reports false for any other value.
func AppendText(dst, value []byte) ([]byte, bool) {
	text, ok := content(value)
	return Unescape(dst, text), ok
}

// content returns what is between the quotes of a string. It reports false for any other value.
func content(value []byte) ([]byte, bool) {
	if len(value) < 2 || value[0] != '"' {
		return nil, false
	}
	return value[1 : len(value)-1], true
}

// AppendString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func AppendString[T ~string | ~[]byte](dst []byte, s T) []byte {
	return append(AppendStringContent(append(dst, '"'), s), '"')
}

// AppendStringContent appends s as the content of a JSON string, without its quotes.
func AppendStringContent[T ~string | ~[]byte](dst []byte, s T) []byte {
	// A slice begins with the two words that a string consists of. The bytes are only read.
	view := *(*string)(unsafe.Pointer(&s))
	return appendContent(dst, unsafe.Slice(unsafe.StringData(view), len(view)))
}

func appendContent(dst, s []byte) []byte {
	const hex = "0123456789abcdef"
	start := 0
	for i := 0; ; {
		i = skipPlain(s, i)
		if i >= len(s) {
			return append(dst, s[start:]...)
		}
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRune(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, s[start:i]...), "\ufffd"...)
				start = i + 1
			}
			i += n
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		start = i
	}
}

// Excerpt returns the first 64 bytes of external text, for an error message. An ellipsis marks
// omitted bytes.
func Excerpt[T ~string | ~[]byte](text T) string {
	const maxExcerpt = 64
	if len(text) <= maxExcerpt {
		return string(text)
	}
	return string(text[:cut.Before(text, maxExcerpt)]) + "…"
}

// FirstByte returns the first byte of the JSON value that a text consists of, or 0 if it is no JSON. It accepts
// duplicate keys, and takes no memory.
func FirstByte(text string, maxDepth int) byte {
	s := New(unsafe.Slice(unsafe.StringData(text), len(text)), maxDepth)
	c := s.Peek()
	if _, err := s.Value(); err != nil || !s.AtEnd() {
		return 0
	}
	return c
}
