package hcl

import (
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/schema"
	"hatchel/hcl/template"
	"hatchel/hcl/value"
)

// tree turns a template, or any expression that stands where a template may, into text, holes and structure.
func (c *compiler) tree(e hclsyntax.Expression, in env) *template.Tree {
	t := &template.Tree{Range: e.Range()}
	t.Nodes = c.nodes(e, in)
	return t
}

func (c *compiler) nodes(e hclsyntax.Expression, in env) []template.Node {
	switch e := e.(type) {
	case *hclsyntax.TemplateExpr:
		var out []template.Node
		for _, part := range e.Parts {
			out = join(out, c.part(part, in)...)
		}
		return out
	case *hclsyntax.TemplateWrapExpr:
		return []template.Node{c.hole(e.Wrapped, e.SrcRange, in)}
	case *hclsyntax.ParenthesesExpr:
		return c.nodes(e.Expression, in)
	}
	return []template.Node{c.hole(e, e.Range(), in)}
}

// part compiles one part of a template. Only a string literal is text; ${"x"} is a hole like every other.
func (c *compiler) part(e hclsyntax.Expression, in env) []template.Node {
	switch e := e.(type) {
	case *hclsyntax.LiteralValueExpr:
		v := native(e.Val)
		if value.Kind(v) == "string" && !c.startsWith(e.SrcRange, "${") {
			text := c.literalText(v.(string), e.SrcRange)
			c.lookalike(text)
			return []template.Node{text}
		}
		c.parameter(e)
	case *hclsyntax.ConditionalExpr:
		if c.startsWith(e.SrcRange, "%{") {
			return []template.Node{c.structuralIf(e, in)}
		}
	case *hclsyntax.TemplateJoinExpr:
		return []template.Node{c.structuralFor(e.Tuple.(*hclsyntax.ForExpr), in)}
	}
	return []template.Node{c.hole(e, c.holeRange(e.Range()), in)}
}

// parameter warns of a number that is probably meant to be the parameter of a shell.
func (c *compiler) parameter(e *hclsyntax.LiteralValueExpr) {
	at := c.holeRange(e.Range())
	if digits := e.Range().SliceBytes(c.src); len(digits) == 1 && digits[0] >= '0' && digits[0] <= '9' && c.startsWith(at, "${") {
		c.warnf(at, "Constant number", "This is the number %s. The parameter of a shell is written $%[1]s or $${%[1]s}.", digits)
	}
}

func (c *compiler) startsWith(r hclv2.Range, s string) bool {
	return r.Start.Byte >= 0 && r.Start.Byte <= len(c.src) && strings.HasPrefix(string(c.src[r.Start.Byte:min(r.Start.Byte+len(s), len(c.src))]), s)
}

func (c *compiler) structuralIf(e *hclsyntax.ConditionalExpr, in env) *template.If {
	cond := c.boolean(e.Condition, in)
	yes, no := in.facts.assume(c.narrowing(e.Condition, in))
	return &template.If{
		Cond:  cond.value_(),
		Then:  c.nodes(e.TrueResult, env{yes, in.vars}),
		Else:  c.nodes(e.FalseResult, env{no, in.vars}),
		Range: e.Condition.Range(),
	}
}

func (c *compiler) structuralFor(e *hclsyntax.ForExpr, in env) (loop *template.For) {
	c.looping(func() { loop = c.structuralForParts(e, in) })
	return loop
}

func (c *compiler) structuralForParts(e *hclsyntax.ForExpr, in env) *template.For {
	coll := c.expr(e.CollExpr, in)
	keyType, elemType := c.elements(coll, e.CollExpr.Range())
	body, keySlot := in, -1
	if e.KeyVar != "" {
		body, keySlot = c.declare(e.KeyVar, keyType, coll, body)
	}
	body, valSlot := c.declare(e.ValVar, elemType, coll, body)
	loop := &forLoop{coll: coll, keySlot: keySlot, valSlot: valSlot, what: subject(coll)}
	nodes := c.nodes(e.ValExpr, body)
	written := writtenText(nodes)
	return &template.For{
		Range: e.CollExpr.Range(),
		Body:  nodes,
		Over: func(f template.Frame, body func(template.Frame) error) error {
			g := f.(*Frame)
			return loop.run(g, func() error {
				if err := g.functions.Spend(written); err != nil {
					return err
				}
				return body(f)
			})
		},
	}
}

// writtenText is how many bytes of the author's own text a round writes at most, beside loops inside it.
func writtenText(nodes []template.Node) int {
	total := 0
	for _, n := range nodes {
		switch n := n.(type) {
		case *template.Text:
			total += len(n.Value)
		case *template.If:
			total += max(writtenText(n.Then), writtenText(n.Else))
		}
	}
	return total
}

// hole compiles one ${...}.
func (c *compiler) hole(e hclsyntax.Expression, r hclv2.Range, in env) *template.Hole {
	h := &template.Hole{Range: r, Source: c.text(e.Range())}
	call, ok := e.(*hclsyntax.FunctionCallExpr)
	if !ok || !contextual[call.Name] {
		n := c.expr(e, in)
		if n.typ.Kind == schema.Bytes && n.known {
			n.typ = anyType
		}
		h.Value, h.Type = n.value_(), c.templateType(e, n, in)
		if in.vars != nil {
			h.Value = charged(h.Value)
		}
		return h
	}
	h.Func = call.Name
	for _, a := range call.Args {
		h.Args = append(h.Args, c.hole(a, a.Range(), in))
	}
	h.Value, h.Type = c.contextualValue(h, call)
	return h
}

// contextual are the functions whose meaning depends on where they stand.
var contextual = map[string]bool{"ident": true, "raw": true, "path": true, "under": true}

func (n node) value_() template.Value {
	eval := n.eval
	return func(f template.Frame) (any, error) { return eval(f.(*Frame)) }
}

// charged is a value inside a loop, which pays for what it writes.
func charged(eval template.Value) template.Value {
	return func(f template.Frame) (any, error) {
		v, err := eval(f)
		if err == nil {
			err = f.(*Frame).charge(v)
		}
		return v, err
	}
}

// templateType says what the contextual compilers may know of a value.
func (c *compiler) templateType(e hclsyntax.Expression, n node, in env) template.Type {
	t := n.typ.TemplateType()
	t.Nullable = n.null != ""
	t.Known, t.Constant = n.known, n.value
	if tuple, ok := e.(*hclsyntax.TupleConsExpr); ok {
		quiet := *c // the elements were checked with the tuple; this only asks for their types
		for _, x := range tuple.Exprs {
			t.Tuple = append(t.Tuple, quiet.templateType(x, quiet.expr(x, in), in))
		}
	}
	return t
}

// join appends nodes, merging neighbouring texts: the parser cuts a literal at every line and escape.
func join(out []template.Node, more ...template.Node) []template.Node {
	for _, n := range more {
		t, ok := n.(*template.Text)
		if !ok || len(out) == 0 {
			out = append(out, n)
			continue
		}
		last, ok := out[len(out)-1].(*template.Text)
		if !ok {
			out = append(out, n)
			continue
		}
		out[len(out)-1] = merged(last, t)
	}
	return out
}

// holeRange widens the range of an expression to the ${ } around it.
func (c *compiler) holeRange(r hclv2.Range) hclv2.Range {
	start := r.Start.Byte
	for start > 0 && (c.src[start-1] == ' ' || c.src[start-1] == '~' || c.src[start-1] == '\t') {
		start--
	}
	if start < 2 || string(c.src[start-2:start]) != "${" {
		return r
	}
	end := r.End.Byte
	for end < len(c.src) && (c.src[end] == ' ' || c.src[end] == '~' || c.src[end] == '\t') {
		end++
	}
	if end >= len(c.src) || c.src[end] != '}' {
		return r
	}
	r.Start.Column -= r.Start.Byte - (start - 2)
	r.Start.Byte = start - 2
	r.End.Column += end + 1 - r.End.Byte
	r.End.Byte = end + 1
	return r
}
