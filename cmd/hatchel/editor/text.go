package editor

import (
	"sort"
	"unicode/utf8"
)

// Position is a place in a text as editors count it: lines from 0, and UTF-16 code units from the beginning of the
// line.
type Position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// Span is a half-open interval of bytes.
type Span struct{ From, To int }

// Contains reports whether an offset is in the span or at its end, where a cursor still belongs to it.
func (s Span) Contains(offset int) bool { return s.From <= offset && offset <= s.To }

// Text is a text with an index of its lines. It is immutable.
type Text struct {
	Src   []byte
	lines []int // offsets of their first bytes
}

// NewText returns a text. Lines end with \n, \r\n or \r, as the protocol says.
func NewText(src []byte) *Text {
	t := &Text{Src: src, lines: []int{0}}
	for i, c := range src {
		if c == '\n' || c == '\r' && (i+1 == len(src) || src[i+1] != '\n') {
			t.lines = append(t.lines, i+1)
		}
	}
	return t
}

// Lines returns the number of lines.
func (t *Text) Lines() int { return len(t.lines) }

// Line returns the bytes of a line without its end.
func (t *Text) Line(line int) Span {
	from, to := t.lines[line], len(t.Src)
	if line+1 < len(t.lines) {
		to = t.lines[line+1]
	}
	for to > from && (t.Src[to-1] == '\n' || t.Src[to-1] == '\r') {
		to--
	}
	return Span{from, to}
}

// Offset returns the byte at a position. A position outside of the text or inside a character counts as the nearest
// one before it.
func (t *Text) Offset(p Position) int {
	if p.Line < 0 {
		return 0
	}
	if p.Line >= len(t.lines) {
		return len(t.Src)
	}
	line := t.Line(p.Line)
	at, units := line.From, p.Character
	for at < line.To {
		r, size := utf8.DecodeRune(t.Src[at:line.To])
		if units -= width(r); units < 0 {
			break
		}
		at += size
	}
	return at
}

// Position returns the position of a byte. An offset outside of the text counts as its beginning or end, one inside a
// character as the beginning of the character.
func (t *Text) Position(offset int) Position {
	offset = max(0, min(offset, len(t.Src)))
	line := sort.SearchInts(t.lines, offset+1) - 1
	p := Position{Line: line}
	for at := t.lines[line]; at < offset; {
		r, size := utf8.DecodeRune(t.Src[at:])
		if at+size > offset {
			break
		}
		p.Character += width(r)
		at += size
	}
	return p
}

// width is the number of UTF-16 code units of a character.
func width(r rune) int {
	if r > 0xFFFF {
		return 2
	}
	return 1
}
