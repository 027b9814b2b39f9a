package exprlang

import (
	"fmt"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// compiler checks one source and turns it into closures, in one walk.
type compiler struct {
	src      string
	locate   func(file.Location) span
	roots    map[string]*eval.Root
	problems []Problem
	reads    []string
	scopes   []scope       // of let and of predicates, innermost last
	nonNull  *eval.NonNull // what is not null where the current part stands
	vars     int
	paths    int // how many paths newPath has made
	brackets []span
	locator  *locator    // watches all parts; nil for none
	cutReads []*eval.Cut // that may have cut what it reads
	whole    []*eval.Cut // that must not cut what is used as all there is
	compared map[string][]string
	keyReads map[int]bool // of reads, those that only select a member
	// mayEnd receives the optional steps that may end their traversal with null; nil for none
	mayEnd        map[*ast.MemberNode]bool
	trustDeclared bool
	observer      eval.Observer // nil for none
	place         func(from, to int) diag.Range
}

// typedExpr is a compiled part of a program. Its Type says whether it may be null.
type typedExpr = eval.TypedExpr

func (c *compiler) report(at span, summary, format string, args ...any) {
	c.problems = append(c.problems, *newProblem(at, summary, format, args...))
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
	c.recordRead(t.Read, t.HeldCuts())
	return t
}

// compileCollection compiles a part of which other parts read the elements: they record what they read of them.
func (c *compiler) compileCollection(n ast.Node) typedExpr {
	t := c.compileNode(n)
	c.recordRead(t.Read, t.Cuts)
	return t
}

// recordRead records that what limits may have cut is read by a traversal; path is empty for none.
func (c *compiler) recordRead(path string, cuts []*eval.Cut) {
	if path != "" {
		c.reads, c.cutReads = append(c.reads, path), append(c.cutReads, cuts...)
	}
}

// compileNode compiles a part that may be the inner step of a traversal.
func (c *compiler) compileNode(n ast.Node) typedExpr {
	t := c.compileKind(n)
	t.Choices = nil // only the compilers of templates ask for them
	if c.locator != nil && t.Eval != nil {
		t.Eval = c.locator.watch(n, t.Eval)
	}
	return t
}

// noteValue tells the observer what is known of a part, and which member of a root it is.
func (c *compiler) noteValue(at span, t typedExpr, root, member string) {
	if c.observer == nil {
		return
	}
	place := c.place(at.from, at.to)
	c.observer.Value(place, t)
	r := c.roots[root]
	if r != nil && r.Members[member] != nil {
		c.observer.Reference(eval.Reference{At: place, Kind: root, Name: member, Local: r.Members[member].Local})
	} else if r != nil && r.Kind != "" {
		c.observer.Reference(eval.Reference{At: place, Kind: r.Kind, Name: member, Owner: r.Owner})
	}
}

// compileKind compiles a part by its kind.
func (c *compiler) compileKind(n ast.Node) typedExpr {
	switch n := n.(type) {
	case *ast.NilNode:
		return null
	case *ast.BoolNode:
		return eval.Constant(n.Value)
	case *ast.IntegerNode:
		return eval.Constant(n.Value)
	case *ast.FloatNode:
		if n.Value == float64(int(n.Value)) && n.Value < 1<<53 {
			return eval.Constant(int(n.Value))
		}
		return eval.Constant(n.Value)
	case *ast.StringNode:
		return eval.Constant(n.Value)
	case *ast.BytesNode:
		return eval.Constant(value.Bytes(n.Value))
	case *ast.IdentifierNode:
		t := c.compileIdentifier(n)
		c.noteValue(c.spanOf(n), t, "", "")
		return t
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
	return eval.Broken()
}

// null is the constant null. Its type says so, which is not needed for the constants of HCL.
var null = func() typedExpr {
	t := eval.Constant(nil)
	t.Type = eval.NullType
	return t
}()

// checkKind reports a part that cannot be of the kind, or that may be null.
func (c *compiler) checkKind(n ast.Node, t typedExpr, k schema.Kind) bool {
	if !eval.CanBe(t.Type, k) {
		c.report(c.fullSpan(n), "Wrong type", "%s is expected, this is %s.",
			capitalize(eval.TypePhrase(&schema.Type{Kind: k})), eval.TypePhrase(t.Type))
		return false
	}
	return c.checkNotNull(n, t)
}

// checkNotNull reports a part that may be null.
func (c *compiler) checkNotNull(n ast.Node, t typedExpr) bool {
	if t.Type.Nullable {
		w := c.source(n)
		c.report(c.fullSpan(n), "Value may be null",
			"%s may be null here. Give it a default, (%s ?? ...), or check first: %s != null && ...", w, w, w)
	}
	return !t.Type.Nullable
}

// withNonNull compiles a part that runs only when the traversals are not null.
func (c *compiler) withNonNull(paths []string, part ast.Node, compile func(ast.Node) typedExpr) typedExpr {
	around := c.nonNull
	c.nonNull = around.Add(paths)
	t := compile(part)
	c.nonNull = around
	return t
}

// isRoot reports whether a traversal begins at a root.
func (c *compiler) isRoot(path string) bool {
	name, _, _ := strings.Cut(path, ".")
	return c.roots[name] != nil
}

// requireWhole records that a value is used as all there is, and returns it as one that no limit cuts. A value that is
// masked for some callers is refused there.
func (c *compiler) requireWhole(n ast.Node, t typedExpr) typedExpr {
	c.whole = append(c.whole, t.HeldCuts()...)
	if masks := t.HeldMasks(); masks != nil {
		c.report(c.fullSpan(n), eval.MaskedDecides, "%s", eval.MaskedDecidesDetail(c.source(n), masks))
	}
	t.Facts = t.Whole()
	return t
}

// requireOwn records that it matters which elements a value has, and returns it as one that no limit cuts itself.
func (c *compiler) requireOwn(t typedExpr) typedExpr {
	c.whole = append(c.whole, t.Cuts...)
	t.Cuts = nil
	return t
}

func capitalize(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func newProblem(at span, summary, format string, args ...any) *Problem {
	return &Problem{Offset: at.from, Length: at.to - at.from, Summary: summary, Detail: fmt.Sprintf(format, args...),
		Suggestion: diag.FindSuggestion(args)}
}

func (c *compiler) compileSequence(n *ast.SequenceNode) typedExpr {
	var last typedExpr
	for _, part := range n.Nodes {
		last = c.compile(part)
	}
	if len(n.Nodes) > 1 {
		c.report(c.fullSpan(n.Nodes[0]), "Unused expression",
			"Only the last of several expressions is the result. Remove this one, or name it with let.")
	}
	return last
}

func (c *compiler) compileArray(n *ast.ArrayNode) typedExpr {
	elems := make([]typedExpr, len(n.Nodes))
	for i, part := range n.Nodes {
		elems[i] = c.compile(part)
	}
	return eval.ListOf(elems)
}

func (c *compiler) compileObject(n *ast.MapNode) typedExpr {
	entries := make([]eval.Entry, len(n.Pairs))
	for i, p := range n.Pairs {
		p := p.(*ast.PairNode)
		key, val := c.compile(p.Key), c.compile(p.Value)
		entries[i].Key, entries[i].Value = key, val
		name, isText := key.Value.(string)
		if !isText {
			c.checkKind(p.Key, key, schema.String)
			entries[i].NameOf = eval.KeyName(key, true)
			continue
		}
		if eval.IsNamed(entries[:i], name) {
			c.report(c.spanOf(p.Key), "Duplicate key", "The object already has the key %q.", name)
		}
		entries[i].Name = name
	}
	return eval.ObjectOf(entries)
}
