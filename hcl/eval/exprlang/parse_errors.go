package exprlang

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser/lexer"
)

// tooDeep reports nesting that would exhaust the stack of the parser.
func (r *tokenStream) tooDeep() *Problem {
	depth, unary := 0, 0
	for i, t := range r.tokens {
		switch {
		case r.opens(i):
			depth++
		case r.closes(i):
			depth--
		case t.Kind == lexer.Operator:
			unary++
		default:
			unary = 0
		}
		if depth > maxDepth || unary > maxDepth {
			return newProblem(r.at(i), "Nested too deeply", "Brackets and operators nest at most %d levels deep.",
				maxDepth)
		}
	}
	return nil
}

// syntaxErrors explain the errors of the lexer and of the parser, by a part of their messages.
var syntaxErrors = []struct{ part, summary, detail string }{
	{"bad number", "Malformed number", "A number is written 42, 1_000, 0.5, 1e6 or 0x2A, and no letter follows it."},
	{"literal not terminated", "Unclosed string", "A quote is opened and not closed on the same line."},
	{"invalid char escape", "Unknown escape", escapes},
	{"unable to unescape", "Unknown escape", escapes},
	{"unclosed comment", "Unclosed comment", "A comment that /* opens is closed by */."},
	{"expected at least", "Missing argument",
		"A list and what to do with each element are expected, for example filter(output.rows, .amount > 0)."},
	{"wrap predicate", "Predicate without braces",
		"A predicate of several expressions has braces: filter(list, {let x = #.a; x > 0})."},
	{"a map key", "Invalid key", "A key is a name, a string, a number, or an expression in parentheses."},
	{"Operator (", "Mixed with ??",
		"?? needs parentheses when it is combined with another operator: write (a ?? b) > c."},
	{"expected name", "Missing name",
		`The name of a member is expected after a dot; other keys are written x["a key"].`},
	{"maximum allowed nodes", "Program too large", "The program has more parts than a program may have."},
	{"literal", "Number too large",
		"A whole number in a program lies between -9223372036854775807 and 9223372036854775807."},
	{"", "Invalid program", "This cannot be read as an expr program."},
}

const escapes = "The escapes of a string are \\n \\t \\\\ \\' \\\" and \\u1234. " +
	"For a pattern use backquotes, in which nothing is escaped: `\\d+`."

// explain explains an error of the lexer or of the parser.
func (r *tokenStream) explain(err error) *Problem {
	e := &file.Error{Location: file.Location{To: len(r.source)}}
	_ = errors.As(err, &e)
	s := r.locate(e.Location)
	i := slices.IndexFunc(r.tokens, func(t lexer.Token) bool { return t.Location == e.Location })
	switch {
	case strings.HasPrefix(e.Message, "unrecognized character"):
		if strings.HasPrefix(r.source[s.from:], "~") {
			return newProblem(s, "Unexpected character", "To compare with a pattern, write x matches '^a'.")
		}
		return newProblem(s, "Unexpected character", "%q means nothing here.", r.source[s.from:s.to])
	case strings.HasPrefix(e.Message, "literal not terminated"):
		s = r.unclosedString()
	case strings.Contains(e.Message, "literal") && i > 0: // the parser is one token ahead
		s = r.at(i - 1)
	case strings.HasSuffix(e.Message, "EOF"):
		return r.explainEnd()
	case strings.HasPrefix(e.Message, "unexpected token") && i >= 0:
		return r.explainToken(i)
	}
	s.to = min(max(s.to, s.from+1), len(r.source))
	for _, x := range syntaxErrors {
		if strings.Contains(e.Message, x.part) {
			return newProblem(s, x.summary, "%s", x.detail)
		}
	}
	return nil // unreachable: every message contains the last part
}

// unclosedString is the span from the quote after the last token to the end of the line.
func (r *tokenStream) unclosedString() span {
	s := span{0, len(r.source)}
	if n := len(r.tokens); n > 0 {
		s.from = r.at(n - 1).to
	}
	s.from += max(strings.IndexAny(r.source[s.from:], "\"'`"), 0)
	if i := strings.IndexByte(r.source[s.from:], '\n'); i >= 0 {
		s.to = s.from + i
	}
	return s
}

// explainEnd explains a program that ends where a value is missing.
func (r *tokenStream) explainEnd() *Problem {
	for i, t := range slices.Backward(r.tokens) {
		if r.opens(i) && r.closing(i) < 0 {
			return newProblem(r.at(i), "Unclosed bracket", "%q is opened and not closed.", t.Value)
		}
	}
	if p := r.explainPiped(len(r.tokens)); p != nil {
		return p
	}
	end := len(strings.TrimRight(r.source, " \t\r\n"))
	return newProblem(span{end, end}, "Program ends early", "A value is missing at the end.")
}

// explainPiped explains a function after | that has no parentheses before token i; nil for something else.
func (r *tokenStream) explainPiped(i int) *Problem {
	if i > 0 && i == len(r.tokens) && r.tokens[i-1].Kind == lexer.EOF {
		i--
	}
	if i < 2 || r.tokens[i-1].Kind != lexer.Identifier || !r.tokens[i-2].Is(lexer.Operator, "|") {
		return nil
	}
	return newProblem(r.at(i-1), "Function without parentheses", "After | is a call of a function, with its "+
		"parentheses: | %s().", r.tokens[i-1].Value)
}

// explainToken explains why token i cannot stand where it is.
func (r *tokenStream) explainToken(i int) *Problem {
	if p := r.explainPiped(i); p != nil {
		return p
	}
	t, s := r.tokens[i], r.at(i)
	before := lexer.Token{}
	if i > 0 {
		before = r.tokens[i-1]
	}
	summary := "Unexpected " + cmp.Or(tokenKinds[t.Kind], "text")
	quoted := r.source[s.from:s.to]
	if t.Kind != lexer.String || quoted[0] != '"' {
		quoted = `"` + quoted + `"`
	}
	detail := quoted + " cannot stand here."
	switch {
	case t.Is(lexer.Operator, ":"):
		if object, call, ok := r.bareObject(i); ok {
			return newProblem(object, "Object in a predicate", "The outer braces belong to the predicate, so an "+
				"object needs braces of its own: write %s{%s}%s.", r.source[call.from:object.from],
				r.source[object.from:object.to], r.source[object.to:call.to])
		}
	case t.Is(lexer.Operator, "=") && i+1 < len(r.tokens) && r.tokens[i+1].Is(lexer.Operator, ">"):
		summary = "Function in a program"
		detail = "A predicate needs no arrow: the element is read as #, its members as .name. " +
			"Write map(output.rows, .name), or output.rows | filter(.amount > 0)."
	case t.Is(lexer.Operator, "="):
		summary = "Assignment in a program"
		detail = "To compare, write ==. To name a value, write let: let x = input.a; x + 1."
	case t.Is(lexer.Operator, "."), t.Is(lexer.Operator, "#"):
		summary = "Element outside a predicate"
		detail = "# and .name are the element inside a predicate such as filter(list, .name != null); " +
			"elsewhere name the value: output.name."
		if name := r.methodName(i); name != "" {
			detail = fmt.Sprintf("A function is written before its list, or after a |: "+
				"write %s(list, %s…) or list | %[1]s(%[2]s…).", name, t.Value)
		}
	case t.Is(lexer.Operator, "&"):
		detail = "To ask for both, write &&."
	case r.closes(i) && before.Kind == lexer.Operator:
		detail = fmt.Sprintf("A value is expected after %q.", before.Value)
	case t.Kind == lexer.Identifier && foreignOperators[strings.ToLower(t.Value)] != "":
		detail = foreignOperators[strings.ToLower(t.Value)]
	case before.Is(lexer.Identifier, "for"):
		detail = "Programs have no for. Write map(list, .name) for one value of each element, " +
			"or filter(list, .amount > 0) for some of the elements."
	case t.Kind == lexer.Identifier || t.Kind == lexer.Number || t.Kind == lexer.String:
		detail += " An operator or a comma is expected between two values."
	}
	return newProblem(s, summary, "%s", detail)
}

var tokenKinds = map[lexer.Kind]string{
	lexer.Operator: "operator", lexer.Bracket: "bracket", lexer.Identifier: "name", lexer.Number: "number",
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

// methodName returns the function of a call that is written list.filter(…), or "".
func (r *tokenStream) methodName(i int) string {
	if i < 3 || !r.tokens[i-1].Is(lexer.Bracket, "(") || !r.tokens[i-3].Is(lexer.Operator, ".") {
		return ""
	}
	return builtins[r.tokens[i-2].Value].Name
}

// bareObject finds the braces and the call around the colon of map(list, {a: .x}), in which the
// braces are read as those of the predicate.
func (r *tokenStream) bareObject(colon int) (braces, call span, ok bool) {
	open := colon - 2
	if open < 1 || !r.tokens[open].Is(lexer.Bracket, "{") {
		return braces, call, false
	}
	last := r.closing(open)
	for i := open - 1; i > 0 && last > 0; i-- {
		if end := r.closing(i); r.opens(i) && end > last {
			braces, call = span{r.at(open).from, r.at(last).to}, span{r.at(i - 1).from, r.at(end).to}
			return braces, call, r.tokens[i-1].Kind == lexer.Identifier
		}
	}
	return braces, call, false
}
