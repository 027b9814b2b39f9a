package hclexpr

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	hclv2 "github.com/hashicorp/hcl/v2"

	"hatchel/hcl/template"
	"hatchel/internal/cut"
)

// literalText is the text node of a literal.
func (c *Compiler) literalText(decoded string, r hclv2.Range) *template.Text {
	return &template.Text{Value: decoded, Place: sourceMap(decoded, c.sourceText(r), r)}
}

// sourceMap maps bytes of a decoded literal to its source. Escapes, $${ and %%{ are longer in the
// source, and the white space of indentation and around trim markers is only there. The literal is aligned once, at
// the first mistake in it, so that many mistakes in a long literal take no quadratic time.
func sourceMap(decoded, src string, r hclv2.Range) func(from, to int) hclv2.Range {
	var once sync.Once
	var units []sourceSpan
	var at positions
	return func(from, to int) hclv2.Range {
		once.Do(func() {
			units = align(decoded, src)
			at = newPositions(r.Start, src)
		})
		if units == nil {
			return r
		}
		start := at.of(units[from].from)
		if from == to {
			return hclv2.Range{Filename: r.Filename, Start: start, End: start}
		}
		return hclv2.Range{Filename: r.Filename, Start: start, End: at.of(units[to-1].to)}
	}
}

// positions are the positions of the bytes of a source: those of each stride, from which the others are counted.
type positions struct {
	src     string
	strides []hclv2.Pos
	start   int // of the source in its file
}

const stride = 256 // bytes

func newPositions(start hclv2.Pos, src string) positions {
	p := positions{src: src, start: start.Byte}
	at := start
	for from := 0; ; {
		p.strides = append(p.strides, at)
		to := cut.After(src, from+stride)
		if to >= len(src) {
			return p
		}
		at = advancePos(at, src[from:], to-from)
		from = to
	}
}

// of returns the position of a byte.
func (p positions) of(n int) hclv2.Pos {
	byByte := func(a hclv2.Pos, b int) int { return cmp.Compare(a.Byte, b) }
	at, found := slices.BinarySearchFunc(p.strides, p.start+n, byByte)
	if !found {
		at--
	}
	from := p.strides[at].Byte - p.start
	return advancePos(p.strides[at], p.src[from:], n-from)
}

// sourceSpan is the part of a source that one decoded byte comes from.
type sourceSpan struct{ from, to int }

// align returns the source of every byte of decoded, and an empty span at its end. It returns nil
// if they do not match.
func align(decoded, src string) []sourceSpan {
	for skip := 0; skip <= len(src); skip++ {
		if units, ok := alignAt(decoded, src, skip); ok {
			return units
		}
		if skip < len(src) && !strings.ContainsRune(" \t\r\n", rune(src[skip])) {
			return nil
		}
	}
	return nil
}

func alignAt(decoded, src string, at int) ([]sourceSpan, bool) {
	units := make([]sourceSpan, 0, len(decoded)+1)
	for i := 0; i < len(decoded); {
		if at >= len(src) {
			return nil, false
		}
		n, width := sourceWidth(src[at:], decoded[i:])
		if n == 0 {
			return nil, false
		}
		for range n {
			units = append(units, sourceSpan{at, at + width})
		}
		i, at = i+n, at+width
		if decoded[i-1] == '\n' && width == 1 {
			at += max(indent(src[at:])-indent(decoded[i:]), 0)
		}
	}
	return append(units, sourceSpan{at, at}), true
}

// indent is the number of spaces and tabs at the beginning of a line.
func indent(s string) int { return len(s) - len(strings.TrimLeft(s, " \t")) }

var escapeText = map[byte]string{'n': "\n", 'r': "\r", 't': "\t", '"': "\"", '\\': "\\"}

// sourceWidth returns how many decoded bytes the first unit of the source stands for, and its
// length.
func sourceWidth(src, decoded string) (n, width int) {
	if len(src) >= 3 && (strings.HasPrefix(src, "$${") || strings.HasPrefix(src, "%%{")) &&
		strings.HasPrefix(decoded, src[1:3]) {
		return 2, 3
	}
	if src[0] == '\\' && len(src) > 1 {
		if s, ok := escapeText[src[1]]; ok && strings.HasPrefix(decoded, s) {
			return 1, 2
		}
		_, n := utf8.DecodeRuneInString(decoded)
		if src[1] == 'u' && len(src) >= 6 && n > 0 && decoded[0] != '\\' {
			return n, 6
		}
		if src[1] == 'U' && len(src) >= 10 && n > 0 && decoded[0] != '\\' {
			return n, 10
		}
	}
	if src[0] == decoded[0] {
		return 1, 1
	}
	return 0, 0
}

func advancePos(p hclv2.Pos, src string, n int) hclv2.Pos {
	for _, r := range src[:min(n, len(src))] {
		p.Column++
		if r == '\n' {
			p.Line, p.Column = p.Line+1, 1
		}
	}
	p.Byte += n
	return p
}
