package exprlang

import (
	"fmt"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"

	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// A compiler checks one source and turns it into closures, in one walk.
type compiler struct {
	src      string
	place    func(file.Location) span
	env      Env
	problems []Problem
	reads    [][]string
	scopes   []scope // of let and of predicates, innermost last
	nonNull  *eval.NonNull
	vars     int
	paths    int // names the places that let and predicates introduce
	brackets []span
	spans    map[ast.Node]span
}

// typedExpr is a compiled part.
type typedExpr struct {
	eval             evalFunc
	typ              *schema.Type
	path             []string // the traversal that it is, or nil
	read             []string // the part of a traversal that is known at load
	mayBeNullByChain bool     // an optional step of the traversal may end it with null
	known            bool     // it is constant
	value            any      // what it is then
	at               span
	// The paths that are certainly not null when the part gave true, or false.
	whenTrue, whenFalse [][]string
}

func (c *compiler) report(at span, summary, format string, args ...any) {
	c.problems = append(c.problems, Problem{Offset: at.from, Length: at.to - at.from, Summary: summary, Detail: fmt.Sprintf(format, args...)})
}

func (c *compiler) spanOf(n ast.Node) span { return c.place(n.Location()) }

// fullSpan is everything that a part was written as.
func (c *compiler) fullSpan(n ast.Node) span {
	at := c.span(n)
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

// span is the extent before brackets count. It is asked of every part of every part, hence kept.
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

// includeParenthesis takes the parenthesis after a function's name in.
func (c *compiler) includeParenthesis(at span) span {
	if rest := strings.TrimLeft(c.src[at.to:], " \t\r\n"); strings.HasPrefix(rest, "(") {
		at.to = len(c.src) - len(rest) + 1
	}
	return at
}

func (c *compiler) source(n ast.Node) string {
	s := c.fullSpan(n)
	return c.src[s.from:s.to]
}

// broken stands for a part that has a problem; what is around it gets none because of it.
func broken(at span) typedExpr {
	return typedExpr{typ: eval.AnyType, at: at, eval: func(*frame) (any, error) { return nil, nil }}
}

func constant(v any, s *schema.Type, at span) typedExpr {
	return typedExpr{typ: s, at: at, known: true, value: v, eval: func(*frame) (any, error) { return v, nil }}
}

// checkResult checks what the whole program gives.
func (c *compiler) checkResult(n ast.Node, t typedExpr, want Want) {
	if want != WantBool {
		return
	}
	switch at := c.fullSpan(n); {
	case !eval.CanBe(t.typ, schema.Bool):
		c.report(at, "Not a condition", "True or false is expected, this is %s.", eval.TypePhrase(t.typ))
	case t.typ.Nullable:
		c.report(at, "Condition may be null", "True or false is expected: write %s ?? false, or compare it.", c.source(n))
	}
}

// compile compiles a part and records what it reads.
func (c *compiler) compile(n ast.Node) typedExpr {
	t := c.compileNode(n)
	if t.read != nil {
		c.reads = append(c.reads, t.read)
	}
	switch n.(type) {
	case *ast.MemberNode, *ast.CallNode, *ast.BuiltinNode, *ast.BinaryNode, *ast.SliceNode:
		t.eval = withSpan(t.eval, c.fullSpan(n))
	}
	return t
}

// withSpan says where a failure happened, unless an inner part did.
func withSpan(e evalFunc, at span) evalFunc {
	return func(f *frame) (any, error) {
		v, err := e(f)
		if err == nil || err == errSkipped {
			return v, err
		}
		if _, ok := err.(*EvalError); !ok {
			err = &EvalError{Message: errorSentence(err), Offset: at.from, Length: at.to - at.from}
		}
		return nil, err
	}
}

func (c *compiler) isRoot(name string) bool {
	_, ok := c.env.Roots[name]
	return ok
}

func (c *compiler) compileNode(n ast.Node) typedExpr {
	at := c.spanOf(n)
	switch n := n.(type) {
	case *ast.NilNode:
		return constant(nil, eval.NullType, at)
	case *ast.BoolNode:
		return constant(n.Value, eval.BoolType, at)
	case *ast.IntegerNode:
		return constant(n.Value, eval.IntegerType, at)
	case *ast.FloatNode:
		if n.Value == float64(int(n.Value)) && n.Value < 1<<53 {
			return constant(int(n.Value), eval.IntegerType, at)
		}
		return constant(n.Value, eval.NumberType, at)
	case *ast.StringNode:
		return constant(n.Value, eval.StringType, at)
	case *ast.BytesNode:
		return constant(value.Bytes(n.Value), eval.BytesType, at)
	case *ast.IdentifierNode:
		return c.compileIdentifier(n)
	case *ast.PointerNode:
		return c.compileElement(n)
	case *ast.MemberNode:
		return c.compileMember(n)
	case *ast.ChainNode:
		return c.compileChain(n)
	case *ast.SliceNode:
		return c.compileSlice(n)
	case *ast.UnaryNode:
		return c.compileUnary(n)
	case *ast.BinaryNode:
		return c.compileBinary(n)
	case *ast.ConditionalNode:
		return c.compileConditional(n)
	case *ast.VariableDeclaratorNode:
		return c.compileLet(n)
	case *ast.SequenceNode:
		return c.compileSequence(n)
	case *ast.ArrayNode:
		return c.compileArray(n)
	case *ast.MapNode:
		return c.compileObject(n)
	case *ast.CallNode:
		return c.compileCall(n)
	case *ast.BuiltinNode:
		return c.compileBuiltin(n)
	case *ast.PredicateNode:
		return c.compile(n.Node)
	}
	c.report(c.fullSpan(n), "Unknown expression", "This part of expr does not exist in programs.")
	return broken(at)
}

// checkKind reports a part that cannot be of the kind, or that may be null.
func (c *compiler) checkKind(n ast.Node, t typedExpr, k schema.Kind) bool {
	if !eval.CanBe(t.typ, k) {
		c.report(c.fullSpan(n), "Wrong type", "%s is expected, this is %s.", capitalize(eval.TypePhrase(&schema.Type{Kind: k})), eval.TypePhrase(t.typ))
		return false
	}
	if t.typ.Nullable {
		c.reportNullable(n)
		return false
	}
	return true
}

func (c *compiler) reportNullable(n ast.Node) {
	w := c.source(n)
	c.report(c.fullSpan(n), "Value may be null", "%s may be null here. Give it a default, (%s ?? ...), or ask before: %s != null && ...", w, w, w)
}

func capitalize(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
