package hclexpr

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/template"
	"hatchel/hcl/template/shelltext"
	"hatchel/hcl/template/sqltext"
	"hatchel/hcl/template/urltext"
)

// SQL is one statement, or several that are one transaction.
type SQL struct {
	statements []*sqltext.Program
	Listed     bool // it is written as a list
	Range      diag.Range
	ranges     []diag.Range
}

// Statements returns the compiled statements in order. Each binds the values of a call as
// parameters; see package sqltext.
func (s *SQL) Statements() []*sqltext.Program { return s.statements }

// StatementRange is where statement i was written.
func (s *SQL) StatementRange(i int) diag.Range { return s.ranges[i] }

// CompileSQL compiles a statement, or a list of them, of a dialect.
func (c *Compiler) CompileSQL(e hclsyntax.Expression, in LexicalEnv, dialect sqltext.Dialect) *SQL {
	s := &SQL{Range: diag.RangeOf(e.Range())}
	exprs := []hclsyntax.Expression{e}
	if t, ok := e.(*hclsyntax.TupleConsExpr); ok {
		s.Listed, exprs = true, t.Exprs
		if len(exprs) == 0 {
			c.Errorf(e.Range(), "Empty list", "A transaction needs at least one statement.")
		}
	}
	for _, x := range exprs {
		p, diags := sqltext.Compile(c.compileTree(x, in), dialect)
		c.Diags = append(c.Diags, diag.FromHCL(diags)...)
		s.statements, s.ranges = append(s.statements, p), append(s.ranges, diag.RangeOf(x.Range()))
	}
	return s
}

// Commands, which never contain values of a call as code; see package shelltext.
type (
	Script = shelltext.Script
	Argv   = shelltext.Argv
	Pipe   = shelltext.Pipe
)

// CompileScript compiles a shell script.
func (c *Compiler) CompileScript(e hclsyntax.Expression, in LexicalEnv) *Script {
	s, diags := shelltext.CompileScript(c.compileTree(e, in))
	c.Diags = append(c.Diags, diag.FromHCL(diags)...)
	return s
}

// CompileArgv compiles a command. Prefix are the words of its connection, which come before its
// own.
func (c *Compiler) CompileArgv(e hclsyntax.Expression, in LexicalEnv, prefix []string) *Argv {
	args, ok := c.listElements(e, in)
	if !ok {
		return nil
	}
	if len(args)+len(prefix) == 0 {
		c.Errorf(e.Range(), "Empty list", "A command needs at least the name of a program.")
		return nil
	}
	var all []shelltext.Arg
	for _, w := range prefix {
		text := &template.Tree{Nodes: []template.Node{c.literalText(w, e.Range())}, Range: e.Range()}
		all = append(all, shelltext.Arg{Text: text, Range: e.Range()})
	}
	a, diags := shelltext.CompileArgv(append(all, args...))
	c.Diags = append(c.Diags, diag.FromHCL(diags)...)
	return a
}

// CompilePipe compiles a list of commands.
func (c *Compiler) CompilePipe(e hclsyntax.Expression, in LexicalEnv) *Pipe {
	stages, ok := c.listElements(e, in)
	if !ok {
		return nil
	}
	if len(stages) == 0 {
		c.Errorf(e.Range(), "Empty list", "A pipe needs at least one command.")
		return nil
	}
	p, diags := shelltext.CompilePipe(stages)
	c.Diags = append(c.Diags, diag.FromHCL(diags)...)
	return p
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
		cond, yes, no := c.compileCondition(x.Condition, in)
		then, els := c.compileArg(x.TrueResult, yes), c.compileArg(x.FalseResult, no)
		a.Cond, a.Then, a.Else = asTemplateValue(cond), &then, &els
		return a
	}
	if l, ok := e.(*hclsyntax.LiteralValueExpr); ok && l.Val.IsNull() {
		return a
	}
	a.Value = c.compileInterpolation(e, e.Range(), in)
	return a
}

// RequestURL is the URL of a request: a path below the base URL of a connection, or a whole URL.
type RequestURL struct {
	bind func(template.Frame, []byte) ([]byte, error)
	url  *urltext.URL // nil for a path
}

// WithHosts returns the URL with the hosts that it may name if the host is a value. Each must be
// accepted by urltext.ValidHost.
func (a *RequestURL) WithHosts(hosts []string) *RequestURL {
	if a.url == nil {
		return a
	}
	return &RequestURL{a.url.Within(hosts).Bind, a.url}
}

// Bind appends the URL for one call. Every value is escaped for its place.
func (a *RequestURL) Bind(f *eval.Frame, dst []byte) ([]byte, error) { return a.bind(f, dst) }

// NeedsHosts reports whether the host is a value, so that the allowed hosts must be listed.
func (a *RequestURL) NeedsHosts() bool { return a.url != nil && a.url.HostsNeeded() }

// CompileURL compiles the URL of a request. If the block has a connection, linked, it is a path.
func (c *Compiler) CompileURL(e hclsyntax.Expression, in LexicalEnv, linked bool) *RequestURL {
	t := c.compileTree(e, in)
	if linked {
		p, diags := urltext.CompilePath(t)
		c.Diags = append(c.Diags, diag.FromHCL(diags)...)
		return &RequestURL{bind: p.Bind}
	}
	u, diags := urltext.CompileURL(t)
	c.Diags = append(c.Diags, diag.FromHCL(diags)...)
	return &RequestURL{u.Bind, u}
}
