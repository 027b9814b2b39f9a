// Package highlight divides a file into words with their kinds, for editors: the HCL, and the SQL, shell scripts and
// programs that its texts contain. It reads any text, also one that is being typed.
package highlight

import (
	"bytes"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Kind is the kind of a word.
type Kind uint8

const (
	Keyword Kind = iota
	Block        // the type of a block
	Argument
	Variable
	Function
	String
	Number
	Comment
	Operator
	Interpolation // the delimiters of an interpolation or a directive
)

// Language is what a text contains.
type Language uint8

const (
	Text Language = iota
	SQL
	Shell
	Program // in the language of expr
)

// Word is one word on one line.
type Word struct {
	Start, End int // bytes of the file
	Kind       Kind
}

// Header is the first line of a block.
type Header struct {
	Type   string
	Labels []string
}

// Languages returns what the value of an argument contains. The path holds the blocks around it, outermost first.
type Languages func(path []Header, argument string) Language

// Words returns the words of a file in their order.
func Words(src []byte, languages Languages) []Word {
	r := &reader{src: src, languages: languages, frames: []frame{{kind: body}}}
	r.tokens, _ = hclsyntax.LexConfig(src, "", hcl.InitialPos)
	for ; r.at < len(r.tokens); r.at++ {
		r.read(r.tokens[r.at])
	}
	return r.words
}

// frameKind is what a bracket or a quote opened.
type frameKind uint8

const (
	body frameKind = iota
	object
	group         // a list, or parentheses
	interpolation // ${ or %{
	text          // a quoted template or a heredoc
)

// frame is one open bracket or quote.
type frame struct {
	kind     frameKind
	argument bool     // of a body: after the = of an argument
	control  bool     // of an interpolation: it is a directive
	language Language // of the argument, or of the text
	lexer    *lexer   // of a text that contains a language
}

// reader finds the words of HCL in its tokens. It does not parse, because a file that is being typed has no parse.
type reader struct {
	src       []byte
	tokens    hclsyntax.Tokens
	at        int
	restarts  int
	frames    []frame // from the outermost
	path      []Header
	languages Languages
	words     []Word
}

func (r *reader) top() *frame { return &r.frames[len(r.frames)-1] }

// peek returns the type of a token after the current one.
func (r *reader) peek(n int) hclsyntax.TokenType {
	if r.at+n >= len(r.tokens) || r.at+n < 0 {
		return hclsyntax.TokenEOF
	}
	return r.tokens[r.at+n].Type
}

func (r *reader) read(t hclsyntax.Token) {
	switch t.Type {
	case hclsyntax.TokenComment:
		r.add(t, Comment)
	case hclsyntax.TokenNewline:
		if f := r.top(); f.kind == body {
			f.argument = false
		}
	case hclsyntax.TokenIdent:
		r.identifier(t)
	case hclsyntax.TokenNumberLit:
		r.add(t, Number)
	case hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc:
		r.openText(t)
	case hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc:
		r.closeText(t)
	case hclsyntax.TokenQuotedLit, hclsyntax.TokenStringLit:
		r.literal(t)
	case hclsyntax.TokenQuotedNewline:
		r.endLine(t.Range.End)
	case hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
		r.add(t, Interpolation)
		r.push(frame{kind: interpolation, control: t.Type == hclsyntax.TokenTemplateControl})
	case hclsyntax.TokenTemplateSeqEnd:
		r.add(t, Interpolation)
		r.pop(interpolation)
	default:
		r.bracket(t)
	}
}

// literal reads constant text, which may be several tokens.
func (r *reader) literal(t hclsyntax.Token) {
	end := t.Range.End.Byte
	for r.peek(1) == t.Type {
		r.at++
		end = r.tokens[r.at].Range.End.Byte
	}
	if f := r.top(); f.lexer != nil {
		f.lexer.read(r, t.Range.Start.Byte, end)
	} else {
		r.addRange(t.Range.Start.Byte, end, String)
	}
}

// maxRestarts limits how often the rest of a file is divided into tokens again.
const maxRestarts = 16

// endLine ends a quoted text that its line leaves open, so that the next lines are not read as a part of it.
func (r *reader) endLine(next hcl.Pos) {
	if r.restarts++; r.restarts > maxRestarts {
		return
	}
	r.pop(text)
	for len(r.frames) > 1 && r.top().kind != body {
		r.frames = r.frames[:len(r.frames)-1]
	}
	r.top().argument = false
	r.tokens, _ = hclsyntax.LexConfig(r.src[next.Byte:], "", next)
	r.at = -1
}

// bracket reads a bracket or an operator.
func (r *reader) bracket(t hclsyntax.Token) {
	switch t.Type {
	case hclsyntax.TokenOBrace:
		r.push(frame{kind: object})
	case hclsyntax.TokenOBrack, hclsyntax.TokenOParen:
		r.push(frame{kind: group, language: r.top().language}) // a list of statements
	case hclsyntax.TokenCBrace:
		r.pop(object, body)
	case hclsyntax.TokenCBrack, hclsyntax.TokenCParen:
		r.pop(group)
	case hclsyntax.TokenStar, hclsyntax.TokenSlash, hclsyntax.TokenPlus, hclsyntax.TokenMinus, hclsyntax.TokenPercent,
		hclsyntax.TokenEqualOp, hclsyntax.TokenNotEqual, hclsyntax.TokenLessThan, hclsyntax.TokenLessThanEq,
		hclsyntax.TokenGreaterThan, hclsyntax.TokenGreaterThanEq, hclsyntax.TokenAnd, hclsyntax.TokenOr,
		hclsyntax.TokenBang, hclsyntax.TokenFatArrow, hclsyntax.TokenQuestion, hclsyntax.TokenEllipsis:
		r.add(t, Operator)
	}
}

func (r *reader) push(f frame) { r.frames = append(r.frames, f) }

// pop closes the innermost frame of one of the kinds and those in it, which a file that is being typed leaves open. A
// bracket closes nothing outside of its text.
func (r *reader) pop(kinds ...frameKind) {
	for i := len(r.frames) - 1; i > 0; i-- {
		switch kind := r.frames[i].kind; {
		case slices.Contains(kinds, kind):
			r.frames = r.frames[:i]
			if kind == body {
				r.path = r.path[:len(r.path)-1]
			}
			return
		case kind == text:
			return
		}
	}
}

// identifier reads a name by what stands around it.
func (r *reader) identifier(t hclsyntax.Token) {
	f, name := r.top(), string(t.Bytes)
	after := r.peek(1)
	switch {
	case f.kind == body && !f.argument && after == hclsyntax.TokenEqual:
		r.add(t, Argument)
		f.argument, f.language = true, r.languages(r.path, name)
	case f.kind == body && !f.argument:
		r.header(t)
	case f.kind == object && (after == hclsyntax.TokenEqual || after == hclsyntax.TokenColon),
		r.peek(-1) == hclsyntax.TokenDot:
		r.add(t, Argument)
	case after == hclsyntax.TokenOParen:
		r.add(t, Function)
	case slices.Contains([]string{"true", "false", "null"}, name),
		f.kind == interpolation && f.control && slices.Contains(directives, name),
		f.kind != body && slices.Contains([]string{"for", "in", "if"}, name):
		r.add(t, Keyword)
	default:
		r.add(t, Variable)
	}
}

var directives = []string{"if", "else", "endif", "for", "in", "endfor"}

// header reads the header of a block up to its brace.
func (r *reader) header(t hclsyntax.Token) {
	r.add(t, Block)
	h := Header{Type: string(t.Bytes)}
	for i := 1; ; i++ {
		switch r.peek(i) {
		case hclsyntax.TokenIdent, hclsyntax.TokenQuotedLit:
			r.add(r.tokens[r.at+i], String)
			h.Labels = append(h.Labels, string(r.tokens[r.at+i].Bytes))
		case hclsyntax.TokenOQuote, hclsyntax.TokenCQuote:
			r.add(r.tokens[r.at+i], String)
		case hclsyntax.TokenOBrace:
			r.at += i
			r.path = append(r.path, h)
			r.push(frame{kind: body})
			return
		default: // the block is being typed
			r.at += i - 1
			return
		}
	}
}

// heredocs are the tags of heredocs that name a language.
var heredocs = map[string]Language{"SQL": SQL, "SH": Shell, "BASH": Shell, "SHELL": Shell, "EXPR": Program}

func (r *reader) openText(t hclsyntax.Token) {
	language := r.top().language
	f := frame{kind: text}
	if t.Type == hclsyntax.TokenOHeredoc {
		r.add(t, Operator)
		if named, ok := heredocs[heredocTag(t.Bytes)]; ok && language == Text {
			language = named
		}
	} else {
		r.add(t, String)
	}
	if language != Text {
		f.lexer = &lexer{grammar: grammars[language], quoted: t.Type == hclsyntax.TokenOQuote}
	}
	r.push(f)
}

func heredocTag(opening []byte) string { return string(bytes.Trim(opening, "<- \t\r\n")) }

func (r *reader) closeText(t hclsyntax.Token) {
	if t.Type == hclsyntax.TokenCHeredoc {
		r.add(t, Operator)
	} else {
		r.add(t, String)
	}
	r.pop(text)
}

// add adds a token as one word on each line that it covers.
func (r *reader) add(t hclsyntax.Token, kind Kind) {
	r.addRange(t.Range.Start.Byte, t.Range.End.Byte, kind)
}

// addRange adds a range of the file as one word on each line that it covers, and joins it to the word before if both
// are one.
func (r *reader) addRange(start, end int, kind Kind) {
	for start < end {
		stop := start
		for stop < end && r.src[stop] != '\n' && r.src[stop] != '\r' {
			stop++
		}
		n := len(r.words)
		switch {
		case start == stop:
		case kind == String && n > 0 && r.words[n-1].End == start && r.words[n-1].Kind == kind:
			r.words[n-1].End = stop
		default:
			r.words = append(r.words, Word{start, stop, kind})
		}
		start = stop + 1
	}
}
