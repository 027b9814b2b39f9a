package exprlang

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/parser/lexer"
)

const (
	maxSource = 64 << 10
	maxDepth  = 200
)

// parsedSource is a source after parsing.
type parsedSource struct {
	source   string
	root     ast.Node
	locate   func(file.Location) span
	brackets []span // from each opening bracket to the end of its closing one
}

// parse parses a source.
func parse(src string) (*parsedSource, *Problem) {
	if p := checkSource(src); p != nil {
		return nil, p
	}
	r, err := tokenize(src)
	if err != nil {
		return nil, r.lexError(err)
	}
	if p := r.tooDeep(); p != nil {
		return nil, p
	}
	tree, err := parser.Parse(r.renameCallables())
	if err != nil {
		return nil, r.parseError(err)
	}
	return &parsedSource{source: src, root: tree.Node, locate: r.locate, brackets: r.brackets()}, nil
}

// checkSource reports sources that are not given to the parser.
func checkSource(src string) *Problem {
	switch {
	case strings.TrimSpace(src) == "":
		return &Problem{Length: len(src), Summary: "Empty program",
			Detail: "An expr program is expected, for example \"input.count > 0\"."}
	case len(src) > maxSource:
		return &Problem{Offset: maxSource, Length: len(src) - maxSource, Summary: "Program too long",
			Detail: fmt.Sprintf("A program has at most %d bytes.", maxSource)}
	case !utf8.ValidString(src):
		// unreachable: a configuration file is UTF-8.
		return &Problem{Length: len(src), Summary: "Invalid text", Detail: "A program is UTF-8 text."}
	}
	if i := strings.Index(src, "${"); i >= 0 {
		n := len("${")
		detail := "A program names values directly, without ${...}."
		if end := strings.IndexByte(src[i:], '}'); end > 0 {
			n = end + 1
			detail = fmt.Sprintf("A program names values directly: write %s, without ${...}.",
				strings.TrimSpace(src[i+2:i+end]))
		}
		return &Problem{Offset: i, Length: n, Summary: "Template in a program", Detail: detail}
	}
	return nil
}

// sourceMap maps locations of the parser, which count characters, to bytes.
func sourceMap(src string) func(file.Location) span {
	ascii := true
	for i := range len(src) {
		ascii = ascii && src[i] < utf8.RuneSelf
	}
	offsets := func(n int) int { return min(max(n, 0), len(src)) }
	if !ascii {
		var at []int
		for i := range src {
			at = append(at, i)
		}
		at = append(at, len(src))
		offsets = func(n int) int { return at[min(max(n, 0), len(at)-1)] }
	}
	return func(l file.Location) span {
		s := span{offsets(l.From), offsets(l.To)}
		s.to = max(s.to, s.from)
		return s
	}
}

// tokenStream holds the tokens of a source.
type tokenStream struct {
	source string
	tokens []lexer.Token
	locate func(file.Location) span
}

// tokenize returns the tokens of a source; with an error, those before it.
func tokenize(src string) (*tokenStream, error) {
	l := lexer.New()
	l.Reset(file.NewSource(src))
	r := &tokenStream{source: src, locate: sourceMap(src)}
	for {
		t, err := l.Next()
		if err == io.EOF {
			return r, nil
		}
		if err != nil {
			return r, err
		}
		r.tokens = append(r.tokens, t)
	}
}

// at is the span of token i.
func (r *tokenStream) at(i int) span { return r.locate(r.tokens[i].Location) }

// renameCallables allows calls of names that the parser reads as something else: contains(list, x),
// which is an operator, and countBy(list, .x), whose predicate it does not know. The new names have
// the same length, so that no location changes.
func (r *tokenStream) renameCallables() string {
	out := []byte(r.source)
	for i, t := range r.tokens {
		if i+1 >= len(r.tokens) || !r.tokens[i+1].Is(lexer.Bracket, "(") {
			continue
		}
		switch {
		case t.Is(lexer.Operator, "contains") && !r.endsOperand(i-1):
			copy(out[r.at(i).from:], calledContains)
		case t.Is(lexer.Identifier, "countBy"):
			copy(out[r.at(i).from:], "groupBy")
		}
	}
	return string(out)
}

const calledContains = "$ontains"

// originalName is the name that the author wrote.
func originalName(name string) string {
	if name == calledContains {
		return "contains"
	}
	return name
}

// endsOperand reports whether a value can end with token i.
func (r *tokenStream) endsOperand(i int) bool {
	if i < 0 {
		return false
	}
	switch t := r.tokens[i]; t.Kind {
	case lexer.Operator:
		return t.Value == "#" || t.Value == "not" && r.endsOperand(i-1)
	case lexer.Bracket:
		return strings.Contains(")]}", t.Value)
	}
	return true
}

// closing returns the index of the token that closes the bracket at open, or -1.
func (r *tokenStream) closing(open int) int {
	depth := 0
	for i := open; i < len(r.tokens); i++ {
		if r.tokens[i].Kind != lexer.Bracket {
			continue
		}
		if strings.Contains("([{", r.tokens[i].Value) {
			depth++
		} else if depth--; depth == 0 {
			return i
		}
	}
	return -1
}

// brackets returns the spans from each opening bracket to the end of its closing bracket.
func (r *tokenStream) brackets() []span {
	var out []span
	for i, t := range r.tokens {
		if t.Kind == lexer.Bracket && strings.Contains("([{", t.Value) {
			if end := r.closing(i); end >= 0 {
				out = append(out, span{r.at(i).from, r.at(end).to})
			}
		}
	}
	return out
}
