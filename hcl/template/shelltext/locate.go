package shelltext

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// locate finds the spot of every hole in a parsed script.
func locate(file *syntax.File, l *layout) {
	at := map[int]*scriptHole{}
	for _, p := range l.pieces {
		if p.hole != nil {
			at[p.from] = p.hole
		}
	}
	within := func(from, to syntax.Pos, s spot) {
		for _, p := range l.pieces {
			if p.hole != nil && p.from >= int(from.Offset()) && p.to <= int(to.Offset()) && p.hole.place == nowhere {
				p.hole.place = s
			}
		}
	}
	var stack []syntax.Node
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		stack = append(stack, n)
		switch n := n.(type) {
		case *syntax.ParamExp:
			h := at[int(n.Pos().Offset())]
			if h != nil && n.Param != nil && n.Param.Value == h.variable && n.Dollar.IsValid() {
				h.place = spotOf(stack[:len(stack)-1])
			}
		case *syntax.SglQuoted:
			s := inSingle
			if n.Dollar {
				s = inDollar
			}
			within(n.Pos(), n.End(), s)
		case *syntax.Comment:
			within(n.Pos(), n.End(), inComment)
		case *syntax.Redirect:
			if n.Hdoc != nil && rawDelimiter(n.Word) {
				within(n.Hdoc.Pos(), n.Hdoc.End(), inRawHere)
			}
		}
		return true
	})
}

// rawDelimiter reports that a here-document's delimiter is quoted, so that nothing in it is expanded.
func rawDelimiter(w *syntax.Word) bool {
	for _, p := range w.Parts {
		lit, ok := p.(*syntax.Lit)
		if !ok || strings.Contains(lit.Value, `\`) {
			return true
		}
	}
	return false
}

// spotOf reads from the inside out what surrounds a variable.
func spotOf(outer []syntax.Node) spot {
	pattern := false
	for i := len(outer) - 1; i >= 0; i-- {
		switch n := outer[i].(type) {
		case *syntax.DblQuoted:
			if pattern {
				return bare
			}
			return quoted
		case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.CStyleLoop:
			return inArith
		case *syntax.ParamExp:
			if w, ok := outer[min(i+1, len(outer)-1)].(*syntax.Word); ok && n.Exp != nil && w == n.Exp.Word {
				pattern = pattern || isPattern(n.Exp.Op)
			} else if n.Repl != nil && ok {
				pattern = true
			} else {
				return inArith // an index or a slice
			}
		case *syntax.Redirect:
			if w, ok := outer[i+1].(*syntax.Word); ok && w == n.Hdoc {
				if pattern {
					return inHerePattern
				}
				return quoted
			}
			if n.Op == syntax.Hdoc || n.Op == syntax.DashHdoc {
				return nowhere
			}
			return bare
		case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.Stmt:
			return bare
		}
	}
	return bare
}

func isPattern(op syntax.ParExpOperator) bool {
	switch op {
	case syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix,
		syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
		return true
	}
	return false
}

// spot refuses holes where the shell would not take them as values.
func (c *scriptCompiler) spot(h *scriptHole, file *syntax.File, l *layout) {
	loose := free(h.Type)
	switch h.place {
	case nowhere:
		c.errorf(h.Range, "Value cannot stand here", cannotStand, h.Source, h.Source)
	case inRawHere:
		c.errorf(h.Range, "Value in a quoted here-document", `The shell expands nothing in a here-document whose delimiter is quoted. Write the delimiter without quotes, <<EOF, and a backslash before each $ and backquote that is meant literally.`)
	case inHerePattern:
		c.errorf(h.Range, "Value cannot stand here", `Shells differ on a pattern inside a here-document. Assign it first: x=${%s}.`, h.Source)
	case inComment:
		if loose {
			c.errorf(h.Range, "Value in a comment", `A comment is not read, so %s would never be used. Remove it, or write $${...} to show it as text.`, h.Source)
		}
	case inSingle, inDollar:
		if loose {
			c.single(h, file, l)
		}
	}
	if loose && backquoted(h, file, l) {
		c.errorf(h.Range, "Value in backquotes", `Backquotes read their text twice. Write $( ... ) instead of backquotes.`)
	}
}

// single refuses a free value in single quotes and writes the word in double quotes.
func (c *scriptCompiler) single(h *scriptHole, file *syntax.File, l *layout) {
	from := hFrom(h, l)
	word, around := "", (*syntax.SglQuoted)(nil)
	syntax.Walk(file, func(n syntax.Node) bool {
		if q, ok := n.(*syntax.SglQuoted); ok && int(q.Pos().Offset()) <= from && from < int(q.End().Offset()) {
			around = q
		}
		return true
	})
	if around != nil {
		word = l.source(int(around.Pos().Offset()), int(around.End().Offset()))
	}
	hint := `Write the word in double quotes.`
	if word != "" && around != nil && !around.Dollar {
		hint = `Write the word in double quotes: ` + doubleQuoted(word) + `.`
	}
	c.errorf(h.Range, "Value in single quotes", `The shell expands nothing in single quotes. %s`, hint)
}

// doubleQuoted rewrites a single-quoted word whose values are ${...}.
func doubleQuoted(word string) string {
	inner := strings.TrimSuffix(strings.TrimPrefix(word, "'"), "'")
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(inner); i++ {
		switch ch := inner[i]; {
		case strings.HasPrefix(inner[i:], "$${"):
			b.WriteString(`\$${`)
			i += 2
		case strings.HasPrefix(inner[i:], "${"):
			end := max(strings.IndexByte(inner[i:], '}'), 0)
			b.WriteString(inner[i : i+end+1])
			i += end
		case ch == '$' || ch == '`' || ch == '"' || ch == '\\':
			b.WriteByte('\\')
			b.WriteByte(ch)
		default:
			b.WriteByte(ch)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func hFrom(h *scriptHole, l *layout) int {
	for _, p := range l.pieces {
		if p.hole == h {
			return p.from
		}
	}
	return -1
}

func backquoted(h *scriptHole, file *syntax.File, l *layout) bool {
	from, found := hFrom(h, l), false
	syntax.Walk(file, func(n syntax.Node) bool {
		if q, ok := n.(*syntax.CmdSubst); ok && q.Backquotes && int(q.Pos().Offset()) <= from && from < int(q.End().Offset()) {
			found = true
		}
		return true
	})
	return found
}
