package hclexpr

import (
	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/template"
	"hatchel/hcl/template/shelltext"
	"hatchel/hcl/template/sqltext"
)

// SQL is one statement, or several that are one transaction.
type SQL struct {
	statements   []*sqltext.Program
	Listed       bool // it is written as a list
	ReadsResults bool // a statement reads the root output: the results of those before it
	Range        diag.Range
	ranges       []diag.Range
}

// Statements returns the compiled statements in order. Each binds the values of a call as
// parameters; see package sqltext.
func (s *SQL) Statements() []*sqltext.Program { return s.statements }

// StatementRange is where statement i was written.
func (s *SQL) StatementRange(i int) diag.Range { return s.ranges[i] }

// CompileSQL compiles a statement, or a list of them, of a dialect. If the root output can be read, it
// holds the results of the statements before.
func (c *Compiler) CompileSQL(e hclsyntax.Expression, in LexicalEnv, dialect sqltext.Dialect) *SQL {
	s := &SQL{Range: diag.RangeOf(e.Range())}
	exprs := []hclsyntax.Expression{e}
	if t, ok := e.(*hclsyntax.TupleConsExpr); ok {
		s.Listed, exprs = true, t.Exprs
		if len(exprs) == 0 {
			c.Errorf(e.Range(), "Empty list", "A transaction needs at least one statement.")
		}
	}
	around := c.Scope
	defer func() { c.Scope = around }()
	for i, x := range exprs {
		if output, _ := around.Find("output"); output != nil && i == 0 {
			c.Scope = around.Without("output",
				"Only a later statement of a list can read the results of those before it.")
		} else if output != nil {
			c.Scope = around
			c.checkResults(x, s, dialect)
		}
		p, diags := sqltext.Compile(c.compileTree(x, in), dialect)
		noteBindings(c, p)
		c.Diags = append(c.Diags, diag.FromHCL(diags)...)
		s.statements, s.ranges = append(s.statements, p), append(s.ranges, diag.RangeOf(x.Range()))
	}
	return s
}

// checkResults checks which results a statement reads of those before it.
func (c *Compiler) checkResults(e hclsyntax.Expression, before *SQL, dialect sqltext.Dialect) {
	for _, t := range e.Variables() {
		if t.RootName() != "output" {
			continue
		}
		before.ReadsResults = true
		if len(t) < 3 {
			continue
		}
		index, ok := t[2].(hclv2.TraverseIndex)
		n, isNumber := LiteralValue(index.Key).(int)
		switch {
		case !ok || !isNumber:
		case n < 0 || n >= len(before.statements):
			c.Errorf(t[2].SourceRange(), "Result not known yet",
				"This statement can read the results of those before it; the last one is output.results[%d].",
				len(before.statements)-1)
		case len(t) > 3 && before.statements[n] != nil:
			c.checkResult(t[3], n, before.statements[n], dialect)
		}
	}
}

// checkResult checks that statement n has a member of its result.
func (c *Compiler) checkResult(member hclv2.Traverser, n int, p *sqltext.Program, dialect sqltext.Dialect) {
	name, _ := TraverserName(member)
	switch {
	case name == "row" && !p.ReturnsRows():
		c.Errorf(member.SourceRange(), "Statement without rows",
			"Statement %d of the list returns no row. End it with RETURNING and the columns to read; on "+
				"MySQL, which has no RETURNING, read last_id.", n+1)
	case name == "last_id" && (dialect == sqltext.PostgreSQL || !p.Inserts()):
		c.Errorf(member.SourceRange(), "Statement without last_id",
			"Statement %d of the list has no last_id, which an INSERT has on SQLite, MySQL and MariaDB. End it with "+
				"RETURNING and the columns to read, and read row.", n+1)
	}
}

// Commands, which never contain values of a call as code; see package shelltext.
type (
	Script = shelltext.Script
	Argv   = shelltext.Argv
	Pipe   = shelltext.Pipe
)

// LoosePath is the summary of a diagnostic; see package shelltext.
const LoosePath = shelltext.LoosePath

// LoosePathDetail explains a path of a program; see package shelltext.
func LoosePathDetail(source, why string) string { return shelltext.LoosePathDetail(source, why, false) }

// CommandEnv is what a command gets from other arguments of its block, and from its connection.
type CommandEnv struct {
	Prefix []string // the words of the connection, which come before its own
	Inputs shelltext.Inputs
}

// CompileScript compiles a shell script.
func (c *Compiler) CompileScript(e hclsyntax.Expression, in LexicalEnv, env CommandEnv) *Script {
	s, diags := shelltext.CompileScript(c.compileTree(e, in), env.Inputs)
	noteBindings(c, s)
	c.Diags = append(c.Diags, diag.FromHCL(diags)...)
	return s
}

// CompileArgv compiles a command.
func (c *Compiler) CompileArgv(e hclsyntax.Expression, in LexicalEnv, env CommandEnv) *Argv {
	args, ok := c.listElements(e, in)
	if !ok {
		return nil
	}
	if args = append(c.prefixWords(e, env.Prefix), args...); len(args) == 0 {
		c.Errorf(e.Range(), "Empty list", "A command needs at least the name of a program.")
		return nil
	}
	a, diags := shelltext.CompileArgv(args, env.Inputs)
	noteBindings(c, a)
	c.Diags = append(c.Diags, diag.FromHCL(diags)...)
	return a
}

// prefixWords returns the words of a connection, which have no source in the block.
func (c *Compiler) prefixWords(e hclsyntax.Expression, prefix []string) []shelltext.Arg {
	words := make([]shelltext.Arg, 0, len(prefix))
	for _, w := range prefix {
		text := &template.Tree{Nodes: []template.Node{c.literalText(w, e.Range())}, Range: e.Range()}
		words = append(words, shelltext.Arg{Text: text, Range: e.Range()})
	}
	return words
}

// CompilePipe compiles a list of commands. The words of the connection begin the first one.
func (c *Compiler) CompilePipe(e hclsyntax.Expression, in LexicalEnv, env CommandEnv) *Pipe {
	t, ok := e.(*hclsyntax.TupleConsExpr)
	if !ok {
		c.Errorf(e.Range(), "Literal list needed",
			`A pipe is a list of commands, as in [["ps"], { command = ["grep", "-e", input.name], ok_codes = [0, 1] `+
				`}].`)
		return nil
	}
	if len(t.Exprs) == 0 {
		c.Errorf(e.Range(), "Empty list", "A pipe needs at least one command.")
		return nil
	}
	stages := make([]shelltext.Arg, len(t.Exprs))
	for i, x := range t.Exprs {
		stages[i] = c.compileStage(x, in)
	}
	for _, first := range stages[0].Branches() {
		if first.Group != nil {
			first.Group = append(c.prefixWords(e, env.Prefix), first.Group...)
		}
	}
	p, diags := shelltext.CompilePipe(stages, env.Inputs)
	noteBindings(c, p)
	c.Diags = append(c.Diags, diag.FromHCL(diags)...)
	return p
}

// compileStage compiles one stage of a pipe: a list of words, an object of a command and its exit
// codes, or a condition between such.
func (c *Compiler) compileStage(e hclsyntax.Expression, in LexicalEnv) shelltext.Arg {
	switch x := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return c.compileStage(x.Expression, in)
	case *hclsyntax.ConditionalExpr:
		a := shelltext.Arg{Range: e.Range(), Source: c.sourceText(e.Range())}
		cond, yes, no := c.compileChoice(x.Condition, in)
		then, els := c.compileStage(x.TrueResult, yes), c.compileStage(x.FalseResult, no)
		a.Condition, a.Then, a.Else = cond, &then, &els
		return a
	case *hclsyntax.ObjectConsExpr:
		return c.compileStageObject(x, in)
	}
	return c.compileArg(e, in)
}

// compileStageObject compiles { command, ok_codes }. Without a command, it is a null stage.
func (c *Compiler) compileStageObject(e *hclsyntax.ObjectConsExpr, in LexicalEnv) shelltext.Arg {
	a := shelltext.Arg{Range: e.Range()}
	reported := false
	for _, item := range e.Items {
		switch name, _ := c.compileKey(item.KeyExpr, in).Value.(string); name {
		case "command":
			words, isList := c.listElements(item.ValueExpr, in)
			a.Group, reported = words, reported || !isList
		case "ok_codes":
			a.OKCodes = c.exitCodes(item.ValueExpr, in)
		default:
			c.Errorf(item.KeyExpr.Range(), "Unknown argument", "A stage has no %q.%s", name,
				diag.SuggestOr(name, []string{"command", "ok_codes"}, " It has command and ok_codes."))
			reported = true
		}
	}
	if a.Group == nil && !reported {
		c.Errorf(e.Range(), "Missing argument",
			`A stage needs its words: { command = ["grep", "-e", input.name], ok_codes = [0, 1] }.`)
	}
	return a
}

// exitCodes returns a list of exit codes that is known at load.
func (c *Compiler) exitCodes(e hclsyntax.Expression, in LexicalEnv) (codes []int) {
	list, _ := c.Compile(e, in).Value.([]any)
	for _, v := range list {
		if code, ok := v.(int); ok && code >= 0 && code <= 255 {
			codes = append(codes, code)
		}
	}
	if len(codes) == 0 || len(codes) < len(list) {
		c.Errorf(e.Range(), "Wrong exit codes",
			"ok_codes is a list of integers from 0 to 255 that is known at load, as in [0, 1].")
	}
	return codes
}

// listElements compiles the elements of a list, which must be written out.
func (c *Compiler) listElements(e hclsyntax.Expression, in LexicalEnv) ([]shelltext.Arg, bool) {
	t, ok := e.(*hclsyntax.TupleConsExpr)
	if !ok {
		c.Errorf(e.Range(), "Literal list needed",
			`A command is a list with one word an element, as in ["git", "log", input.branch]. The elements of a `+
				`list in it are words, too.`)
		return nil, false
	}
	args := make([]shelltext.Arg, 0, len(t.Exprs))
	for _, x := range t.Exprs {
		args = append(args, c.compileArg(x, in))
	}
	return args, true
}

func (c *Compiler) compileArg(e hclsyntax.Expression, in LexicalEnv) shelltext.Arg {
	a := shelltext.Arg{Range: e.Range(), Source: c.sourceText(e.Range())}
	switch x := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return c.compileArg(x.Expression, in)
	case *hclsyntax.TemplateExpr:
		a.Text = c.compileTree(e, in)
		return a
	case *hclsyntax.TupleConsExpr:
		a.Group = []shelltext.Arg{}
		for _, m := range x.Exprs {
			a.Group = append(a.Group, c.compileArg(m, in))
		}
		return a
	case *hclsyntax.ConditionalExpr:
		cond, yes, no := c.compileChoice(x.Condition, in)
		then, els := c.compileArg(x.TrueResult, yes), c.compileArg(x.FalseResult, no)
		a.Condition, a.Then, a.Else = cond, &then, &els
		return a
	}
	if l, ok := e.(*hclsyntax.LiteralValueExpr); ok && l.Val.IsNull() {
		return a
	}
	if loop, ok := e.(*hclsyntax.ForExpr); ok && loop.KeyExpr == nil {
		if quiet := *c; !quiet.Compile(e, in).Known {
			a.Group, a.Over = c.compileWordLoop(loop, in)
			return a
		}
	}
	a.Value = c.compileInterpolation(e, e.Range(), in)
	return a
}

// compileWordLoop compiles [for x in list : word] and [for x in list : [word, …]].
func (c *Compiler) compileWordLoop(e *hclsyntax.ForExpr, in LexicalEnv) (words []shelltext.Arg, over template.Loop) {
	var loop *forLoop
	c.trackReads(func() {
		loop, in = c.compileForHead(e, in)
		if e.CondExpr != nil {
			var cond eval.TypedExpr
			cond, in, _ = c.compileCondition(e.CondExpr, in)
			loop.cond = cond.Eval
		}
		round := []hclsyntax.Expression{e.ValExpr}
		if list, ok := e.ValExpr.(*hclsyntax.TupleConsExpr); ok {
			round = list.Exprs
		}
		for _, x := range round {
			w := shelltext.Arg{Range: x.Range(), Source: c.sourceText(x.Range())}
			if text, ok := x.(*hclsyntax.TemplateExpr); ok {
				w.Text = c.compileTree(text, in)
			} else {
				w.Value = c.compileInterpolation(x, x.Range(), in)
			}
			words = append(words, w)
		}
	})
	return words, func(f template.Frame, body func(template.Frame) error) error {
		return loop.run(f.(*eval.Frame), func() error { return body(f) })
	}
}
