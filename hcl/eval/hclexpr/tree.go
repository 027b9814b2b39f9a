package hclexpr

import (
	"bytes"
	"slices"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/functions"
	"hatchel/hcl/schema"
	"hatchel/hcl/template"
)

// compileTree compiles a template, or another expression in its place, to the nodes of a template.
func (c *Compiler) compileTree(e hclsyntax.Expression, in LexicalEnv) *template.Tree {
	in.outside = in.loops
	nodes := c.compileNodes(e, in)
	t := &template.Tree{Range: e.Range(), Nodes: nodes, Choices: template.FindChoices(nodes)}
	c.checkJoined(t)
	return t
}

func (c *Compiler) compileNodes(e hclsyntax.Expression, in LexicalEnv) []template.Node {
	switch e := e.(type) {
	case *hclsyntax.TemplateExpr:
		var out []template.Node
		for _, part := range e.Parts {
			out = append(out, c.compilePart(part, in))
		}
		return out
	case *hclsyntax.TemplateWrapExpr:
		return []template.Node{c.compileInterpolation(e.Wrapped, e.SrcRange, in)}
	case *hclsyntax.ParenthesesExpr:
		return c.compileNodes(e.Expression, in)
	}
	return []template.Node{c.compileInterpolation(e, e.Range(), in)}
}

// compilePart compiles one part of a template. Only a literal is text; ${"x"} is an interpolation
// like any other.
func (c *Compiler) compilePart(e hclsyntax.Expression, in LexicalEnv) template.Node {
	switch e := e.(type) {
	case *hclsyntax.LiteralValueExpr:
		if decoded, ok := LiteralValue(e.Val).(string); ok && !c.startsWith(e.SrcRange, "${") {
			text := c.literalText(decoded, e.SrcRange)
			c.warnPlaceholder(text)
			return text
		}
		c.warnShellParameter(e)
	case *hclsyntax.ConditionalExpr:
		if c.startsWith(e.SrcRange, "%{") {
			return c.compileIfDirective(e, in)
		}
	case *hclsyntax.TemplateJoinExpr:
		return c.compileForDirective(e.Tuple.(*hclsyntax.ForExpr), in)
	}
	return c.compileInterpolation(e, c.interpolationRange(e.Range()), in)
}

// warnShellParameter warns about a number that is probably meant as a shell parameter.
func (c *Compiler) warnShellParameter(e *hclsyntax.LiteralValueExpr) {
	at := c.interpolationRange(e.Range())
	if digits := e.Range().SliceBytes(c.src); len(digits) == 1 && digits[0] >= '0' && digits[0] <= '9' &&
		c.startsWith(at, "${") {
		c.warnf(at, "Constant number",
			"This is the number %s. A shell parameter is written $%[1]s or $${%[1]s}.", digits)
	}
}

func (c *Compiler) startsWith(r hclv2.Range, s string) bool {
	return bytes.HasPrefix(c.src[r.Start.Byte:], []byte(s))
}

func (c *Compiler) compileIfDirective(e *hclsyntax.ConditionalExpr, in LexicalEnv) *template.If {
	cond, yes, no := c.compileChoice(e.Condition, in)
	if c.env.Tests {
		at := diag.RangeOf(e.Condition.Range())
		cond.Cond = watchBranch(cond.Cond, at)
		c.deps.RecordBranch(at, "%{if "+c.sourceText(e.Condition.Range())+"}")
	}
	yes.notEmpty = slices.Concat(in.notEmpty, c.notEmptyWhen(e.Condition))
	out := &template.If{Condition: cond, Then: c.compileNodes(e.TrueResult, yes), Range: e.Condition.Range()}
	if nodes := c.compileNodes(e.FalseResult, no); !isEmptyText(nodes) {
		out.Else = nodes
	}
	return out
}

// watchBranch returns a condition that tells Frame.Branch its value.
func watchBranch(cond template.Value, at diag.Range) template.Value {
	return func(f template.Frame) (any, error) {
		v, err := cond(f)
		if frame := f.(*eval.Frame); frame.Branch != nil && err == nil {
			holds, _ := v.(bool)
			frame.Branch(at, holds)
		}
		return v, err
	}
}

// isEmptyText reports whether the nodes are those of an %{if} without %{else}.
func isEmptyText(nodes []template.Node) bool {
	text, ok := nodes[0].(*template.Text)
	return len(nodes) == 1 && ok && text.Value == ""
}

// compileChoice compiles the condition of a choice, and returns what compileCondition does.
func (c *Compiler) compileChoice(e hclsyntax.Expression, in LexicalEnv) (cond template.Condition, yes, no LexicalEnv) {
	n, yes, no := c.compileCondition(e, in)
	cond.Cond = asTemplateValue(n)
	if mayDiffer(e) {
		return cond, yes, no
	}
	cond.Key, cond.Negated = c.conditionKey(e)
	for _, name := range e.Variables() {
		if v := in.vars.find(name.RootName()); v != nil {
			cond.Depth = max(cond.Depth, v.loop-in.outside)
		}
	}
	return cond, yes, no
}

// mayDiffer reports whether an expression has a function that may give another value each time.
func mayDiffer(e hclsyntax.Expression) bool {
	found := false
	hclsyntax.VisitAll(e, func(n hclsyntax.Node) hclv2.Diagnostics {
		if call, ok := n.(*hclsyntax.FunctionCallExpr); ok {
			fn, known := functions.Lookup(call.Name)
			found = found || known && fn.CallOnly
		}
		return nil
	})
	return found
}

// conditionKey returns the tokens of a condition, which is the same for a condition and its negation,
// and whether it is negated.
func (c *Compiler) conditionKey(e hclsyntax.Expression) (key string, negated bool) {
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return c.conditionKey(e.Expression)
	case *hclsyntax.UnaryOpExpr:
		if e.Op == hclsyntax.OpLogicalNot {
			key, negated = c.conditionKey(e.Val)
			return key, !negated
		}
	case *hclsyntax.BinaryOpExpr:
		if e.Op == hclsyntax.OpEqual || e.Op == hclsyntax.OpNotEqual {
			return c.exprKey(e.LHS) + "==" + c.exprKey(e.RHS), e.Op == hclsyntax.OpNotEqual
		}
	}
	return c.exprKey(e), false
}

// exprKey returns the tokens of an expression, where operators have parentheses around what they apply to, and nothing
// else has.
func (c *Compiler) exprKey(e hclsyntax.Expression) string {
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return c.exprKey(e.Expression)
	case *hclsyntax.UnaryOpExpr:
		return c.tokensIn(e.SymbolRange) + "(" + c.exprKey(e.Val) + ")"
	case *hclsyntax.BinaryOpExpr:
		operator := hclv2.Range{Start: e.LHS.Range().End, End: e.RHS.Range().Start}
		return "(" + c.exprKey(e.LHS) + c.tokensIn(operator) + c.exprKey(e.RHS) + ")"
	case *hclsyntax.FunctionCallExpr:
		key := e.Name
		for _, a := range e.Args {
			key += "," + c.exprKey(a)
		}
		return key + ")"
	}
	return c.tokensIn(e.Range())
}

// tokensIn returns the source of a range without its white space and comments.
func (c *Compiler) tokensIn(r hclv2.Range) string {
	var out strings.Builder
	tokens, _ := hclsyntax.LexExpression([]byte(c.sourceText(r)), "", hclv2.InitialPos)
	for _, t := range tokens {
		if t.Type != hclsyntax.TokenNewline && t.Type != hclsyntax.TokenComment {
			out.Write(t.Bytes)
			out.WriteByte(' ')
		}
	}
	return out.String()
}

func (c *Compiler) compileForDirective(e *hclsyntax.ForExpr, in LexicalEnv) *template.For {
	var loop *forLoop
	var nodes []template.Node
	notEmpty := slices.Contains(in.notEmpty, c.exprKey(e.CollExpr))
	in.loops++
	c.trackReads(func() {
		loop, in = c.compileForHead(e, in)
		nodes = c.compileNodes(e.ValExpr, in)
	})
	written := literalSize(nodes)
	over := func(f template.Frame, body func(template.Frame) error) error {
		g := f.(*eval.Frame)
		return loop.run(g, func() error {
			if err := g.Functions.Spend(written); err != nil {
				return err
			}
			return body(f)
		})
	}
	return &template.For{Range: e.CollExpr.Range(), Body: nodes, Over: over, NotEmpty: notEmpty || loop.notEmpty}
}

// notEmptyWhen returns the tokens of the collections that have elements where a condition is true, such as
// length(x) > 0.
func (c *Compiler) notEmptyWhen(e hclsyntax.Expression) []string {
	if inner, ok := e.(*hclsyntax.ParenthesesExpr); ok {
		return c.notEmptyWhen(inner.Expression)
	}
	op, ok := e.(*hclsyntax.BinaryOpExpr)
	switch {
	case !ok:
		return nil
	case op.Op == hclsyntax.OpLogicalAnd:
		return slices.Concat(c.notEmptyWhen(op.LHS), c.notEmptyWhen(op.RHS))
	case op.Op != hclsyntax.OpGreaterThan && op.Op != hclsyntax.OpNotEqual:
		return nil
	}
	call, ok := op.LHS.(*hclsyntax.FunctionCallExpr)
	if !ok || call.Name != "length" || len(call.Args) != 1 || strings.TrimSpace(c.exprKey(op.RHS)) != "0" {
		return nil
	}
	return []string{c.exprKey(call.Args[0])}
}

// literalSize is the largest number of literal bytes that one iteration writes, without nested
// loops.
func literalSize(nodes []template.Node) int {
	total := 0
	for _, n := range nodes {
		switch n := n.(type) {
		case *template.Text:
			total += len(n.Value)
		case *template.If:
			total += max(literalSize(n.Then), literalSize(n.Else))
		}
	}
	return total
}

// compileInterpolation compiles one ${...}.
func (c *Compiler) compileInterpolation(e hclsyntax.Expression, r hclv2.Range, in LexicalEnv) *template.Interpolation {
	h := &template.Interpolation{Range: r, Source: c.sourceText(e.Range())}
	call, ok := e.(*hclsyntax.FunctionCallExpr)
	if !ok || templateFuncs[call.Name].takes == "" {
		n := c.Compile(e, in)
		if n.Type.Kind == schema.Bytes && n.Known {
			n.Type = eval.AnyType
		}
		h.Type = c.templateType(e, n, in)
		if text, ok := n.Value.(string); ok && n.Known && !n.Sensitive && !n.Supplied {
			h.Written = text
		}
		if in.vars != nil {
			n.Eval = chargeForText(n.Eval)
		}
		h.Value = asTemplateValue(n)
		return h
	}
	h.Func = call.Name
	for _, a := range call.Args {
		h.Args = append(h.Args, c.compileInterpolation(a, a.Range(), in))
	}
	h.Value, h.Type = c.templateFuncValue(h, call)
	return h
}

// asTemplateValue adapts an expression to the compilers of templates, whose frames are opaque.
func asTemplateValue(n eval.TypedExpr) template.Value {
	compute := n.Eval
	return func(f template.Frame) (any, error) { return compute(f.(*eval.Frame)) }
}

// templateType is what the compilers of templates may know of a value.
func (c *Compiler) templateType(e hclsyntax.Expression, n eval.TypedExpr, in LexicalEnv) template.Type {
	t := n.TemplateType()
	if loop, ok := e.(*hclsyntax.ForExpr); ok && t.Elem != nil && t.Elem.Elem != nil {
		if row, ok := loop.ValExpr.(*hclsyntax.TupleConsExpr); ok {
			elem := *t.Elem
			elem.Tuple = slices.Repeat([]template.Type{*elem.Elem}, len(row.Exprs))
			t.Elem = &elem
		}
	}
	if tuple, ok := e.(*hclsyntax.TupleConsExpr); ok {
		quiet := *c // the elements were checked with the tuple; only their types are needed
		for _, x := range tuple.Exprs {
			t.Tuple = append(t.Tuple, quiet.templateType(x, quiet.Compile(x, in), in))
		}
	}
	return t
}

// interpolationRange extends the range of an expression to the ${ } around it.
func (c *Compiler) interpolationRange(r hclv2.Range) hclv2.Range {
	before := bytes.TrimRight(c.src[:r.Start.Byte], " ~\t")
	after := bytes.TrimLeft(c.src[r.End.Byte:], " ~\t")
	if !bytes.HasSuffix(before, []byte("${")) || !bytes.HasPrefix(after, []byte("}")) {
		return r
	}
	start, end := len(before)-len("${"), len(c.src)-len(after)+len("}")
	r.Start.Column -= r.Start.Byte - start
	r.End.Column += end - r.End.Byte
	r.Start.Byte, r.End.Byte = start, end
	return r
}
