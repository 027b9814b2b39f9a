package shelltext

import (
	"slices"
	"strings"

	"hatchel/internal/lazyregexp"

	"mvdan.cc/sh/v3/syntax"
)

// findContexts determines the quoting context of every interpolation in a parsed script.
func findContexts(file *syntax.File, l *scriptText) {
	at := map[int]*scriptValue{}
	for _, p := range l.segments {
		if p.value != nil {
			at[p.from] = p.value
		}
	}
	unexpanded := func(n syntax.Node, context quoteContext) {
		for _, h := range l.valuesIn(n) {
			if h.context == ctxNone {
				h.context, h.enclosing = context, n
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
				h.context = contextOf(stack[:len(stack)-1])
			}
		case *syntax.SglQuoted:
			if n.Dollar {
				unexpanded(n, ctxDollarQuoted)
			} else {
				unexpanded(n, ctxSingleQuoted)
			}
		case *syntax.Comment:
			unexpanded(n, ctxComment)
		case *syntax.CmdSubst:
			for _, h := range l.valuesIn(n) {
				h.backquoted = h.backquoted || n.Backquotes
			}
		case *syntax.Redirect:
			if n.Hdoc != nil && rawDelimiter(n.Word) {
				unexpanded(n.Hdoc, ctxRawHereDoc)
			}
		}
		return true
	})
}

// rawDelimiter reports whether a here-document's delimiter is quoted, so that nothing in it is
// expanded.
func rawDelimiter(w *syntax.Word) bool {
	for _, p := range w.Parts {
		lit, ok := p.(*syntax.Lit)
		if !ok || strings.Contains(lit.Value, `\`) {
			return true
		}
	}
	return false
}

// contextOf returns the quoting context of a variable from its enclosing nodes, innermost first.
func contextOf(outer []syntax.Node) quoteContext {
	pattern := false
	for i := len(outer) - 1; i >= 0; i-- {
		switch n := outer[i].(type) {
		case *syntax.DblQuoted:
			if pattern {
				return ctxBare
			}
			return ctxQuoted
		case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.CStyleLoop:
			return ctxArithmetic
		case *syntax.ParamExp:
			if w, ok := outer[min(i+1, len(outer)-1)].(*syntax.Word); ok && n.Exp != nil && w == n.Exp.Word {
				pattern = pattern || slices.Contains(patternOperators, n.Exp.Op)
			} else if n.Repl != nil && ok {
				pattern = true
			} else {
				return ctxArithmetic // an index or a slice
			}
		case *syntax.Redirect:
			if w, ok := outer[i+1].(*syntax.Word); ok && w == n.Hdoc {
				if pattern {
					return ctxHereDocPattern
				}
				return ctxQuoted
			}
			if n.Op == syntax.Hdoc || n.Op == syntax.DashHdoc {
				return ctxNone
			}
			return ctxBare
		case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.Stmt:
			return ctxBare
		}
	}
	return ctxBare
}

// patternOperators are the operators of ${x...} whose word is a pattern.
var patternOperators = []syntax.ParExpOperator{syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix,
	syntax.RemLargeSuffix, syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll}

// checkContext reports an interpolation that the shell would not treat as a value.
func (c *scriptCompiler) checkContext(h *scriptValue, l *scriptText) {
	loose := CallerControlled(h.Type)
	switch {
	case h.context == ctxNone:
		c.Errorf(h.Range, "Value not allowed here", cannotStand, h.Source)
	case h.context == ctxRawHereDoc:
		c.Errorf(h.Range, "Value in a quoted here-document",
			`The shell expands nothing in a here-document whose delimiter is quoted. Write the delimiter without `+
				`quotes, <<EOF, and a backslash before each $ and backquote that is meant literally.`)
	case h.context == ctxHereDocPattern:
		c.Errorf(h.Range, "Value not allowed here",
			`Shells differ on a pattern inside a here-document. Assign it first: x=${%s}.`, h.Source)
	case h.context == ctxComment && loose:
		c.Errorf(h.Range, "Value in a comment",
			`A comment is not read, so %s would never be used. Remove it, or write $${...} to show it as text.`,
			h.Source)
	case (h.context == ctxSingleQuoted || h.context == ctxDollarQuoted) && loose:
		rewritten := ""
		if word := l.source(offsets(h.enclosing)); word != "" && h.context == ctxSingleQuoted {
			rewritten = ": " + doubleQuoted(word)
		}
		c.Errorf(h.Range, "Value in single quotes",
			`The shell expands nothing in single quotes. Write the word in double quotes%s.`, rewritten)
	}
	if loose && h.backquoted {
		c.Errorf(h.Range, "Value in backquotes",
			`The shell parses the code in backquotes twice. Write $( ... ) instead of backquotes.`)
	}
}

// doubleQuoted rewrites a single-quoted word with ${...} interpolations.
func doubleQuoted(word string) string {
	inner := strings.TrimSuffix(strings.TrimPrefix(word, "'"), "'")
	return `"` + expandable.ReplaceAllStringFunc(inner, func(s string) string {
		if strings.HasPrefix(s, "${") {
			return s
		}
		return `\` + s
	}) + `"`
}

var expandable = lazyregexp.New("\\$\\$\\{|\\$\\{[^}]*\\}|[$`\"\\\\]")
