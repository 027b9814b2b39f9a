package sqltext

import (
	"fmt"
	"strings"

	"hatchel/hcl/diag"
	"hatchel/hcl/template"
)

// bindMode is the way in which an interpolation is bound.
type bindMode byte

const (
	asValue bindMode = iota
	asList           // [NOT] IN ${list}
	asRows           // VALUES ${rows}
	asName           // ident(...)
	asRaw            // raw(...)
)

// interpolationContext is the context of an interpolation, which must be the same in every rendering.
type interpolationContext struct {
	mode   bindMode
	list   span // PostgreSQL: the [NOT] IN to rewrite
	not    bool
	cols   int  // asRows: the number of columns; 0 if unknown
	single bool // asValue: a list cannot be bound here, even if the dialect has arrays
}

// readInterpolation reads an interpolation from state s and adds the states after it to out.
func (c *checker) readInterpolation(h *template.Interpolation, s state, out *states) {
	l := c.lexerAt(s, h.Range)
	if l.rejectEnclosed(h) {
		out.Add(l.state)
		return
	}
	switch h.Func {
	case "raw":
		c.readRaw(h, s, out)
		return
	case "ident":
		l.readIdent(h)
	case "":
		l.readValue(h)
	default:
		c.Errorf(h.Range, "Function not allowed here",
			"%s() has no meaning in SQL. Write the value alone: it is bound as a parameter.", h.Func)
		l.token(interpolation, "")
	}
	l.mode, l.interpolation = afterInterpolation, h
	out.Add(l.state)
}

// rejectEnclosed reports an interpolation inside quotes or a comment.
func (l *lexer) rejectEnclosed(h *template.Interpolation) bool {
	if h.Func == "raw" && l.mode != inEscape {
		return false
	}
	switch l.mode {
	case inQuote, inEscape:
		l.Errorf(h.Range, "Value inside quotes", "%s", diag.Correct("'${"+h.Source+"}'", "${"+h.Source+"}",
			l.quotedValueHint(h)))
		l.mode = inQuote
	case inLine, blockOpen, inBlock, blockStar, blockSlash:
		l.Errorf(h.Range, "Value inside a comment",
			"A comment cannot hold a value. Move ${%s} out of the comment, or write $${ for the two characters.",
			h.Source)
		if l.mode != inLine {
			l.mode = inBlock
		}
	case inDollar:
		l.Errorf(h.Range, "Value inside dollar quotes",
			"Text between %[1]s and %[1]s is one constant string. Close it before ${%[2]s} and join the parts with ||.",
			l.text, h.Source)
		l.depth = 0
	default:
		return false
	}
	return true
}

// endTokenBefore reports an interpolation that is adjacent to the previous token, and ends that
// token.
func (l *lexer) endTokenBefore(h *template.Interpolation) {
	switch l.mode {
	case inWord, inNumber, inTag, quoteEnd:
		l.missingSpace(h)
		w := l.text
		keyword := l.mode == inWord && l.prev != dot && (beforeValue[w] || beforeName[w] || w == "IN" ||
			w == "VALUES" || w == "BY")
		l.flush()
		// a keyword without its space still determines the context; for other words the mistake was
		// reported
		if !keyword {
			l.set(operator, "")
		}
	case afterInterpolation:
		l.missingOperator(h, "An operator or a comma is missing before it.")
		l.set(operator, "")
	case afterColon:
		if l.frame() != index {
			l.missingSpace(h)
		}
		l.flush()
	default:
		l.flush()
	}
}

func (l *lexer) readValue(h *template.Interpolation) {
	l.endTokenBefore(h)
	p := interpolationContext{mode: asValue}
	at, w, list, frame := l.prev, l.word, l.list, l.frame()
	behindIn := at == word && (w == "IN" || w == "NOT IN") && frame != special
	switch {
	case behindIn:
		p = interpolationContext{mode: asList, not: w == "NOT IN" && l.dialect == PostgreSQL}
		l.checkList(h, &p, list)
	case at == word && (w == "VALUES" || w == "VALUE" && l.dialect == MySQL):
		p = interpolationContext{mode: asRows, cols: max(l.cols, 0)}
		l.checkRows(h, p.cols)
	default:
		p.single = frame == elements
		l.checkValueContext(h)
		l.checkSingleValue(h, p.single)
	}
	l.recordContext(h, p)
	compared := at == operator && isComparison(w) && l.clause() != sets || p.single
	if p.single {
		w = "IN"
	}
	sorts := l.clause() == sorting && (at == comma || at == word && w == "ORDER BY")
	if compared {
		l.noteNullComparison(h, w)
	}
	if at == open && nullFunctions[l.word] {
		l.noteNullTest(h, false)
	}
	l.token(interpolation, "")
	if sorts {
		l.sortKey = h
	}
	if p.mode == asValue && h.Type.Nullable && !compared {
		l.nullable, l.tested = h, h
	}
}

// checkValueContext reports a value where only a name, a type or nothing is allowed.
func (l *lexer) checkValueContext(h *template.Interpolation) {
	clause, frame := l.clause(), l.frame()
	switch l.prev {
	case start:
		l.Errorf(h.Range, "Value without statement",
			"A statement cannot begin with a value. Write the statement's text in the template. To run a "+
				"statement that the caller sends, use `statement = ...` on a read-only connection.")
	case word:
		l.contextAfterWord(h)
	case name, ident, literal, escaped, closed, interpolation:
		l.missingOperator(h, "An operator, a keyword or a comma is missing before it.")
	case open, comma:
		switch {
		case frame == columns || frame == names:
			l.requireName(h, "Here, in a list of columns,")
		case l.prev == comma && clause == tables:
			l.requireName(h, "Here, in a list of tables,")
		case l.prev == comma && clause == sets:
			l.requireName(h, "Here, before the = of SET,")
		}
	case dot:
		l.requireName(h, "After a dot")
	case cast:
		l.Errorf(h.Range, "Value instead of name",
			"Only the name of a type is allowed after ::. Write the type itself, or raw(...) with types "+
				"that are known at load.")
	}
}

func (l *lexer) contextAfterWord(h *template.Interpolation) {
	w := l.word
	switch {
	case w == "FROM" && l.frame() == special, w == "IN" && l.frame() == special, w == "FOR",
		w == "INTERVAL" && l.dialect == MySQL,
		w == "ORDER BY", w == "DISTINCT ON", w == "IS NOT", w == "IS DISTINCT FROM":
	case beforeName[w], w == "KEY UPDATE":
		l.requireName(h, "After "+w)
	case beforeValue[w]:
	case w == "ANY" || w == "SOME" || w == "ALL":
		l.Errorf(h.Range, "Parentheses missing", "%s takes its list in parentheses: %s(${%s}).", w, w, h.Source)
	case typeNames[w]:
		l.Errorf(h.Range, "Missing operator", "%s is only allowed before a quoted string. Write CAST(${%s} AS %s).",
			w, h.Source, w)
	default:
		l.missingOperator(h, "An operator, a keyword or a comma is missing before it; or write "+
			"(${"+h.Source+"}) in parentheses. A keyword that depends on a value is text in a condition: "+
			"%{if input.x == …} DESC %{endif}.")
	}
}

var typeNames = template.WordSet(`DATE TIME TIMESTAMP TIMESTAMPTZ INTERVAL NUMERIC DECIMAL INTEGER INT BIGINT TEXT
	BOOLEAN UUID JSON JSONB`)

// recordContext records the context of an interpolation, and reports one whose context differs
// between renderings.
func (c *checker) recordContext(h *template.Interpolation, p interpolationContext) {
	old, ok := c.contexts[h]
	if ok && old.mode == p.mode && old.cols != p.cols {
		p.cols = 0
	} else if ok && old != p && !c.HasErrorAt(h.Range) {
		c.Errorf(h.Range, "Value with two meanings",
			"Depending on the branches before it, ${%s} is bound in different ways, such as after IN and "+
				"after =. Write it in each branch.", h.Source)
	}
	c.contexts[h] = p
}

func (c *checker) requireName(h *template.Interpolation, where string) {
	c.Errorf(h.Range, "Value instead of name", "%s only a name is allowed, and ${%s} is bound as a value. %s", where,
		h.Source, nameHint(h))
}

func (c *checker) sortsByConstant(h *template.Interpolation) {
	c.Errorf(h.Range, "Value instead of name",
		"ORDER BY, GROUP BY and PARTITION BY with a value give every row the same rank: ${%s} is bound as a value, "+
			"not as a column. %s", h.Source, nameHint(h))
}

func nameHint(h *template.Interpolation) string {
	if h.Type.Kind != template.Enum && !h.Type.Known {
		return fmt.Sprintf("Give it the type enum(...) with the allowed names, and write ${ident(%s)}.", h.Source)
	}
	return fmt.Sprintf("Write ${ident(%s)}: its names are known and quoted.", h.Source)
}

func (c *checker) missingOperator(h *template.Interpolation, what string) {
	c.Errorf(h.Range, "Missing operator", "${%s} is one complete value. %s", h.Source, what)
}

func (c *checker) missingSpace(h *template.Interpolation) {
	if h.Func == "ident" {
		c.Errorf(h.Range, "Missing space around a value",
			"ident() gives a whole quoted name, so only a dot may touch it. List the whole names in the "+
				"enum, or separate them with a space.")
		return
	}
	c.Errorf(h.Range, "Missing space around a value",
		"${%s} is one complete value, so no letter, digit or quote may touch it. Separate it with a space; join "+
			"strings with %s; a name that depends on a value is ${ident(...)} of an enum that lists the whole names.",
		h.Source, c.concatenation("'a'", "${"+h.Source+"}"))
}

// concatenation returns the dialect's syntax for joining strings.
func (c *checker) concatenation(parts ...string) string {
	if c.dialect == MySQL && len(parts) > 1 {
		return "CONCAT(" + strings.Join(parts, ", ") + ")"
	}
	return strings.Join(parts, " || ")
}
