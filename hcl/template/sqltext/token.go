package sqltext

import (
	"math"
	"slices"
)

// token records a complete token: it judges the tokens before it, then makes it the last token.
func (l *lexer) token(k kind, w string) {
	l.onToken(k, w)
	l.set(k, w)
}

// onToken checks a token against the tokens before it, which the state still holds.
func (l *lexer) onToken(k kind, w string) {
	if l.ended {
		l.errorAt(l.tokenSpan(), "More than one statement",
			"A statement ends at its semicolon, and this template is one statement. Write several as a "+
				"list: [\"...\", \"...\"].")
		l.ended = false
	}
	if l.prev == interpolation && (k == literal || k == escaped) {
		l.missingOperator(l.interpolation, "An operator or a comma is missing after it.")
	}
	if l.sortKey != nil {
		if k == comma || k == closed || k == semicolon || k == word && afterSort[w] {
			l.sortsByConstant(l.sortKey)
		}
		l.sortKey = nil
	}
	if l.nullable != nil {
		if k == operator && isComparison(w) || k == word && w == "IN" {
			l.noteNullComparison(l.nullable, w)
		}
		if k != word || w != "NOT" {
			l.nullable = nil
		}
	}
	if l.tested != nil {
		l.followTested(k, w)
	}
	if l.inInsertTarget && !(k == word && !afterTable[w] || k == name || k == dot || k == ident ||
		k == interpolation || k == open) {
		l.inInsertTarget = false
	}
}

// tokenSpan returns the span of the token that just ended.
func (l *lexer) tokenSpan() span {
	at := min(l.at, len(l.node.text.Value))
	if l.from.text != l.node.text {
		return span{l.node.text, 0, max(at, 1)}
	}
	return span{l.node.text, l.from.from, max(at, l.from.from+1)}
}

func (l *lexer) endWord() {
	w, at := l.text, l.tokenSpan()
	whole := l.from.text == l.node.text
	if l.prev == dot {
		l.token(name, "")
		return
	}
	if w[0] == '@' {
		l.token(literal, "")
		return
	}
	before, first, list, from := l.prev, l.word, l.list, l.from
	l.onToken(word, w)
	if w == "OR" || w == "WHEN" || w == "ELSE" {
		l.separate(l.number(from))
	}
	l.noteVerb(w, before)
	if joined, ok := pairs[[2]string{first, w}]; ok && before == word {
		if w = joined; list.text != at.text {
			whole = false
		}
		at.from = list.from
	}
	l.set(word, w)
	if whole && (w == "IN" || w == "NOT IN" || w == "NOT") {
		l.list = at
	}
	l.noteClause(w)
}

// noteVerb records a keyword that determines the kind of the statement.
func (l *lexer) noteVerb(w string, before kind) {
	if l.verb == "" || l.verb == "WITH" && !l.nested() && mainVerbs[w] {
		l.verb = w
	}
	if before == open && l.frame() == elements && mainVerbs[w] {
		l.setFrame(group)
	}
	if w == "RETURNING" {
		l.returning = true
	}
}

// noteClause records the list that a following comma continues, and forgets the columns of an
// INSERT before any VALUES that does not fill them.
func (l *lexer) noteClause(w string) {
	if clause, ok := clauses[w]; ok && !(w == "FROM" && l.frame() == special) {
		l.setClause(clause)
	}
	if l.frame() != columns && !betweenColumnsAndRows[w] {
		l.cols = 0
	}
	if w == "INTO" {
		l.inInsertTarget = true
	}
}

func (l *lexer) endOperator() {
	op := l.text
	if op == "?" && l.dialect == PostgreSQL && !slices.Contains([]kind{word, name, literal, escaped, interpolation,
		ident, closed}, l.prev) {
		at := l.tokenSpan()
		at.to = at.from + 1
		l.errorAt(at, "Hand-written placeholder",
			"? is written where a value belongs. Write the value itself, as in ${input.x}: it is bound as a parameter.")
	}
	l.token(operator, op)
}

func (l *lexer) punctuation(c byte) {
	switch c {
	case '(':
		l.openParenthesis()
	case '[':
		l.token(bracket, "")
		if l.dialect == PostgreSQL {
			l.push(index, l.here(), l.number(l.here()))
		}
	case ')', ']':
		l.closeParenthesis(c)
	case ',':
		l.token(comma, "")
		if l.frame() == columns && l.cols > 0 {
			l.cols++
		}
		if l.nested() && l.separated() {
			l.separate(l.number(l.here()))
		}
	case '.':
		l.token(dot, "")
	case ';':
		l.token(semicolon, "")
		l.ended = true
	}
}

func (l *lexer) openParenthesis() {
	frame, prev, w, target := byte(group), l.prev, l.word, l.inInsertTarget
	switch {
	case target && (prev == word && w != "INTO" || prev == name || prev == ident || prev == interpolation):
		frame = columns
	case prev != word:
	case w == "IN" || w == "NOT IN":
		if l.frame() != special {
			frame = elements
		}
	case w == "USING" || w == "CONFLICT" || w == "SET":
		frame = names
	case keywordCalls[w]:
		frame = special
	case w == "DISTINCT ON" || w == "OPERATOR":
		frame = operand
	}
	l.token(open, w)
	l.inInsertTarget = false
	if frame == columns {
		l.cols = 1
	}
	if len(l.frames) > 2*maxDepth {
		if !l.tooDeep {
			l.errorAt(l.here(), "Parentheses too deep", "Parentheses are nested more than %d deep.", maxDepth)
		}
		l.tooDeep = true
		return
	}
	l.push(frame, l.here(), l.number(l.here()))
	if prev == word && (w == "IF" || w == "IIF") {
		l.separate(l.number(l.here()))
	}
}

// number returns the number of a place, which is never 0.
func (l *lexer) number(at span) uint16 {
	p := place{at.text, at.from}
	if l.places[p] == 0 {
		l.places[p] = uint16(min(len(l.places)+1, math.MaxUint16))
	}
	return l.places[p]
}

func (l *lexer) closeParenthesis(c byte) {
	if l.dialect != PostgreSQL && c == ']' {
		l.token(operator, "]")
		return
	}
	if !l.nested() || (l.frame() == index) != (c == ']') {
		l.errorAt(l.here(), "Unmatched parenthesis",
			"This closes a parenthesis that is not open in every rendering of the template.")
		l.token(closed, "")
		return
	}
	l.token(closed, "")
	if l.pop() == operand {
		l.set(operator, "")
	}
}

// flush ends the current token, at the end of the template or before an interpolation.
func (l *lexer) flush() {
	switch l.mode {
	case inWord:
		l.endWord()
	case inNumber:
		l.token(literal, "")
	case inOperator:
		l.endOperator()
	case inTag:
		l.token(operator, "$")
	case afterColon:
		l.token(colon, "")
	case quoteEnd:
		l.endQuote()
	case twoDashes:
		l.token(operator, "-") // a placeholder follows, so it is not a comment
	case inLine:
		l.endComment()
	case afterInterpolation:
		l.mode = plain
	}
}

func isComparison(op string) bool { return op == "=" || op == "<>" || op == "!=" || op == "==" }
