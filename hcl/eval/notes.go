package eval

import (
	"hatchel/hcl/diag"
	"hatchel/hcl/schema"
	"hatchel/hcl/template"
)

// Notes are what an editor shows of a block: the values of its expressions, what they read, and how each ${...} is
// bound. They belong to one block. A nil Notes takes nothing down, which is what every load but that of an editor has.
type Notes struct {
	Values   []NotedValue
	Reads    []NotedRead
	Bindings []NotedBinding
}

// NotedValue is what is known of the value of an expression.
type NotedValue struct {
	At   diag.Range
	Type *schema.Type
	Facts
}

// NotedRead is a place that names a declaration.
type NotedRead struct {
	At    diag.Range // of the name
	Kind  string     // "var", "secret", "local", "input", "step", "type", "connection", "tool", …
	Name  string
	Owner string // the first line of the block that the declaration belongs to, such as "tool x"; empty for none
	Local bool   // it belongs to the block around the place
}

// NotedBinding is how a ${...} is bound.
type NotedBinding struct {
	At   diag.Range // of the whole ${...}
	How  string     // such as "SQL parameter 2"
	Kind template.BindingKind
}

// Value takes down what is known of an expression.
func (n *Notes) Value(at diag.Range, e TypedExpr) {
	if n != nil && e.Type != nil {
		n.Values = append(n.Values, NotedValue{at, e.Type, e.Facts})
	}
}

// Read takes down a place that names a declaration.
func (n *Notes) Read(read NotedRead) {
	if n != nil {
		n.Reads = append(n.Reads, read)
	}
}

// Binding takes down how a ${...} is bound.
func (n *Notes) Binding(at diag.Range, how string, kind template.BindingKind) {
	if n != nil {
		n.Bindings = append(n.Bindings, NotedBinding{at, how, kind})
	}
}

// Add adds other notes.
func (n *Notes) Add(more *Notes) {
	if n != nil && more != nil {
		n.Values, n.Reads = append(n.Values, more.Values...), append(n.Reads, more.Reads...)
		n.Bindings = append(n.Bindings, more.Bindings...)
	}
}
