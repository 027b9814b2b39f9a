package editor

import (
	"bytes"
	"slices"
	"strings"

	"hatchel/internal/lazyregexp"
)

// cursor is what the text says about an offset, without its being parsed: half-typed text has no syntax.
type cursor struct {
	src       []byte
	offset    int
	from, to  int     // of the word at the offset
	region    Span    // of the top-level block around the offset, up to the next one; empty between blocks
	open      []frame // the brackets, texts and templates around the offset, outermost first
	inComment bool
}

// frame is an open bracket, text or template.
type frame struct {
	kind   frameKind
	from   int    // where it opens
	marker string // of a heredoc
	closed bool   // of a heredoc: its marker follows somewhere
}

type frameKind byte

const (
	frameBody          frameKind = '{' // of a block
	frameObject        frameKind = 'o'
	frameParen         frameKind = '('
	frameBracket       frameKind = '['
	frameQuote         frameKind = '"'
	frameHeredoc       frameKind = 'h'
	frameInterpolation frameKind = '$' // ${ and %{
)

// closers end the frames of each kind but heredocs.
var closers = map[frameKind]string{frameBody: "\n}", frameObject: "}", frameParen: ")", frameBracket: "]",
	frameQuote: `"`, frameInterpolation: "}"}

var (
	heredocStart = lazyregexp.New(`^<<-?([A-Za-z_][A-Za-z0-9_-]*)[ \t]*\r?\n`)
	blockHeader  = lazyregexp.New(`^[ \t]*[A-Za-z_][\w-]*([ \t]+("[^"\n]*"|[A-Za-z_][\w-]*))*[ \t]*$`)
	blockLine    = lazyregexp.New(`^([a-z_]+)([ \t]+"[^"\n]*")*[ \t]*\{`)
)

// readCursor reads the text up to an offset. Types are the names of the top-level blocks, at each of which it starts
// afresh, so that a mistake does not reach the next block.
func readCursor(src []byte, offset int, types []string) *cursor {
	c := &cursor{src: src, offset: max(0, min(offset, len(src)))}
	s := scanner{src: src, end: c.offset, types: types}
	s.scan()
	c.open, c.inComment = s.open, s.comment
	c.from, c.to = c.offset, c.offset
	for c.from > 0 && isWord(src[c.from-1]) {
		c.from--
	}
	for c.to < len(src) && isWord(src[c.to]) {
		c.to++
	}
	if len(s.open) == 0 {
		return c
	}
	c.region = Span{s.blockFrom, s.nextBlock()}
	return c
}

func isWord(b byte) bool {
	return b == '_' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b >= 0x80
}

// top returns the innermost frame; the zero frame at the top level.
func (c *cursor) top() frame {
	if len(c.open) == 0 {
		return frame{}
	}
	return c.open[len(c.open)-1]
}

// inText reports whether the offset is in a quoted text or a heredoc, outside of ${...}.
func (c *cursor) inText() bool { return c.top().kind == frameQuote || c.top().kind == frameHeredoc }

// line returns the text of the line before the word.
func (c *cursor) line() string {
	return string(c.src[bytes.LastIndexByte(c.src[:c.from], '\n')+1 : c.from])
}

// after returns the text from the end of the word to the end of the line.
func (c *cursor) after() string {
	rest := c.src[c.to:]
	if i := bytes.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	return strings.TrimRight(string(rest), "\r")
}

// scanner reads the brackets, texts and templates of a text.
type scanner struct {
	src       []byte
	end       int
	types     []string
	open      []frame
	comment   bool
	blockFrom int // where the last top-level block begins
	at        int
	markers   map[string]int // where the last line is that may end a heredoc, by marker; nil if not known yet
}

func (s *scanner) scan() {
	for s.at = 0; s.at < s.end; {
		if s.atLineStart() {
			s.startLine()
		}
		top := frame{}
		if len(s.open) > 0 {
			top = s.open[len(s.open)-1]
		}
		switch top.kind {
		case frameQuote:
			s.quoted()
		case frameHeredoc:
			s.heredoc(top)
		default:
			s.code()
		}
	}
}

func (s *scanner) atLineStart() bool { return s.at == 0 || s.src[s.at-1] == '\n' }

// startLine starts afresh at a line that begins a top-level block, unless it is in a heredoc, and ends quoted texts,
// which end with their line.
func (s *scanner) startLine() {
	in := func(k frameKind) func(frame) bool {
		return func(f frame) bool { return f.kind == k && (k != frameHeredoc || f.closed) }
	}
	if !slices.ContainsFunc(s.open, in(frameHeredoc)) && s.isBlockLine(s.at) {
		s.open, s.blockFrom = nil, s.at
		return
	}
	if i := slices.IndexFunc(s.open, in(frameQuote)); i >= 0 {
		last := s.open[len(s.open)-1].kind
		if last == frameQuote || last == frameInterpolation {
			s.open = s.open[:i]
		}
	}
}

func (s *scanner) isBlockLine(at int) bool {
	if at >= len(s.src) || s.src[at] < 'a' || s.src[at] > 'z' {
		return false
	}
	m := blockLine.FindSubmatchIndex(s.src[at:min(len(s.src), at+maxHeader)])
	return m != nil && m[0] == 0 && slices.Contains(s.types, string(s.src[at:at+m[3]]))
}

// nextBlock returns where the next top-level block begins after the end of the scan.
func (s *scanner) nextBlock() int {
	at := s.end
	for _, f := range s.open {
		if f.kind == frameHeredoc && f.closed {
			if m := heredocEnd(s.src, f.from, f.marker); m >= at {
				at = m
				break
			}
		}
	}
	for {
		i := bytes.IndexByte(s.src[at:], '\n')
		if i < 0 {
			return len(s.src)
		}
		if at += i + 1; s.isBlockLine(at) {
			return at
		}
	}
}

// heredocEnd returns where the marker that ends a heredoc stands, or -1.
func heredocEnd(src []byte, from int, marker string) int {
	for at := from; ; {
		i := bytes.IndexByte(src[at:], '\n')
		if i < 0 {
			return -1
		}
		at += i + 1
		line := src[at:]
		if j := bytes.IndexByte(line, '\n'); j >= 0 {
			line = line[:j]
		}
		if string(bytes.TrimSpace(line)) == marker {
			return at
		}
	}
}

// maxOpen is how many frames are kept. A file that nests deeper does not load.
const maxOpen = 200

func (s *scanner) push(k frameKind, width int) {
	if len(s.open) < maxOpen {
		s.open = append(s.open, frame{kind: k, from: s.at})
	}
	s.at += width
}

// isClosed reports whether a line ends the heredoc that begins here.
func (s *scanner) isClosed(marker string) bool {
	if s.markers == nil {
		s.markers = map[string]int{}
		at := 0
		for line := range bytes.Lines(s.src) {
			if word := bytes.TrimSpace(line); len(word) > 0 && len(word) <= maxMarker {
				s.markers[string(word)] = at
			}
			at += len(line)
		}
	}
	return s.markers[marker] > s.at
}

const maxMarker = 40 // characters

func (s *scanner) has(prefix string) bool { return bytes.HasPrefix(s.src[s.at:s.end], []byte(prefix)) }

// template reads what begins ${ or %{ in a text, and returns whether there is one.
func (s *scanner) template() bool {
	switch {
	case s.has("$${"), s.has("%%{"):
		s.at += 3
	case s.has("${"), s.has("%{"):
		s.push(frameInterpolation, 2)
	default:
		return false
	}
	return true
}

func (s *scanner) quoted() {
	switch {
	case s.template():
	case s.src[s.at] == '\\':
		s.at += 2
	case s.src[s.at] == '"':
		s.open = s.open[:len(s.open)-1]
		s.at++
	default:
		s.at++
	}
}

func (s *scanner) heredoc(f frame) {
	if s.atLineStart() {
		line := s.src[s.at:s.end]
		if i := bytes.IndexByte(line, '\n'); i >= 0 {
			line = line[:i]
		}
		if string(bytes.TrimSpace(line)) == f.marker {
			s.open = s.open[:len(s.open)-1]
			s.at += len(line)
			return
		}
	}
	if !s.template() {
		s.at++
	}
}

func (s *scanner) code() {
	switch b := s.src[s.at]; {
	case b == '#' || s.has("//"):
		i := bytes.IndexByte(s.src[s.at:s.end], '\n')
		if s.comment = i < 0; s.comment {
			i = s.end - s.at
		}
		s.at += i
	case s.has("/*"):
		i := bytes.Index(s.src[s.at:s.end], []byte("*/"))
		if s.comment = i < 0; s.comment {
			i = s.end - s.at
		}
		s.at += i + 2
	case b == '"':
		s.push(frameQuote, 1)
	case s.has("<<"):
		m := heredocStart.FindSubmatch(s.src[s.at:])
		if m == nil {
			s.at += 2
			return
		}
		marker := string(m[1])
		if len(s.open) < maxOpen {
			s.open = append(s.open, frame{frameHeredoc, s.at, marker, s.isClosed(marker)})
		}
		s.at += len(m[0])
	case b == '{':
		s.push(s.braceKind(), 1)
	case b == '(' || b == '[':
		s.push(frameKind(b), 1)
	case b == ')' || b == ']' || b == '}':
		s.close(b)
		s.at++
	default:
		s.at++
	}
}

const maxHeader = 400 // bytes of the first line of a block

// braceKind says whether a brace opens a block or an object.
func (s *scanner) braceKind() frameKind {
	around := frameBody
	if len(s.open) > 0 {
		around = s.open[len(s.open)-1].kind
	}
	line := s.src[max(0, s.at-maxHeader):s.at]
	line = line[bytes.LastIndexByte(line, '\n')+1:]
	if i := bytes.LastIndexByte(line, '{'); i >= 0 { // input "x" { type = object({
		line = line[i+1:]
	}
	if around == frameBody && blockHeader.Match(line) {
		return frameBody
	}
	return frameObject
}

// close closes the innermost bracket of the kind, and what is open in it.
func (s *scanner) close(b byte) {
	opener := map[byte][]frameKind{
		')': {frameParen}, ']': {frameBracket}, '}': {frameBody, frameObject, frameInterpolation},
	}[b]
	for i := len(s.open) - 1; i >= 0; i-- {
		if k := s.open[i].kind; slices.Contains(opener, k) {
			s.open = s.open[:i]
			return
		} else if k == frameQuote || k == frameHeredoc || k == frameInterpolation {
			return // it belongs to what is around the text
		}
	}
}
