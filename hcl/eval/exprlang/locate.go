package exprlang

import (
	"fmt"
	"strings"

	"github.com/expr-lang/expr/ast"

	"hatchel/hcl/eval"
	"hatchel/hcl/value"
)

// Failed is the part of a program that has failed, or that makes a condition false. Offset and Length are in bytes of
// the source.
type Failed struct {
	Offset, Length int
	Text           string // the part, the values of its parts, and the element, one on each line
}

// Locate runs a program that has failed, or a condition that was false, once more with a watch on each part, so that
// programs that do not fail bear no cost. It returns nil if it does not fail and is not false again.
func (p *Program) Locate(call *eval.Frame, output any) *Failed {
	tree, problem := parse(p.Source)
	if problem != nil {
		return nil
	}
	l := &locator{seen: map[ast.Node]seenValue{}}
	c := compiler{
		src: tree.source, locate: tree.locate, brackets: tree.brackets, roots: p.env.Roots, nonNull: p.env.NonNull,
		locator: l,
	}
	run := c.compile(tree.root).Eval
	again := *call
	again.Explain = nil
	frame := &eval.Frame{Scratch: &eval.Scratch{Vars: make([]any, c.vars)}}
	v, err := p.runIn(frame, run, &again, output)
	if err == nil && v == false {
		l.failed = l.falsePart(tree.root)
	}
	if l.failed == nil {
		return nil
	}
	at := c.fullSpan(l.failed)
	return &Failed{Offset: at.from, Length: at.to - at.from, Text: l.text(&c)}
}

// locator watches one run of a program.
type locator struct {
	failed ast.Node   // the innermost part that has failed
	round  *eval.Loop // in which it failed; nil outside of predicates
	seen   map[ast.Node]seenValue
}

// seenValue is the last value of a part, and the round in which it was computed.
type seenValue struct {
	value any
	round *eval.Loop
}

func (l *locator) watch(n ast.Node, run eval.Func) eval.Func {
	return func(f *eval.Frame) (any, error) {
		v, err := run(f)
		var round *eval.Loop
		if depth := len(f.Loops); depth > 0 {
			loop := f.Loops[depth-1]
			round = &loop
		}
		switch {
		case err == nil:
			l.seen[n] = seenValue{v, round}
		case err != eval.ErrEnded && l.failed == nil:
			l.failed, l.round = n, round
		}
		return v, err
	}
}

// falsePart returns the innermost part that makes a condition false.
func (l *locator) falsePart(n ast.Node) ast.Node {
	both, ok := n.(*ast.BinaryNode)
	if !ok || both.Operator != "&&" && both.Operator != "and" {
		return n
	}
	if seen, ok := l.seen[both.Left]; ok && seen.value == false {
		return l.falsePart(both.Left)
	}
	return l.falsePart(both.Right)
}

// text says which part has failed, with which values and for which element.
func (l *locator) text(c *compiler) string {
	lines := []string{"in " + c.source(l.failed)}
	for _, part := range partsOf(l.failed) {
		seen, ok := l.seen[part]
		if _, isPredicate := part.(*ast.PredicateNode); isPredicate && ok {
			l.round = seen.round // the function failed with what its predicate gave
		}
		if ok && !isConstant(part) {
			lines = append(lines, c.source(part)+" is "+asJSON(seen.value))
		}
	}
	if l.round != nil {
		lines = append(lines, fmt.Sprintf("element %d is %s", l.round.Index, asJSON(l.round.Item)))
	}
	return strings.Join(lines, "\n")
}

func isConstant(n ast.Node) bool {
	switch n.(type) {
	case *ast.NilNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.StringNode, *ast.BytesNode:
		return true
	}
	return false
}

func asJSON(v any) string {
	text, err := value.AppendJSON(nil, v)
	if err != nil {
		return "a " + value.Kind(v)
	}
	return string(text)
}

// partsOf returns the parts of a part whose values explain why it failed.
func partsOf(n ast.Node) (parts []ast.Node) {
	switch n := n.(type) {
	case *ast.MemberNode:
		parts = []ast.Node{n.Node, n.Property}
	case *ast.UnaryNode:
		parts = []ast.Node{n.Node}
	case *ast.BinaryNode:
		parts = []ast.Node{n.Left, n.Right}
	case *ast.ConditionalNode:
		parts = []ast.Node{n.Cond}
	case *ast.SliceNode:
		parts = []ast.Node{n.Node}
	case *ast.CallNode:
		parts = n.Arguments
	case *ast.BuiltinNode:
		parts = n.Arguments[max(0, len(n.Arguments)-1):] // the predicate: its list may be long
	}
	return parts
}
