package exprlang

import (
	"strings"

	"github.com/expr-lang/expr/ast"
)

// spanOf is where the parser says that a part is.
func (c *compiler) spanOf(n ast.Node) span { return c.locate(n.Location()) }

// fullSpan is everything that a part was written as, its brackets included.
func (c *compiler) fullSpan(n ast.Node) span {
	e := extent{compiler: c, span: span{len(c.src), 0}}
	ast.Walk(&n, &e)
	for changed := true; changed; { // a bracket inside includes its partner
		changed = false
		for _, b := range c.brackets {
			opens, closes := b.from >= e.from && b.from < e.to, b.to > e.from && b.to <= e.to
			if opens != closes {
				e.include(b)
				changed = true
			}
		}
	}
	return e.span
}

// extent is the span of a part and of all parts of it.
type extent struct {
	*compiler
	span
}

func (e *extent) include(s span) { e.from, e.to = min(e.from, s.from), max(e.to, s.to) }

// Visit includes one part.
func (e *extent) Visit(n *ast.Node) {
	s := e.spanOf(*n)
	switch (*n).(type) {
	case *ast.ConditionalNode:
		return // the parser places it behind itself
	case *ast.CallNode, *ast.BuiltinNode: // the parenthesis after the name belongs to it
		if rest := strings.TrimLeft(e.src[s.to:], " \t\r\n"); strings.HasPrefix(rest, "(") {
			s.to = len(e.src) - len(rest) + 1
		}
	}
	e.include(s)
}

// source is the text of a part.
func (c *compiler) source(n ast.Node) string {
	s := c.fullSpan(n)
	if c.src[s.from:s.to] == "." { // the element, before the name of a member
		return "#"
	}
	return c.src[s.from:s.to]
}
