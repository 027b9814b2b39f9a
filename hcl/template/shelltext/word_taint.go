package shelltext

import (
	"iter"
	"strings"

	"hatchel/internal/lazyregexp"

	"mvdan.cc/sh/v3/syntax"
)

// word returns the taint of a word.
func (a *taintWalk) word(w *syntax.Word, sc scope) taint {
	if w == nil {
		return taint{}
	}
	return a.parts(w.Parts, sc)
}

func (a *taintWalk) parts(parts []syntax.WordPart, sc scope) taint {
	var t taint
	for _, p := range parts {
		t = t.max(a.part(p, sc))
	}
	if len(parts) > 1 {
		t = t.concatenated()
	}
	return t
}

func (a *taintWalk) part(p syntax.WordPart, sc scope) taint {
	switch p := p.(type) {
	case *syntax.DblQuoted:
		return a.parts(p.Parts, sc)
	case *syntax.ParamExp:
		return a.parameter(p, sc)
	case *syntax.CmdSubst:
		return a.visitOnce(p, sc, func() taint { return a.stmts(p.Stmts, sc).computed() })
	case *syntax.ProcSubst:
		return a.visitOnce(p, sc, func() taint { return a.process(p, sc) })
	case *syntax.ArithmExp:
		a.checkArithmetic(p.X, sc)
	case *syntax.BraceExp:
		var t taint
		for _, w := range p.Elems {
			t = t.max(a.word(w, sc))
		}
		return t.computed()
	}
	return taint{}
}

// visit identifies one visit of the commands inside a word.
type visit struct {
	node  syntax.WordPart
	scope scope
}

// visitOnce visits the commands inside a word once in each round. A word is visited for several
// reasons, and without this the visits would double with every level of nesting.
func (a *taintWalk) visitOnce(p syntax.WordPart, sc scope, look func() taint) taint {
	v := visit{p, sc}
	t, known := a.visited[v]
	if !known {
		t = look()
		a.visited[v] = t
	}
	return t
}

// process follows <(...), whose value is the output of the commands, and >(...), whose commands
// read unknown input.
func (a *taintWalk) process(p *syntax.ProcSubst, sc scope) taint {
	if p.Op == syntax.CmdOut {
		a.stmts(p.Stmts, sc.reading(a.unknownTaint()))
		return taint{}
	}
	return a.stmts(p.Stmts, sc).computed()
}

// unknownTaint returns the taint of a value that cannot be followed.
func (a *taintWalk) unknownTaint() taint {
	if !a.anyTainted {
		return taint{}
	}
	return taint{level: tainted, from: standardInput, loose: true, wild: true}
}

// variable returns the taint of a variable or a positional parameter.
func (a *taintWalk) variable(name string, sc scope) taint {
	switch {
	case isPositional(name):
		return a.args[sc.function]
	case name == "0" && strings.HasPrefix(sc.function, inlinePrefix):
		return a.args[sc.function]
	case name == "_" || name == "BASH_REMATCH" || name == "BASH_ARGV" || name == "DIRSTACK":
		return a.unknownTaint()
	}
	return a.vars[name]
}

// isPositional reports whether a variable is a positional parameter, or all of them.
func isPositional(name string) bool {
	return name == "@" || name == "*" || name != "0" && strings.Trim(name, "0123456789") == "" && name != ""
}

// parameter returns the taint of $x, ${x...}, $1, $@ and similar expansions.
func (a *taintWalk) parameter(p *syntax.ParamExp, sc scope) taint {
	if p.Param == nil {
		return taint{}
	}
	name := p.Param.Value
	t := a.variable(name, sc)
	if p.Index != nil {
		if w, ok := p.Index.(*syntax.Word); !ok || w.Lit() != "@" && w.Lit() != "*" {
			a.checkArithmetic(p.Index, sc)
		}
	}
	if p.Length {
		return taint{}
	}
	if p.Excl && p.Names == 0 {
		a.rejectName(p, t)
		t = t.max(a.named(nameKey(name, sc), map[string]bool{})) // ${!x}: the value of the variable that x names
	}
	if p.Slice != nil {
		t = t.computed()
		a.checkArithmetic(p.Slice.Offset, sc)
		a.checkArithmetic(p.Slice.Length, sc)
	}
	if p.Repl != nil {
		t = t.max(a.word(p.Repl.Orig, sc)).max(a.word(p.Repl.With, sc)).computed()
	}
	if p.Exp == nil {
		return t
	}
	given := a.word(p.Exp.Word, sc)
	switch p.Exp.Op {
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		a.assign(p, name, given)
		a.noteNames(name, p.Exp.Word, sc)
		return t.max(given)
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull:
		return t.max(given)
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		return given
	case syntax.OtherParamOps:
		if op := p.Exp.Word.Lit(); op == "P" && t.level > trusted {
			a.errorAt(p, "Value in a program's code",
				`${x@P} runs the code in its value, and %s can be any text. Write "$x".`, t.from)
		}
	}
	return t.computed()
}

// splitWord returns the taint of a word of a command line. It warns about a variable outside
// quotes, which the shell splits and expands as a file name pattern.
func (a *taintWalk) splitWord(w *syntax.Word, sc scope) taint {
	a.warnUnquoted(w, sc)
	return a.word(w, sc)
}

func (a *taintWalk) warnUnquoted(w *syntax.Word, sc scope) {
	if !a.report {
		return
	}
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.ParamExp:
			if t := a.parameter(p, sc); t.level > trusted && (t.wild || t.level == confined) {
				from, to := a.span(p)
				a.warnAt(p, "Unquoted variable",
					`The shell splits this at spaces and takes * and ? for file names, and it holds %s. Write "%s".`,
					t.from, a.text[from:to])
			}
		case *syntax.CmdSubst:
			if t := a.stmts(p.Stmts, sc); t.level > trusted {
				a.warnAt(p, "Unquoted command substitution",
					`The shell splits this at spaces and takes * and ? for file names, and it may hold %s. `+
						`Write "$(...)" in double quotes.`, t.from)
			}
		}
	}
}

// describeWord returns a word as commandSpecs see it: the constant text up to the first expansion.
func (a *taintWalk) describeWord(w *syntax.Word, sc scope) word {
	t := a.splitWord(w, sc)
	out := word{constant: true, taint: t, node: w, texts: a.wordTexts(w, sc)}
	for text, p := range flatten(w.Parts) {
		if out.constant = p == nil; !out.constant {
			break
		}
		out.text += text
	}
	return out
}

// flatten iterates over the parts of a word without its quotes: constant text, or an expansion.
func flatten(parts []syntax.WordPart) iter.Seq2[string, syntax.WordPart] {
	return func(yield func(string, syntax.WordPart) bool) { eachPart(parts, yield) }
}

func eachPart(parts []syntax.WordPart, yield func(text string, p syntax.WordPart) bool) bool {
	for _, p := range parts {
		more := true
		switch p := p.(type) {
		case *syntax.Lit:
			more = yield(unescape(p.Value), nil)
		case *syntax.SglQuoted:
			more = yield(p.Value, nil)
		case *syntax.DblQuoted:
			more = eachPart(p.Parts, yield)
		default:
			more = yield("", p)
		}
		if !more {
			return false
		}
	}
	return true
}

// unescape removes the backslashes of a word outside quotes.
func unescape(s string) string {
	return escaped.ReplaceAllStringFunc(s, func(pair string) string {
		if pair == "\\\n" {
			return ""
		}
		return pair[1:]
	})
}

var escaped = lazyregexp.New(`(?s)\\.`)
