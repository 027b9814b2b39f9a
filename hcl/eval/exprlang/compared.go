package exprlang

import (
	"strings"

	"github.com/expr-lang/expr/ast"

	"hatchel/hcl/eval"
)

// operand is a part that another one is compared with.
type operand struct {
	typedExpr
	node  ast.Node
	reads []string // the traversals that its value comes from
}

// compileOperand compiles a part, and says which traversals its value comes from.
func (c *compiler) compileOperand(n ast.Node, compile func(ast.Node) typedExpr) operand {
	before := len(c.reads)
	out := operand{typedExpr: compile(n), node: n}
	for i := before; i < len(c.reads); i++ {
		if !c.keyReads[i] {
			out.reads = append(out.reads, c.reads[i])
		}
	}
	if out.Read != "" {
		out.reads = append(out.reads, out.Read)
	}
	return out
}

// compileKey compiles what selects a member of a value. It is compared with the names of the members, and is no part
// of the value.
func (c *compiler) compileKey(of operand, n ast.Node) typedExpr {
	before := len(c.reads)
	key := c.compileOperand(n, c.compile)
	if key.Known {
		return key.typedExpr
	}
	for i := before; i < len(c.reads); i++ {
		if c.keyReads == nil {
			c.keyReads = map[int]bool{}
		}
		c.keyReads[i] = true
	}
	for _, read := range of.reads {
		if object, ok := c.knownValue(eval.SplitPath(read)).(map[string]any); ok {
			c.recordCompared(key, operand{typedExpr: eval.Constant(namesOf(object)), node: new(ast.NilNode)})
		}
	}
	return key.typedExpr
}

// namesOf returns the names of the members of an object.
func namesOf(object map[string]any) (names []any) {
	for name := range object {
		names = append(names, name)
	}
	return names
}

// recordCompared records the texts that what a program reads of the caller is compared with: those that stand in the
// other parts, and those in the values that these read.
func (c *compiler) recordCompared(parts ...operand) {
	for i, p := range parts {
		for _, read := range p.reads {
			if !strings.HasPrefix(read, "caller.") {
				continue
			}
			for j, other := range parts {
				if i != j {
					c.recordTextsOf(read, other)
				}
			}
		}
	}
}

// recordTextsOf records the texts of a part that a traversal is compared with. An object as a whole is compared by
// the names of its members.
func (c *compiler) recordTextsOf(path string, with operand) {
	for _, choice := range with.AllChoices() {
		c.recordTexts(path, choice)
	}
	texts := textNodes{}
	ast.Walk(&with.node, texts)
	for _, text := range texts {
		c.recordTexts(path, text)
	}
	for _, read := range with.reads {
		v := c.knownValue(eval.SplitPath(read))
		if object, ok := v.(map[string]any); ok && read == with.Path {
			v = namesOf(object)
		}
		c.recordTexts(path, v)
	}
}

// textNodes are the texts that stand in a part, without the names of members.
type textNodes map[ast.Node]string

// Visit implements ast.Visitor. The parts of a node are visited before it.
func (t textNodes) Visit(n *ast.Node) {
	switch n := (*n).(type) {
	case *ast.StringNode:
		t[n] = n.Value
	case *ast.MemberNode:
		delete(t, n.Property)
	}
}

// knownValue returns the value of a traversal that is known at load; nil for none. Of a value that is sensitive
// nothing is told.
func (c *compiler) knownValue(path []string) any {
	r := c.roots[path[0]]
	if r == nil {
		return nil
	}
	if len(path) == 1 { // a member of it that is computed
		var all []any
		for name := range r.Members {
			all = append(all, c.knownValue([]string{path[0], name}))
		}
		return all
	}
	m := r.Members[path[1]]
	if m == nil || !m.Known || m.Sensitive {
		return nil
	}
	v := m.Value
	for _, name := range path[2:] {
		object, ok := v.(map[string]any)
		if !ok {
			return v
		}
		v = object[name]
	}
	return v
}

// recordTexts records a text, or the texts in a list or an object.
func (c *compiler) recordTexts(path string, v any) {
	switch v := v.(type) {
	case string:
		if c.compared == nil {
			c.compared = map[string][]string{}
		}
		c.compared[path] = append(c.compared[path], v)
	case []any:
		for _, elem := range v {
			c.recordTexts(path, elem)
		}
	case map[string]any:
		for _, elem := range v {
			c.recordTexts(path, elem)
		}
	}
}
