package sqltext

import (
	"cmp"
	"maps"
	"slices"

	"hatchel/hcl/template"
	"hatchel/internal/lazyregexp"
)

// generate assembles the program of a valid template.
func (c *checker) generate() *Program {
	p := &Program{dialect: c.dialect, kinds: slices.Collect(maps.Keys(c.kinds))}
	p.root = c.generateBlock(c.tree.Nodes, nil)
	p.static = true
	var text []byte
	for _, s := range p.root {
		switch s := s.(type) {
		case literalText:
			text = append(text, s...)
		case *param:
			p.params = append(p.params, s)
			text = append(c.dialect.placeholder(append(text, s.before...), len(p.params)), s.after...)
		default:
			p.static = false
		}
	}
	if p.static {
		p.text = string(text)
	} else {
		p.params = nil
	}
	return p
}

// generateBlock assembles the steps of nodes. Adjacent texts are joined. The separator is the %{if}
// that separates the rounds of the loop whose body the nodes are.
func (c *checker) generateBlock(list []template.Node, separator *template.If) block {
	var out block
	text := ""
	flush := func() {
		if text != "" {
			out = append(out, literalText(text))
			text = ""
		}
	}
	for i, n := range list {
		var next template.Node
		if i+1 < len(list) {
			next = list[i+1]
		}
		switch n := n.(type) {
		case *template.Text:
			text += n.Value
			if h, ok := next.(*template.Interpolation); ok {
				text = c.rewriteIn(text, n, h)
			}
		case *template.Interpolation:
			if n.Func == "raw" && len(c.rawTexts[n]) == 1 {
				text += c.rawTexts[n][0].Value
				continue
			}
			flush()
			out = append(out, c.generateInterpolation(n, next))
		case *template.If:
			flush()
			out = append(out, &branch{node: n, then: c.generateBlock(n.Then, nil), other: c.generateBlock(n.Else, nil),
				separates: n == separator})
		case *template.For:
			flush()
			lead, _, trail := c.loopParts(n, nil)
			between := cmp.Or(lead, trail)
			out = append(out, &loop{node: n, body: c.generateBlock(n.Body, between), separator: between,
				separatorFirst: lead != nil})
		}
	}
	flush()
	return out
}

// rewriteIn replaces [NOT] IN, which t describes, at the end of text by the array comparison of
// PostgreSQL.
func (c *checker) rewriteIn(text string, t *template.Text, h *template.Interpolation) string {
	p := c.contexts[h]
	if p.list.text != t {
		return text
	}
	with := "= ANY"
	if p.not {
		with = "<> ALL"
	}
	before := len(text) - len(t.Value)
	return text[:before+p.list.from] + with + text[before+p.list.to:]
}

var isNull = lazyregexp.New(`(?i)^\s+IS\s+(NOT\s+)?NULL\b`)

// generateInterpolation assembles one interpolation; next is the node after it.
func (c *checker) generateInterpolation(h *template.Interpolation, next template.Node) op {
	p := c.contexts[h]
	switch p.mode {
	case asName:
		return newNamesOp(c.dialect, h)
	case asRaw:
		op := &rawOp{arg: h.Args[0]}
		for _, t := range c.rawTexts[h] {
			op.texts = append(op.texts, t.Value)
		}
		return op
	case asRows:
		return &rowsParam{of: h, cols: p.cols}
	case asList:
		if c.dialect != PostgreSQL {
			return &listParam{of: h}
		}
		return &param{of: h, kind: listOnly, before: "(", after: ")"}
	}
	v := &param{of: h, kind: single}
	if !p.single && (h.Type.Kind == template.List || h.Type.Kind == template.Any) {
		v.kind = valueOrList
	}
	if t, ok := next.(*template.Text); ok && c.dialect == PostgreSQL && isNull.MatchString(t.Value) {
		v.after = castOf(h.Type)
	}
	return v
}

// castOf returns a cast for a parameter that is compared only with NULL, whose type PostgreSQL
// cannot infer.
func castOf(t template.Type) string {
	if t.Kind == template.List && t.Elem != nil && casts[t.Elem.Kind] != "" {
		return casts[t.Elem.Kind] + "[]"
	}
	return casts[t.Kind]
}

var casts = map[template.Kind]string{
	template.String: "::text", template.Enum: "::text", template.Object: "::text", template.Integer: "::bigint",
	template.Number: "::numeric", template.Bool: "::boolean", template.Bytes: "::bytea", template.File: "::bytea",
}
