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

// compiler checks one source and turns it into closures, in one walk.
type compiler struct {
	src      string
	locate   func(file.Location) span
	env      Env
	problems []Problem
	reads    [][]string
	scopes   []scope       // of let and of predicates, innermost last
	nonNull  *eval.NonNull // what is not null where the current part stands
	vars     int
	paths    int // how many paths newPath has made
	brackets []span
	spans    map[ast.Node]span
}

// typedExpr is a compiled part of a program.
type typedExpr struct {
	eval.Typed[*frame]
	path             []string // the traversal that it is, or nil
	read             []string // the part of a traversal that is known at load
	mayBeNullByChain bool     // an optional step of the traversal may end it with null
	at               span
	// The traversals that are certainly not null if the part gives true, or false.
	whenTrue, whenFalse [][]string
}

func (c *compiler) report(at span, summary, format string, args ...any) {
	c.problems = append(c.problems, Problem{
		Offset: at.from, Length: at.to - at.from, Summary: summary, Detail: fmt.Sprintf(format, args...),
	})
}

// broken stands for a part that has a problem. What is around it gets none because of it.
func broken(at span) typedExpr { return typedExpr{Typed: eval.BrokenOf[*frame](), at: at} }

func constant(v any, t *schema.Type, at span) typedExpr {
	return typedExpr{Typed: eval.ConstantOf[*frame](v, t), at: at}
}

// computed returns a part that e computes.
func computed(t *schema.Type, at span, e evalFunc) typedExpr {
	return typedExpr{Typed: eval.Typed[*frame]{Type: t, Eval: e}, at: at}
}

// checkResult checks what the whole program gives.
func (c *compiler) checkResult(n ast.Node, t typedExpr, want Want) {
	if want != WantBool {
		return
	}
	switch at := c.fullSpan(n); {
	case !eval.CanBe(t.Type, schema.Bool):
		c.report(at, "Not a condition", "True or false is expected, this is %s.", eval.TypePhrase(t.Type))
	case t.Type.Nullable:
		c.report(at, "Condition may be null", "True or false is expected: write %s ?? false, or compare it.",
			c.source(n))
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
		t.Eval = withSpan(t.Eval, c.fullSpan(n))
	}
	return t
}

// withSpan places errors, unless an inner part has placed them.
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

// compileNode compiles a part that may be the inner step of a traversal.
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
	// unreachable: every node of the parser has a case.
	c.report(c.fullSpan(n), "Unknown expression", "This part of expr does not exist in programs.")
	return broken(at)
}

// checkKind reports a part that cannot be of the kind, or that may be null.
func (c *compiler) checkKind(n ast.Node, t typedExpr, k schema.Kind) bool {
	if !eval.CanBe(t.Type, k) {
		c.report(c.fullSpan(n), "Wrong type", "%s is expected, this is %s.",
			capitalize(eval.TypePhrase(&schema.Type{Kind: k})), eval.TypePhrase(t.Type))
		return false
	}
	if t.Type.Nullable {
		c.reportNullable(n)
		return false
	}
	return true
}

func (c *compiler) reportNullable(n ast.Node) {
	w := c.source(n)
	c.report(c.fullSpan(n), "Value may be null",
		"%s may be null here. Give it a default, (%s ?? ...), or check first: %s != null && ...", w, w, w)
}

func capitalize(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
