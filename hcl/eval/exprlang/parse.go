package exprlang

import (
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
		return nil, r.explain(err)
	}
	if p := r.tooDeep(); p != nil {
		return nil, p
	}
	tree, err := parser.Parse(r.renameCallables())
	if err != nil {
		return nil, r.explain(err)
	}
	return &parsedSource{source: src, root: tree.Node, locate: r.locate, brackets: r.brackets()}, nil
}

// checkSource reports sources that are not given to the parser.
func checkSource(src string) *Problem {
	switch {
	case strings.TrimSpace(src) == "":
		return newProblem(span{0, len(src)}, "Empty program",
			"An expr program is expected, for example \"input.count > 0\".")
	case len(src) > maxSource:
		return newProblem(span{maxSource, len(src)}, "Program too long", "A program has at most %d bytes.", maxSource)
	case !utf8.ValidString(src):
		// unreachable: a configuration file is UTF-8.
		return newProblem(span{0, len(src)}, "Invalid text", "A program is UTF-8 text.")
	}
	i := strings.Index(src, "${")
	if i < 0 {
		return nil
	}
	if name, _, closed := strings.Cut(src[i+len("${"):], "}"); closed {
		return newProblem(span{i, i + len("${}") + len(name)}, "Template in a program",
			"A program names values directly: write %s, without ${...}.", strings.TrimSpace(name))
	}
	return newProblem(span{i, i + len("${")}, "Template in a program",
		"A program names values directly, without ${...}.")
}

// sourceMap maps locations of the parser, which count characters, to bytes.
func sourceMap(src string) func(file.Location) span {
	at := make([]int, 0, len(src)+1)
	for i := range src {
		at = append(at, i)
	}
	at = append(at, len(src))
	offset := func(n int) int { return at[min(max(n, 0), len(at)-1)] }
	return func(l file.Location) span {
		from := offset(l.From)
		return span{from, max(offset(l.To), from)}
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
	if t := r.tokens[i]; t.Kind == lexer.Operator {
		return t.Value == "#" || t.Value == "not" && r.endsOperand(i-1)
	}
	return !r.opens(i)
}

// opens reports whether token i is an opening bracket.
func (r *tokenStream) opens(i int) bool {
	return r.tokens[i].Kind == lexer.Bracket && strings.Contains("([{", r.tokens[i].Value)
}

// closes reports whether token i is a closing bracket.
func (r *tokenStream) closes(i int) bool { return r.tokens[i].Kind == lexer.Bracket && !r.opens(i) }

// closing returns the index of the token that closes the bracket at open, or -1.
func (r *tokenStream) closing(open int) int {
	depth := 0
	for i := open; i < len(r.tokens); i++ {
		if r.opens(i) {
			depth++
		} else if r.closes(i) {
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// brackets returns the spans from each opening bracket to the end of its closing bracket.
func (r *tokenStream) brackets() (out []span) {
	for i := range r.tokens {
		if r.opens(i) {
			if end := r.closing(i); end >= 0 {
				out = append(out, span{r.at(i).from, r.at(end).to})
			}
		}
	}
	return out
}
