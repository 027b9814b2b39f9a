package charset

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

func TestEveryNameIsAnEncoding(t *testing.T) {
	for _, name := range append([]string{"UTF8", "Latin1", "CP437", "cp1252", "Shift-JIS", "sjis", "x-sjis", "ascii", "l1", "IBM850", "cp850", "Windows-31J", "CP932", "cp936", "cp949", "cp950", "cp65001", "latin-1", "UTF_8", "utf8mb4"}, Names...) {
		if _, known := Find(name); !known {
			t.Errorf("%s is not known", name)
		}
	}
	for _, name := range []string{"", "latin-one", "utf-7", "iso-2022-cn", "replacement", "binary"} {
		if e, known := Find(name); known {
			t.Errorf("%q is %v", name, e)
		}
	}
}

func TestTextIsDecoded(t *testing.T) {
	for _, c := range []struct{ name, raw, want string }{
		{"utf-8", "caf\xc3\xa9", "café"},
		{"utf-8", "\xef\xbb\xbfcaf\xc3\xa9", "café"},
		{"utf-8", "\xff\xfea\x00\xe9\x00", "aé"},
		{"utf-8", "\xfe\xff\x00a\x00\xe9", "aé"},
		{"utf-8", "\xff\xfe\x00\x00a\x00\x00\x00", "a"},
		{"utf-8", "a\xef\xbb\xbfb", "a\ufeffb"},
		{"utf-8", "\xef\xbf\xbd", "\uFFFD"},
		{"iso-8859-1", "caf\xe9 \x80", "café €"},
		{"windows-1252", "\xef\xbb\xbf\xc3\xa9", "é"}, // the mark precedes
		{"iso-8859-15", "\xa4", "€"},
		{"windows-1251", "\xcf\xf0\xe8", "При"},
		{"koi8-r", "\xf0\xd2\xc9", "При"},
		{"cp437", "\x81\x84", "üä"},
		{"ibm850", "\x81\x84", "üä"},
		{"ibm037", "\xc8\x89", "Hi"},
		{"shift_jis", "\x83\x65\x83\x58\x83\x67", "テスト"},
		{"euc-jp", "\xa5\xc6", "テ"},
		{"iso-2022-jp", "\x1b$B%F\x1b(Ba", "テa"},
		{"euc-kr", "\xc7\xd1", "한"},
		{"gbk", "\xd6\xd0", "中"},
		{"gb18030", "\xd6\xd0\x84\x31\xa4\x37", "中\uFFFD"},
		{"hz-gb-2312", "~{VP~}a", "中a"},
		{"big5", "\xa4\xa4", "中"},
		{"utf-16", "a\x00\xfd\xff", "a\uFFFD"},
		{"utf-16be", "\xd8\x3d\xde\x00", "😀"},
		{"utf-32", "a\x00\x00\x00", "a"},
		{"utf-8", "", ""},
		{"utf-16", "", ""},
	} {
		e, _ := Find(c.name)
		if got, err := Decode([]byte(c.raw), e); got != c.want || err != nil {
			t.Errorf("%s %q: %q, %v; want %q", c.name, c.raw, got, err, c.want)
		}
	}
}

func TestErrorNamesThePlace(t *testing.T) {
	for _, c := range []struct{ name, raw, want, shown string }{
		{"utf-8", "caf\xe9\n", "not UTF-8: 0xE9 at byte 4, in line 1", "caf<0xE9>\n"},
		{"utf-8", "a\nb\n\xc3(", "not UTF-8: 0xC3 at byte 5, in line 3", "a\nb\n<0xC3>("},
		{"utf-8", "\xef\xbb\xbfa\xff", "not UTF-8: 0xFF at byte 5, in line 1", "a<0xFF>"},
		{"utf-8", "\xed\xa0\x80", "not UTF-8: 0xED at byte 1, in line 1", "<0xED><0xA0><0x80>"},
		{"utf-8", "a\xf0\x9f", "not UTF-8: 0xF0 at byte 2, in line 1", "a<0xF0><0x9F>"},
		{"utf-16", "a\x00b", "not utf-16: 0x62 at byte 3, in line 1", "a<0x62>"},
		{"utf-16", "a\x00\x00\xd8b\x00", "not utf-16: 0x00 0xD8 at byte 3, in line 1", "a<0x00 0xD8>b"},
		{"windows-1253", "a\xaa", "not windows-1253: 0xAA at byte 2, in line 1", "a<0xAA>"},
		{"shift_jis", "a\n\x83", "not shift_jis: 0x83 at byte 3, in line 2", "a\n<0x83>"},
		{"euc-kr", "\xc7\xd1\xff", "not euc-kr: 0xFF at byte 3, in line 1", "한<0xFF>"},
		{"iso-2022-jp", "\x1b$B%F\x1b(B\xe9", "not iso-2022-jp: 0xE9 at byte 9, in line 1", "テ<0xE9>"},
	} {
		e, _ := Find(c.name)
		_, err := Decode([]byte(c.raw), e)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s %q: %v, want %s", c.name, c.raw, err, c.want)
		}
		if got, _ := Show([]byte(c.raw), e); got != c.shown {
			t.Errorf("%s %q is shown as %q, want %q", c.name, c.raw, got, c.shown)
		}
	}
}

// TestDecoderIsThatOfTheLibrary: of random bytes, the text is that of the decoders of the library, and each place that
// is named has the bytes that are named, however the stream is read.
func TestDecoderIsThatOfTheLibrary(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, name := range Names {
		e, _ := Find(name)
		for round := range 40 {
			raw := make([]byte, random.IntN(200))
			for i := range raw {
				if raw[i] = byte(random.IntN(256)); random.IntN(3) == 0 {
					raw[i] = "a\n~{}\x1b$B("[random.IntN(9)]
				}
			}
			if round == 0 && e != nil { // more than a chunk of valid text
				raw, _ = e.enc.NewEncoder().Bytes([]byte(strings.Repeat("abc def ghi\n", 6000)))
			}
			if _, size := Detect(raw, e); size > 0 {
				continue
			}
			text, faults := decodeAll(raw, e)
			var want string
			if e != nil {
				decoded, _ := e.enc.NewDecoder().Bytes(raw)
				want = string(decoded)
			} else {
				want = string([]rune(string(raw)))
			}
			if text != want {
				t.Fatalf("%s %q: %q, want %q", name, raw, text, want)
			}
			if e == nil || e.replacement == nil {
				if got := strings.Count(text, "\uFFFD"); got != len(faults) {
					t.Fatalf("%s %q: %d places are named, %d are not in the encoding", name, raw, len(faults), got)
				}
			}
			for _, f := range faults {
				at := int(f.Err.Offset)
				if !bytes.HasPrefix(raw[at:], f.Err.Bytes) || !strings.HasPrefix(text[f.At:], "\uFFFD") ||
					f.Err.Line != 1+strings.Count(text[:f.At], "\n") {
					t.Fatalf("%s %q: %v at %d of %q", name, raw, f.Err, f.At, text)
				}
			}
			slow := NewReader(iotest.OneByteReader(bytes.NewReader(raw)), e)
			var pieces []byte
			for {
				part, _, err := slow.ReadLine()
				if pieces = append(pieces, part...); err != nil {
					break
				}
			}
			if string(pieces) != text {
				t.Fatalf("%s %q: read in pieces it is %q", name, raw, pieces)
			}
		}
	}
}

// TestCutTextBeginsAndEndsWithACharacter: wherever a text is cut, its parts have no part of a character, and a byte of
// it that is not in its encoding is still named.
func TestCutTextBeginsAndEndsWithACharacter(t *testing.T) {
	for _, name := range []string{"utf-8", "utf-16", "utf-16be", "utf-32", "shift_jis", "gb18030", "euc-jp", "windows-1252"} {
		e, _ := Find(name)
		line := "aé中テ😀 b\n"
		switch name {
		case "shift_jis", "euc-jp":
			line = "a中テ b\n"
		case "windows-1252":
			line = "aé€ b\n"
		}
		whole := strings.Repeat(line, 20)
		raw, ok := Encode(whole, e)
		if !ok {
			t.Fatalf("%s cannot hold %q", name, line)
		}
		for at := range len(raw) {
			head, size, bad := ShowHead(raw[:at], e)
			if bad != nil || !strings.HasPrefix(whole, head) || at-size > maxCharacter {
				t.Errorf("%s: the first %d bytes are %q, %d bytes, %v", name, at, head, size, bad)
			}
			tail, size, bad := ShowTail(raw[at:], e, int64(at))
			if bad != nil || !strings.HasSuffix(whole, tail) || size > len(raw)-at {
				t.Errorf("%s: after %d bytes is %q, %d bytes, %v", name, at, tail, size, bad)
			}
		}
	}
	if _, _, bad := ShowTail([]byte("\x80abcd\xe9"), nil, 100); bad == nil || bad.Error() != "not UTF-8: 0xE9 at byte 106" {
		t.Error(bad)
	}
	if _, _, bad := ShowHead([]byte("ab\xe9cdef"), nil); bad == nil || bad.Error() != "not UTF-8: 0xE9 at byte 3, in line 1" {
		t.Error(bad)
	}
}

func TestAdviceIsWhatHelps(t *testing.T) {
	utf16, _ := Find("utf-16le")
	for raw, c := range map[string]struct {
		declared *Encoding
		want     string
	}{
		"caf\xe9":             {nil, `name the encoding, such as encoding = "windows-1252", or use as = "bytes"`},
		"a\x00b":              {utf16, `name another encoding than "utf-16le", or use as = "bytes"`},
		"\xff\xfea\x00b":      {nil, `use as = "bytes", because the byte order mark of the text names the encoding`},
		"\xef\xbb\xbfcaf\xe9": {nil, `use as = "bytes", because the byte order mark of the text names the encoding`},
	} {
		_, bad := Show([]byte(raw), c.declared)
		if got := Advice([]byte(raw), bad); got != c.want {
			t.Errorf("%q: %s", raw, got)
		}
	}
}

func TestUTF16WithoutAMarkIsGuessed(t *testing.T) {
	for text, want := range map[string]string{
		"a\x00b\x00\n\x00": "utf-16le", "\x00a\x00b\x00\n": "utf-16be", "": "", "ab": "", "first\x00second\x00": "", "\x00\x00\x00\x00": "",
	} {
		if got := GuessUTF16(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestGuess(t *testing.T) {
	for raw, want := range map[string]string{
		"n\x00a\x00m\x00e\x00": "utf-16le", "\x00n\x00a\x00m\x00e": "utf-16be", "caf\xe9": "windows-1252", "": "windows-1252",
	} {
		if got := Guess([]byte(raw)); got != want {
			t.Errorf("%q: %s, want %s", raw, got, want)
		}
	}
}
