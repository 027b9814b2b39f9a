package exprlang

import (
	"errors"
	"fmt"
	"strings"

	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser/lexer"
)

// tooDeep reports nesting that would exhaust the stack of the parser.
func (r *tokenStream) tooDeep() *Problem {
	depth, unary := 0, 0
	for _, t := range r.tokens {
		switch {
		case t.Is(lexer.Bracket, "("), t.Is(lexer.Bracket, "["), t.Is(lexer.Bracket, "{"):
			depth++
		case t.Kind == lexer.Bracket:
			depth--
		}
		if t.Kind == lexer.Operator {
			unary++
		} else if t.Kind != lexer.Bracket {
			unary = 0
		}
		if depth > maxDepth || unary > maxDepth {
			s := r.locate(t.Location)
			return &Problem{Offset: s.from, Length: s.to - s.from, Summary: "Nested too deeply",
				Detail: fmt.Sprintf("Brackets and operators nest at most %d levels deep.", maxDepth)}
		}
	}
	return nil
}

// unclosed returns the last bracket that is opened and not closed.
func (r *tokenStream) unclosed() (lexer.Token, bool) {
	var open []lexer.Token
	for _, t := range r.tokens {
		if t.Kind != lexer.Bracket {
			continue
		}
		if strings.Contains("([{", t.Value) {
			open = append(open, t)
		} else if len(open) > 0 {
			open = open[:len(open)-1]
		}
	}
	if len(open) == 0 {
		return lexer.Token{}, false
	}
	return open[len(open)-1], true
}

// lexError explains an error of the lexer.
func (r *tokenStream) lexError(err error) *Problem {
	p := &Problem{Summary: "Unreadable text", Detail: "The text is not part of the expr language."}
	var e *file.Error
	if !errors.As(err, &e) {
		p.Length = len(r.source)
		return p
	}
	s := r.locate(e.Location)
	switch {
	case strings.HasPrefix(e.Message, "unrecognized character"):
		p.Summary, p.Detail = "Unexpected character", fmt.Sprintf("%q means nothing here.", r.source[s.from:s.to])
		if strings.HasPrefix(r.source[s.from:], "~") {
			p.Detail = "To compare with a pattern, write x matches '^a'."
		}
	case strings.HasPrefix(e.Message, "bad number"):
		p.Summary, p.Detail = "Malformed number", "A number is written 42, 1_000, 0.5, 1e6 or 0x2A, and no letter "+
			"follows it."
	case strings.HasPrefix(e.Message, "literal not terminated"):
		s = span{0, len(r.source)}
		if n := len(r.tokens); n > 0 {
			s.from = r.at(n - 1).to
		}
		if i := strings.IndexAny(r.source[s.from:], "\"'`"); i >= 0 {
			s.from += i
		}
		if i := strings.IndexByte(r.source[s.from:], '\n'); i >= 0 {
			s.to = s.from + i
		}
		p.Summary, p.Detail = "Unclosed string", "A quote is opened and not closed on the same line."
	case strings.HasPrefix(e.Message, "invalid char escape"), strings.HasPrefix(e.Message, "unable to unescape"):
		p.Summary, p.Detail = "Unknown escape", "The escapes of a string are \\n \\t \\\\ \\' \\\" and \\u1234. "+
			"For a pattern use backquotes, in which nothing is escaped: `\\d+`."
	case strings.HasPrefix(e.Message, "unclosed comment"):
		p.Summary, p.Detail = "Unclosed comment", "A comment that /* opens is closed by */."
	}
	p.Offset, p.Length = s.from, max(1, s.to-s.from)
	p.Length = min(p.Length, len(r.source)-p.Offset)
	return p
}

// parseError explains an error of the parser.
func (r *tokenStream) parseError(err error) *Problem {
	p := &Problem{Length: len(r.source), Summary: "Invalid program", Detail: "This cannot be read as an expr program."}
	var e *file.Error
	if !errors.As(err, &e) {
		return p
	}
	i := r.tokenAt(e.Location)
	s := r.locate(e.Location)
	if strings.Contains(e.Message, "literal") && i > 0 { // the parser is one token ahead
		s = r.at(i - 1)
	} else if strings.HasSuffix(e.Message, "EOF") {
		p.Offset = len(strings.TrimRight(r.source, " \t\r\n"))
		p.Length = 0
		p.Summary, p.Detail = "Program ends early", "A value is missing at the end."
		if open, ok := r.unclosed(); ok {
			s := r.locate(open.Location)
			p.Offset, p.Length = s.from, s.to-s.from
			p.Summary, p.Detail = "Unclosed bracket", fmt.Sprintf("%q is opened and not closed.", open.Value)
		}
		return p
	}
	p.Offset, p.Length = s.from, s.to-s.from
	if i >= 0 && strings.HasPrefix(e.Message, "unexpected token") {
		return r.tokenError(p, i)
	}
	p.Summary, p.Detail = explainParseError(e.Message)
	return p
}

// parserErrors explain the errors of the parser, by how their messages begin.
var parserErrors = []struct{ begin, summary, detail string }{
	{
		"expected at least", "Missing argument",
		"A list and what to do with each element are expected, for example filter(output.rows, .amount > 0).",
	},
	{
		"wrap predicate", "Predicate without braces",
		"A predicate of several expressions has braces: filter(list, {let x = #.a; x > 0}).",
	},
	{"a map key", "Invalid key", "A key is a name, a string, a number, or an expression in parentheses."},
	{
		"Operator (", "Mixed with ??",
		"?? needs parentheses when it is combined with another operator: write (a ?? b) > c.",
	},
	{
		"expected name", "Missing name",
		`The name of a member is expected after a dot; other keys are written x["a key"].`,
	},
}

func explainParseError(message string) (summary, detail string) {
	for _, e := range parserErrors {
		if strings.HasPrefix(message, e.begin) {
			return e.summary, e.detail
		}
	}
	switch {
	case strings.Contains(message, "maximum allowed nodes"):
		return "Program too large", "The program has more parts than a program may have."
	case strings.Contains(message, "literal"):
		return "Number too large",
			"A whole number in a program lies between -9223372036854775807 and 9223372036854775807."
	}
	return "Invalid program", "This cannot be read as an expr program."
}

// tokenAt returns the index of the token at a location, or -1.
func (r *tokenStream) tokenAt(at file.Location) int {
	for i, t := range r.tokens {
		if t.Location == at {
			return i
		}
	}
	return -1
}

// tokenError explains why the token at i cannot stand there.
func (r *tokenStream) tokenError(p *Problem, i int) *Problem {
	t := r.tokens[i]
	p.Summary = "Unexpected " + tokenKind(t)
	p.Detail = fmt.Sprintf("%s cannot stand here.", r.quote(r.at(i)))
	switch {
	case t.Is(lexer.Operator, ":"):
		r.explainColon(p, i)
	case t.Is(lexer.Operator, "=") && i+1 < len(r.tokens) && r.tokens[i+1].Is(lexer.Operator, ">"):
		p.Summary = "Function in a program"
		p.Detail = "A predicate needs no arrow: the element is read as #, its members as .name. " +
			"Write map(output.rows, .name), or output.rows | filter(.amount > 0)."
	case t.Is(lexer.Operator, "="):
		p.Summary = "Assignment in a program"
		p.Detail = "To compare, write ==. To name a value, write let: let x = input.a; x + 1."
	case t.Is(lexer.Operator, "."), t.Is(lexer.Operator, "#"):
		p.Summary = "Element outside a predicate"
		p.Detail = "# and .name are the element inside a predicate such as filter(list, .name != null); " +
			"elsewhere name the value: output.name."
		if name, ok := r.methodName(i); ok {
			p.Detail = fmt.Sprintf("A function is written before its list, or after a |: "+
				"write %s(list, %s…) or list | %[1]s(%[2]s…).", name, t.Value)
		}
	case t.Is(lexer.Operator, "&"):
		p.Detail = "To ask for both, write &&."
	case t.Kind == lexer.Bracket && strings.Contains(")]}", t.Value) && r.follows(i, lexer.Operator):
		p.Detail = fmt.Sprintf("A value is expected after %q.", r.tokens[i-1].Value)
	case t.Kind == lexer.Identifier && foreignOperators[strings.ToLower(t.Value)] != "":
		p.Detail = foreignOperators[strings.ToLower(t.Value)]
	case r.follows(i, lexer.Identifier) && r.tokens[i-1].Value == "for":
		p.Detail = "Programs have no for. Write map(list, .name) for one value of each element, " +
			"or filter(list, .amount > 0) for some of the elements."
	case t.Kind == lexer.Identifier || t.Kind == lexer.Number || t.Kind == lexer.String:
		p.Detail += " An operator or a comma is expected between two values."
	}
	return p
}

// explainColon explains map(list, {a: .x}), in which the braces are read as those of the predicate.
func (r *tokenStream) explainColon(p *Problem, i int) {
	object, call, ok := r.bareObject(i)
	if !ok {
		return
	}
	p.Offset, p.Length = object.from, object.to-object.from
	p.Summary = "Object in a predicate"
	p.Detail = fmt.Sprintf("The outer braces belong to the predicate, so an object needs braces of its own: "+
		"write %s{%s}%s.",
		r.source[call.from:object.from], r.source[object.from:object.to], r.source[object.to:call.to])
}

// follows reports whether the token at i follows one of a kind.
func (r *tokenStream) follows(i int, kind lexer.Kind) bool {
	return i > 0 && r.tokens[i-1].Kind == kind
}

// foreignOperators are operators of other languages, in lower case.
var foreignOperators = map[string]string{
	"and":  "To ask for both, write &&.",
	"or":   "To ask for either, write ||.",
	"not":  "To ask for the opposite, write !.",
	"in":   "To look into a list, write in.",
	"is":   "To compare, write == or !=.",
	"like": "To compare with a pattern, write x matches '^a', or x startsWith 'a'.",
}

// methodName returns the function of a call that is written list.filter(…).
func (r *tokenStream) methodName(i int) (name string, ok bool) {
	if i < 3 || !r.tokens[i-1].Is(lexer.Bracket, "(") || !r.tokens[i-3].Is(lexer.Operator, ".") {
		return "", false
	}
	_, ok = builtins[r.tokens[i-2].Value]
	return r.tokens[i-2].Value, ok
}

func tokenKind(t lexer.Token) string {
	switch t.Kind {
	case lexer.Operator:
		return "operator"
	case lexer.Bracket:
		return "bracket"
	case lexer.Identifier:
		return "name"
	case lexer.Number:
		return "number"
	}
	return "text"
}

func (r *tokenStream) quote(s span) string {
	text := r.source[s.from:s.to]
	if strings.HasPrefix(text, `"`) {
		return text
	}
	return `"` + text + `"`
}

// bareObject finds the braces and the call around the colon of map(list, {a: .x}).
func (r *tokenStream) bareObject(colon int) (braces, call span, ok bool) {
	open := colon - 2
	if open < 1 || !r.tokens[open].Is(lexer.Bracket, "{") {
		return braces, call, false
	}
	name := open - 1
	for depth := 0; name >= 0; name-- {
		t := r.tokens[name]
		if t.Kind == lexer.Bracket && strings.Contains(")]}", t.Value) {
			depth++
		} else if t.Kind == lexer.Bracket {
			if depth == 0 {
				break
			}
			depth--
		}
	}
	name--
	if name < 0 || r.tokens[name].Kind != lexer.Identifier {
		return braces, call, false
	}
	last := r.closing(open)
	end := r.closing(name + 1)
	if last < 0 || end < 0 {
		return braces, call, false
	}
	braces = span{r.at(open).from, r.at(last).to}
	call = span{r.at(name).from, r.at(end).to}
	return braces, call, true
}
