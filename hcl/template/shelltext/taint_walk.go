package shelltext

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"hatchel/hcl/template"
)

// trackTaint follows the values of a call through a script and reports values that the shell would
// run as code.
func trackTaint(d *template.Diagnostics, file *syntax.File, l *scriptText, c *scriptCompiler) {
	a := newTaintWalk(d, l, c.inputs, c.lang == syntax.LangBash)
	for _, h := range c.values {
		a.values[h.variable] = h
		a.setVariable(h.variable, taintOf(h.Type, h.Source))
	}
	a.noteFunctions(file)
	a.noteDefined(file)
	top := scope{top: true}
	if c.inputs.Stdin != "" {
		top.stdin = taint{level: tainted, from: standardInput, loose: true, wild: true}
	}
	a.untilUnchanged(func() { a.stmts(file.Stmts, top) })
}

// noteFunctions records the functions that a script declares.
func (a *taintWalk) noteFunctions(file *syntax.File) {
	syntax.Walk(file, func(n syntax.Node) bool {
		if f, ok := n.(*syntax.FuncDecl); ok && f.Name != nil {
			a.functions[f.Name.Value] = true
		}
		return true
	})
}

// noteDefined records where the functions are declared that a script has from a place on.
func (a *taintWalk) noteDefined(file *syntax.File) {
	for _, s := range file.Stmts {
		if f, ok := s.Cmd.(*syntax.FuncDecl); ok && f.Name != nil && !s.Background {
			if _, known := a.defined[f.Name.Value]; !known {
				a.defined[f.Name.Value] = f.End().Offset()
			}
		}
	}
}

// isDefinedAt reports whether a program is surely a function of the script. Otherwise it may also be a program of that
// name: another process does not have the function, and the script may not have declared it yet or may remove it.
func (a *taintWalk) isDefinedAt(program word) bool {
	from, known := a.defined[program.text]
	return known && a.nested == nil && !a.unsets && program.node.Pos().Offset() >= from
}

func newTaintWalk(d *template.Diagnostics, l *scriptText, in Inputs, bash bool) *taintWalk {
	a := &taintWalk{Diagnostics: d, scriptText: l, vars: map[string]taint{}, args: map[string]taint{},
		stdin: map[string]taint{}, out: map[string]taint{}, functions: map[string]bool{}, defined: map[string]uint{},
		written: map[string]taint{},
		names:   map[string][]string{}, texts: map[string][]string{}, values: map[string]*scriptValue{},
		piped: map[string]bool{}, lists: map[string][]wordList{}, mentioned: map[string]taint{},
		inputs: in, bash: bash}
	a.noteTexts(unknownVariable, anyText)
	for name, v := range in.Env {
		a.setVariable(name, taintOf(v.Type, v.Source))
		if text, ok := v.Type.Constant.(string); ok && v.Type.Known {
			a.noteTexts(name, text)
		}
	}
	return a
}

func (a *taintWalk) setVariable(name string, t taint) {
	a.vars[name], a.anyTainted = t, a.anyTainted || t.level > trusted
}

// untilUnchanged walks until a fixed point is reached, and once more to report. The analysis ignores
// order: a variable that holds a value anywhere holds it everywhere.
func (a *taintWalk) untilUnchanged(walk func()) {
	for done := false; !done; {
		done = a.report
		a.changed, a.visited = false, map[visit]taint{}
		walk()
		a.report = !a.changed
	}
}

// taintWalk walks a script. Every method that takes a scope returns the taint of its node: of the
// output that it may write, or the value that it has.
type taintWalk struct {
	*template.Diagnostics
	*scriptText
	vars       map[string]taint    // by variable, for all functions together
	args       map[string]taint    // positional parameters by function; "" is the script
	stdin      map[string]taint    // the input of functions, by name
	out        map[string]taint    // the output of functions, by name
	written    map[string]taint    // by fileKey, what the script writes to files
	names      map[string][]string // variables that the constants assigned to a variable name
	texts      map[string][]string // patterns of the texts that a variable can have; see wordTexts
	lists      map[string][]wordList
	inputs     Inputs
	mentioned  map[string]taint // by words of programs that may write the files in them
	shifts     bool             // the script has shift
	changed    bool             // a taint increased in this round
	functions  map[string]bool
	defined    map[string]uint // by function, the offset from which on the script has it
	unsets     bool            // the script has unset with an option
	values     map[string]*scriptValue
	piped      map[string]bool // functions with an input
	bash       bool
	report     bool // the last round
	anyTainted bool
	errorsOnly bool // the code is a word of a list, which has no place for advice
	visited    map[visit]taint
	nested     *nested // set for code inside a word, as in sh -c
}

// nested is constant code inside a word of the script. Its range is that of the word.
type nested struct{ from, to int }

const standardInput = "the standard input"

// scope is the context of a statement.
type scope struct {
	function string
	stdin    taint
	top      bool // the standard input is that of the tool, which most commands do not read
}

// reading returns the scope with a standard input of its own.
func (sc scope) reading(stdin taint) scope {
	sc.stdin, sc.top = stdin, false
	return sc
}

func (a *taintWalk) errorAt(n syntax.Node, summary, format string, args ...any) {
	if a.report {
		a.Errorf(a.rangeOf(a.span(n)), summary, format, args...)
	}
}

func (a *taintWalk) warnAt(n syntax.Node, summary, format string, args ...any) {
	if a.report && !a.errorsOnly {
		a.Warnf(a.rangeOf(a.span(n)), summary, format, args...)
	}
}

func (a *taintWalk) span(n syntax.Node) (from, to int) {
	if a.nested != nil {
		return a.nested.from, a.nested.to
	}
	return offsets(n)
}

// sourceOf returns the source of a node, with ${...} for values.
func (a *taintWalk) sourceOf(n syntax.Node) string {
	return strings.ReplaceAll(a.source(a.span(n)), `"${`, `${`)
}

func (a *taintWalk) stmts(list []*syntax.Stmt, sc scope) (out taint) {
	for _, s := range list {
		out = out.max(a.stmt(s, sc))
	}
	return out
}

func (a *taintWalk) stmt(s *syntax.Stmt, sc scope) taint {
	if t := a.vars[shellInput]; t.level > trusted {
		sc = sc.reading(sc.stdin.max(t))
	}
	outer := sc
	for _, r := range s.Redirs {
		sc = a.redirect(r, sc)
	}
	if s.Cmd == nil {
		if len(s.Redirs) == 1 && s.Redirs[0].Op == syntax.RdrIn { // $(< file)
			return sc.stdin
		}
		return taint{}
	}
	out := a.command(s.Cmd, sc)
	a.noteExec(s, sc)
	a.noteFileOutput(s, out, outer)
	return out
}

func (a *taintWalk) command(c syntax.Command, sc scope) taint {
	switch c := c.(type) {
	case *syntax.CallExpr:
		return a.call(c, sc)
	case *syntax.BinaryCmd:
		out := a.stmt(c.X, sc)
		if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
			return a.stmt(c.Y, sc.reading(out))
		}
		return out.max(a.stmt(c.Y, sc))
	case *syntax.IfClause:
		var out taint
		for ; c != nil; c = c.Else {
			out = out.max(a.stmts(c.Cond, sc)).max(a.stmts(c.Then, sc))
		}
		return out
	case *syntax.WhileClause:
		return a.stmts(c.Cond, sc).max(a.stmts(c.Do, sc))
	case *syntax.ForClause:
		a.loop(c.Loop, sc)
		if c.Select {
			a.assignUnknown(c, "REPLY", sc.stdin)
		}
		return a.stmts(c.Do, sc)
	case *syntax.CaseClause:
		a.word(c.Word, sc)
		var out taint
		for _, i := range c.Items {
			for _, p := range i.Patterns {
				a.word(p, sc)
			}
			out = out.max(a.stmts(i.Stmts, sc))
		}
		return out
	case *syntax.Block:
		return a.stmts(c.Stmts, sc)
	case *syntax.Subshell:
		if inner, ok := onlySubshell(c); ok && !a.bash && inner.Lparen.Offset() == c.Lparen.Offset()+1 {
			a.errorAt(c, "Not in this shell",
				`Shells differ on ((: some compute, some run commands. To compute write $(( ... )), for a `+
					`subshell in a subshell put a space between the brackets.`)
		}
		return a.stmts(c.Stmts, sc)
	case *syntax.FuncDecl:
		if c.Name != nil {
			name := c.Name.Value
			a.join(a.out, name, a.stmt(c.Body, scope{function: name, stdin: a.stdin[name], top: !a.piped[name]}))
		}
	case *syntax.ArithmCmd:
		a.checkArithmetic(c.X, sc)
	case *syntax.LetClause:
		for _, x := range c.Exprs {
			a.checkArithmetic(x, sc)
		}
	case *syntax.TestClause:
		a.test(c.X, sc)
	case *syntax.DeclClause:
		a.declare(c, sc)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			return a.stmt(c.Stmt, sc)
		}
	case *syntax.CoprocClause:
		stmt := c.Stmt
		if stmt.Cmd == nil && c.Name != nil { // the parser takes a command with only redirections after it for a name
			stmt = &syntax.Stmt{Position: stmt.Position, Redirs: stmt.Redirs,
				Cmd: &syntax.CallExpr{Args: []*syntax.Word{c.Name}}}
		}
		out := a.stmt(stmt, sc.reading(a.unknownTaint()))
		a.join(a.vars, stored, out.computed())
		return out
	}
	return taint{}
}

func onlySubshell(c *syntax.Subshell) (*syntax.Subshell, bool) {
	if len(c.Stmts) == 0 {
		return nil, false
	}
	inner, ok := c.Stmts[0].Cmd.(*syntax.Subshell)
	return inner, ok
}

func (a *taintWalk) loop(l syntax.Loop, sc scope) {
	switch l := l.(type) {
	case *syntax.WordIter:
		t := a.args[sc.function]
		if l.InPos.IsValid() {
			t = taint{}
			for _, w := range l.Items {
				t = t.max(a.splitWord(w, sc))
				a.noteNames(l.Name.Value, w, sc)
			}
		}
		a.assign(l.Name, l.Name.Value, t)
	case *syntax.CStyleLoop:
		for _, x := range []syntax.ArithmExpr{l.Init, l.Cond, l.Post} {
			a.checkArithmetic(x, sc)
		}
	}
}
