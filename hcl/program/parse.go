package program

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

// A syntax is a parsed source.
type syntax struct {
	source   string
	root     ast.Node
	place    func(file.Location) span
	brackets []span // from each opening bracket to behind its closing one
}

// parse reads the grammar of expr and says in our words what is wrong.
func parse(src string) (*syntax, *Problem) {
	if p := refuse(src); p != nil {
		return nil, p
	}
	r, err := read(src)
	if err != nil {
		return nil, r.unreadable(err)
	}
	if p := r.tooDeep(); p != nil {
		return nil, p
	}
	tree, err := parser.Parse(r.callable())
	if err != nil {
		return nil, r.ungrammatical(err)
	}
	return &syntax{source: src, root: tree.Node, place: r.place, brackets: r.brackets()}, nil
}

// refuse finds what the parser should not see at all.
func refuse(src string) *Problem {
	switch {
	case strings.TrimSpace(src) == "":
		return &Problem{Length: len(src), Summary: "Empty program", Detail: "An expr program is expected, for example \"input.count > 0\"."}
	case len(src) > maxSource:
		return &Problem{Offset: maxSource, Length: len(src) - maxSource, Summary: "Program too long", Detail: fmt.Sprintf("A program has at most %d bytes.", maxSource)}
	case !utf8.ValidString(src):
		return &Problem{Length: len(src), Summary: "Invalid text", Detail: "A program is UTF-8 text."}
	}
	if i := strings.Index(src, "${"); i >= 0 {
		n := len("${")
		detail := "A program names values directly, without ${...}."
		if end := strings.IndexByte(src[i:], '}'); end > 0 {
			n = end + 1
			detail = fmt.Sprintf("A program names values directly: write %s, without ${...}.", strings.TrimSpace(src[i+2:i+end]))
		}
		return &Problem{Offset: i, Length: n, Summary: "Template in a program", Detail: detail}
	}
	return nil
}

// placer maps the parser's locations, which count characters, to bytes.
func placer(src string) func(file.Location) span {
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

// A reading is a source as its tokens.
type reading struct {
	source string
	tokens []lexer.Token
	place  func(file.Location) span
}

// read returns the tokens before an error too.
func read(src string) (*reading, error) {
	l := lexer.New()
	l.Reset(file.NewSource(src))
	r := &reading{source: src, place: placer(src)}
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

// at is where token i stands.
func (r *reading) at(i int) span { return r.place(r.tokens[i].Location) }

// callable lets words be called that the parser of expr takes for something else: contains(list, x), which is an operator there, and
// countBy(list, .x), whose predicate it does not know. It renames them in place, to names of the same length, so that every location stays right.
func (r *reading) callable() string {
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

// renamed is the name that the author wrote.
func renamed(name string) string {
	if name == calledContains {
		return "contains"
	}
	return name
}

// endsOperand reports whether a value can end with token i.
func (r *reading) endsOperand(i int) bool {
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

// closing is the token that closes the bracket at open, or -1.
func (r *reading) closing(open int) int {
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

// brackets are the spans from each opening bracket to behind its closing one.
func (r *reading) brackets() []span {
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
