package exprlang

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser/operator"

	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/internal/lazyregexp"
)

// Form returns the logical form of the program: its parsed tree, in one notation. White space, comments, brackets for
// names, parentheses and optional steps that end nothing make no difference; every byte of a literal does. Value
// returns the normal form of the value of a traversal from a root; an empty one stands for the traversal itself.
func (p *Program) Form(value func(path []string) string) *eval.Formula {
	tree, problem := parse(p.Source)
	if problem != nil {
		return &eval.Formula{Text: p.Source} // unreachable: the program was compiled.
	}
	f := former{value: value}
	f.compiler = compiler{
		src: tree.source, locate: tree.locate, brackets: tree.brackets, roots: p.env.Roots, nonNull: p.env.NonNull,
		mayEnd: map[*ast.MemberNode]bool{},
	}
	f.compile(tree.root)
	return f.formula(tree.root)
}

// former writes the parts of a program in one notation.
type former struct {
	compiler
	value     func(path []string) string
	variables map[string]string // the marks of the variables around a part, by name
	declared  int               // how many variables had a mark
}

// formula returns the logical form of a part.
func (f *former) formula(n ast.Node) *eval.Formula {
	switch n := n.(type) {
	case *ast.BinaryNode:
		if op := logical(n.Operator); op != "" {
			return eval.Join(op, f.formula(n.Left), f.formula(n.Right))
		}
	case *ast.UnaryNode:
		if isNot(n) {
			return eval.Negate(f.formula(n.Node))
		}
	}
	return &eval.Formula{Text: f.text(n)}
}

// logical returns the operator of a formula; empty for another operator.
func logical(op string) string {
	switch op {
	case "and", "&&":
		return eval.OpAnd
	case "or", "||":
		return eval.OpOr
	}
	return ""
}

func isNot(n *ast.UnaryNode) bool { return n.Operator == "not" || n.Operator == "!" }

// text returns the normal form of a part.
func (f *former) text(n ast.Node) string {
	switch n := n.(type) {
	case *ast.NilNode:
		return "null"
	case *ast.BoolNode:
		return strconv.FormatBool(n.Value)
	case *ast.IntegerNode:
		return strconv.Itoa(n.Value)
	case *ast.FloatNode:
		return strconv.FormatFloat(n.Value, 'f', -1, 64)
	case *ast.StringNode:
		return quote(n.Value)
	case *ast.BytesNode:
		return "b" + quote(string(n.Value))
	case *ast.IdentifierNode:
		return f.traversal(n)
	case *ast.PointerNode:
		return "#" + n.Name
	case *ast.MemberNode:
		return f.traversal(n)
	case *ast.ChainNode:
		return f.text(n.Node)
	case *ast.SliceNode:
		return f.operand(n.Node, true) + "[" + f.bound(n.From) + ":" + f.bound(n.To) + "]"
	case *ast.UnaryNode:
		if isNot(n) {
			return f.formula(n).String()
		}
		return n.Operator + f.operand(n.Node, true)
	case *ast.BinaryNode:
		if logical(n.Operator) != "" {
			return f.formula(n).String()
		}
		return f.operand(n.Left, f.needsParentheses(n, n.Left)) + " " + n.Operator + " " +
			f.operand(n.Right, f.needsParentheses(n, n.Right))
	case *ast.ConditionalNode:
		return f.operand(n.Cond, true) + " ? " + f.operand(n.Exp1, true) + " : " + f.operand(n.Exp2, true)
	case *ast.VariableDeclaratorNode:
		return f.declaration(n)
	case *ast.SequenceNode:
		return f.list(n.Nodes, "; ")
	case *ast.ArrayNode:
		return "[" + f.list(n.Nodes, ", ") + "]"
	case *ast.MapNode:
		return "{" + f.list(n.Pairs, ", ") + "}"
	case *ast.PairNode:
		return f.operand(n.Key, true) + ": " + f.operand(n.Value, true)
	case *ast.CallNode:
		name := f.text(n.Callee)
		return originalName(name) + "(" + f.list(n.Arguments, ", ") + ")"
	case *ast.BuiltinNode:
		return f.builtinName(n) + "(" + f.list(n.Arguments, ", ") + ")"
	case *ast.PredicateNode:
		return f.text(n.Node)
	}
	// unreachable: every node of the parser has a case.
	return n.String()
}

// declaration returns the normal form of a variable and what reads it. Another name of the variable makes no
// difference: it has the first one that the rest does not have.
func (f *former) declaration(n *ast.VariableDeclaratorNode) string {
	value := f.operand(n.Value, true)
	around, shadows := f.variables[n.Name]
	mark := "\x01" + strconv.Itoa(f.declared) + "\x01"
	f.declared++
	if f.variables == nil {
		f.variables = map[string]string{}
	}
	f.variables[n.Name] = mark
	rest := f.text(n.Expr)
	delete(f.variables, n.Name)
	if shadows {
		f.variables[n.Name] = around
	}
	number := 1
	for strings.Contains(rest, "let"+strconv.Itoa(number)) {
		number++
	}
	name := "let" + strconv.Itoa(number)
	return "let " + name + " = " + value + "; " + strings.ReplaceAll(rest, mark, name)
}

// list returns the normal forms of parts with a separator.
func (f *former) list(nodes []ast.Node, separator string) string {
	texts := make([]string, len(nodes))
	for i, n := range nodes {
		texts[i] = f.text(n)
	}
	return strings.Join(texts, separator)
}

// operand returns a part of another part, in parentheses if it is an operation and they are needed.
func (f *former) operand(n ast.Node, parentheses bool) string {
	text := f.text(n)
	switch n := n.(type) {
	case *ast.BinaryNode, *ast.ConditionalNode, *ast.VariableDeclaratorNode, *ast.SequenceNode, *ast.UnaryNode:
		if parentheses {
			return "(" + text + ")"
		}
	case *ast.ChainNode:
		if f.ends(n) && parentheses {
			return "(" + text + ")"
		}
	}
	return text
}

// ends reports whether a step of a chain may end it.
func (f *former) ends(n *ast.ChainNode) bool {
	for inner := n.Node; ; {
		member, ok := inner.(*ast.MemberNode)
		switch {
		case !ok:
			return false
		case f.mayEnd[member]:
			return true
		}
		inner = member.Node
	}
}

// needsParentheses reports whether an operand of a binary operator is written in parentheses.
func (f *former) needsParentheses(n *ast.BinaryNode, operand ast.Node) bool {
	inner, ok := operand.(*ast.BinaryNode)
	if !ok {
		_, isChain := operand.(*ast.ChainNode)
		return !isChain
	}
	outer, op := operator.Binary[n.Operator], operator.Binary[inner.Operator]
	return inner.Operator == "??" || op.Precedence < outer.Precedence ||
		op.Precedence == outer.Precedence && (operand == n.Right) != (outer.Associativity == operator.Right)
}

func (f *former) bound(n ast.Node) string {
	if n == nil {
		return ""
	}
	return f.text(n)
}

// builtinName returns the name of a function as the author wrote it: renameCallables has renamed one.
func (f *former) builtinName(n *ast.BuiltinNode) string {
	if at := f.spanOf(n); f.src[at.from:at.to] == "countBy" {
		return "countBy"
	}
	return n.Name
}

// traversal returns the normal form of a name, or of a member or an element of a part.
func (f *former) traversal(n ast.Node) string {
	if path := f.rootPath(n); path != nil {
		if text := f.value(path); text != "" {
			return text
		}
	}
	member, ok := n.(*ast.MemberNode)
	if !ok {
		name := n.(*ast.IdentifierNode).Value
		return cmp.Or(f.variables[name], name)
	}
	base, optional := f.operand(member.Node, true), ""
	if f.mayEnd[member] {
		optional = "?"
	}
	if name, ok := member.Property.(*ast.StringNode); ok && plainName.MatchString(name.Value) {
		return base + optional + "." + name.Value
	}
	if optional != "" {
		optional = "?."
	}
	return base + optional + "[" + f.text(member.Property) + "]"
}

// plainName matches the names of members that are written after a dot.
var plainName = lazyregexp.New(`^[\pL_][\pL\pN_]*$`)

// rootPath returns the names of a traversal that begins at a root; nil for another part.
func (f *former) rootPath(n ast.Node) []string {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		if f.roots[n.Value] != nil {
			return []string{n.Value}
		}
	case *ast.ChainNode:
		return f.rootPath(n.Node)
	case *ast.MemberNode:
		base := f.rootPath(n.Node)
		if name, ok := n.Property.(*ast.StringNode); ok && base != nil {
			return append(slices.Clip(base), name.Value)
		}
	}
	return nil
}

var quoted = strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`, "\t", `\t`)

// quote returns a text as a literal of a program.
func quote(text string) string { return "'" + quoted.Replace(text) + "'" }

// endsWithNull reports whether an optional step may end its traversal: what it reads may be null, or is of a type that
// says nothing.
func endsWithNull(n *ast.MemberNode, base typedExpr) bool {
	return n.Optional && (base.Type.Nullable || base.Type.Kind == schema.Null || base.Type.Kind == schema.Any)
}
