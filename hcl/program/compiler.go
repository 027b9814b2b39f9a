package program

import (
	"fmt"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"

	"hatchel/hcl/value"
)

// A compiler checks one source and turns it into closures, in one walk.
type compiler struct {
	src      string
	place    func(file.Location) span
	env      Env
	problems []Problem
	reads    [][]string
	scopes   []scope        // of let and of predicates, innermost last
	facts    map[string]int // paths that are not null here, counted
	vars     int
	serial   int // names the places that let and predicates introduce
	brackets []span
	spreads  map[ast.Node]span
}

// A term is a compiled part.
type term struct {
	eval  eval
	shape *Shape
	path  []string // the traversal that it is, or nil
	read  []string // the part of a traversal that is known at load
	skips bool     // an optional step of the traversal may end it with null
	known bool     // it is constant
	value any      // what it is then
	at    span
	// The paths that are certainly not null when the part gave true, or false.
	whenTrue, whenFalse [][]string
}

func (c *compiler) problem(at span, summary, format string, args ...any) {
	c.problems = append(c.problems, Problem{Offset: at.from, Length: at.to - at.from, Summary: summary, Detail: fmt.Sprintf(format, args...)})
}

func (c *compiler) at(n ast.Node) span { return c.place(n.Location()) }

// extent is everything that a part was written as.
func (c *compiler) extent(n ast.Node) span {
	at := c.spread(n)
	for changed := true; changed; { // a bracket inside takes its partner in
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

// spread is the extent before brackets count. It is asked of every part of every part, hence kept.
func (c *compiler) spread(n ast.Node) span {
	at, ok := c.spreads[n]
	if !ok {
		at = c.spreadOf(n)
		c.spreads[n] = at
	}
	return at
}

func (c *compiler) spreadOf(n ast.Node) span {
	at := c.at(n)
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
		at, parts = c.opening(at), n.Arguments
	case *ast.BuiltinNode:
		at, parts = c.opening(at), n.Arguments
	case *ast.PredicateNode:
		parts = []ast.Node{n.Node}
	case *ast.ConditionalNode: // the parser places it behind itself
		at, parts = c.spread(n.Cond), []ast.Node{n.Exp1, n.Exp2}
	case *ast.PairNode:
		parts = []ast.Node{n.Value}
	}
	for _, p := range parts {
		s := c.spread(p)
		at = span{min(at.from, s.from), max(at.to, s.to)}
	}
	return at
}

// opening takes the parenthesis after a function's name in.
func (c *compiler) opening(at span) span {
	if rest := strings.TrimLeft(c.src[at.to:], " \t\r\n"); strings.HasPrefix(rest, "(") {
		at.to = len(c.src) - len(rest) + 1
	}
	return at
}

func (c *compiler) written(n ast.Node) string {
	s := c.extent(n)
	return c.src[s.from:s.to]
}

// broken stands for a part that has a problem; what is around it gets none because of it.
func broken(at span) term {
	return term{shape: anything, at: at, eval: func(*frame) (any, error) { return nil, nil }}
}

func constant(v any, s *Shape, at span) term {
	return term{shape: s, at: at, known: true, value: v, eval: func(*frame) (any, error) { return v, nil }}
}

// wanted checks what the whole program gives.
func (c *compiler) wanted(n ast.Node, t term, want Want) {
	if want != WantBool {
		return
	}
	switch at := c.extent(n); {
	case !t.shape.can(Bool):
		c.problem(at, "Not a condition", "True or false is expected, this is %s.", kindWords[t.shape.Kind])
	case t.shape.Nullable:
		c.problem(at, "Condition may be null", "True or false is expected: write %s ?? false, or compare it.", c.written(n))
	}
}

// expr compiles a part and records what it reads.
func (c *compiler) expr(n ast.Node) term {
	t := c.term(n)
	if t.read != nil {
		c.reads = append(c.reads, t.read)
	}
	switch n.(type) {
	case *ast.MemberNode, *ast.CallNode, *ast.BuiltinNode, *ast.BinaryNode, *ast.SliceNode:
		t.eval = placed(t.eval, c.extent(n))
	}
	return t
}

// placed says where a failure happened, unless an inner part did.
func placed(e eval, at span) eval {
	return func(f *frame) (any, error) {
		v, err := e(f)
		if err == nil || err == errSkipped {
			return v, err
		}
		if _, ok := err.(*Fault); !ok {
			err = &Fault{Message: sentence(err), Offset: at.from, Length: at.to - at.from}
		}
		return nil, err
	}
}

func (c *compiler) isRoot(name string) bool {
	_, ok := c.env.Roots[name]
	return ok
}

func (c *compiler) term(n ast.Node) term {
	at := c.at(n)
	switch n := n.(type) {
	case *ast.NilNode:
		return constant(nil, nullShape, at)
	case *ast.BoolNode:
		return constant(n.Value, boolean, at)
	case *ast.IntegerNode:
		return constant(n.Value, integer, at)
	case *ast.FloatNode:
		if n.Value == float64(int(n.Value)) && n.Value < 1<<53 {
			return constant(int(n.Value), integer, at)
		}
		return constant(n.Value, number, at)
	case *ast.StringNode:
		return constant(n.Value, text, at)
	case *ast.BytesNode:
		return constant(value.Bytes(n.Value), bytes, at)
	case *ast.IdentifierNode:
		return c.identifier(n)
	case *ast.PointerNode:
		return c.pointer(n)
	case *ast.MemberNode:
		return c.member(n)
	case *ast.ChainNode:
		return c.chain(n)
	case *ast.SliceNode:
		return c.slice(n)
	case *ast.UnaryNode:
		return c.unary(n)
	case *ast.BinaryNode:
		return c.binary(n)
	case *ast.ConditionalNode:
		return c.conditional(n)
	case *ast.VariableDeclaratorNode:
		return c.let(n)
	case *ast.SequenceNode:
		return c.sequence(n)
	case *ast.ArrayNode:
		return c.array(n)
	case *ast.MapNode:
		return c.object(n)
	case *ast.CallNode:
		return c.call(n)
	case *ast.BuiltinNode:
		return c.builtin(n)
	case *ast.PredicateNode:
		return c.expr(n.Node)
	}
	c.problem(c.extent(n), "Unknown expression", "This part of expr does not exist in programs.")
	return broken(at)
}

// expect reports a part that cannot be of the kind, or that may be null.
func (c *compiler) expect(n ast.Node, t term, k Kind) bool {
	if !t.shape.can(k) {
		c.problem(c.extent(n), "Wrong type", "%s is expected, this is %s.", capital(kindWords[k]), kindWords[t.shape.Kind])
		return false
	}
	if t.shape.Nullable {
		c.mayBeNull(n)
		return false
	}
	return true
}

func (c *compiler) mayBeNull(n ast.Node) {
	w := c.written(n)
	c.problem(c.extent(n), "Value may be null", "%s may be null here. Give it a default, (%s ?? ...), or ask before: %s != null && ...", w, w, w)
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
