package exprlang

import (
	"strings"

	"github.com/expr-lang/expr/ast"
)

// spanOf is where the parser says that a part is.
func (c *compiler) spanOf(n ast.Node) span { return c.locate(n.Location()) }

// fullSpan is everything that a part was written as, its brackets included.
func (c *compiler) fullSpan(n ast.Node) span {
	at := c.span(n)
	for changed := true; changed; { // a bracket inside includes its partner
		changed = false
		for _, b := range c.brackets {
			opens, closes := b.from >= at.from && b.from < at.to, b.to > at.from && b.to <= at.to
			if opens != closes {
				at, changed = span{min(at.from, b.from), max(at.to, b.to)}, true
			}
		}
	}
	return at
}

// span is the extent of a part without brackets around it. It is kept, because it is needed for
// every part of every part.
func (c *compiler) span(n ast.Node) span {
	at, ok := c.spans[n]
	if !ok {
		at = c.computeSpan(n)
		c.spans[n] = at
	}
	return at
}

func (c *compiler) computeSpan(n ast.Node) span {
	at := c.spanOf(n)
	var parts []ast.Node
	switch n := n.(type) {
	case *ast.UnaryNode:
		parts = []ast.Node{n.Node}
	case *ast.BinaryNode:
		parts = []ast.Node{n.Left, n.Right}
	case *ast.ChainNode:
		parts = []ast.Node{n.Node}
	case *ast.MemberNode:
		parts = []ast.Node{n.Node, n.Property}
	case *ast.SliceNode:
		parts = []ast.Node{n.Node}
	case *ast.CallNode:
		at, parts = c.includeParenthesis(at), n.Arguments
	case *ast.BuiltinNode:
		at, parts = c.includeParenthesis(at), n.Arguments
	case *ast.PredicateNode:
		parts = []ast.Node{n.Node}
	case *ast.ConditionalNode: // the parser places it behind itself
		at, parts = c.span(n.Cond), []ast.Node{n.Exp1, n.Exp2}
	case *ast.PairNode:
		parts = []ast.Node{n.Value}
	}
	for _, p := range parts {
		s := c.span(p)
		at = span{min(at.from, s.from), max(at.to, s.to)}
	}
	return at
}

// includeParenthesis extends the name of a function to the parenthesis after it.
func (c *compiler) includeParenthesis(at span) span {
	if rest := strings.TrimLeft(c.src[at.to:], " \t\r\n"); strings.HasPrefix(rest, "(") {
		at.to = len(c.src) - len(rest) + 1
	}
	return at
}

// source is the text of a part.
func (c *compiler) source(n ast.Node) string {
	s := c.fullSpan(n)
	return c.src[s.from:s.to]
}
