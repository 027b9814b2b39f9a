// Package template holds what a template is before anything is bound: text that the author wrote,
// interpolations where values of a call will stand, and the structure of %{if} and %{for}. The compilers of
// its sub-packages (sqltext, shelltext, urltext) check a Tree at load against every rendering it
// can have and turn it into a program that binds each interpolation by its context. None of them ever
// renders a value into text that another system parses.
package template

import hclv2 "github.com/hashicorp/hcl/v2"

// A Tree is one template, in written order.
type Tree struct {
	Nodes []Node
	Range hclv2.Range // the whole template in its file
}

// A Node is *Text, *Hole, *If or *For.
type Node interface{ node() }

// Text is the author's own text, after HCL's escapes, dedent and trim markers were applied.
type Text struct {
	Value string
	// Place maps a half-open byte interval of Value to where it was written.
	Place func(from, to int) hclv2.Range
}

// Interpolation is one ${...}: always one complete value.
type Interpolation struct {
	Value  Value       // gives the value during the call
	Source string      // what is between ${ and }, as written, for hints
	Range  hclv2.Range // the whole ${...}
	Type   Type        // what is known of the value at load
	// "ident", "raw", "path" or "under" when the interpolation is a call of that contextual function, else
	// ""
	Func string
	Args []*Interpolation // the arguments of Func, each with its own Value, Type and Range
}

// If is %{if}, with or without %{else}.
type If struct {
	Cond       Value // gives a bool
	Then, Else []Node
	Range      hclv2.Range // of the condition
}

// For is %{for}: Body is rendered once an element of a list or map.
type For struct {
	Over  Loop
	Body  []Node
	Range hclv2.Range // of the collection
}

func (*Text) node()          {}
func (*Interpolation) node() {}
func (*If) node()            {}
func (*For) node()           {}

// A Frame carries the values of one call to Value and Loop. Compiled programs pass it through and
// never look inside.
type Frame any

// Value computes one value of a call (see package value for what it can be). It is safe for
// concurrent use with different frames. Its error is written for the model that made the call.
type Value func(Frame) (any, error)

// Loop runs body once an element, with the loop's variables set in the frame it passes on, and
// stops at the first error.
type Loop func(f Frame, body func(Frame) error) error

// Kind is the kind of a type as far as a context can depend on it.
type Kind int

const (
	Any    Kind = iota // nothing is known
	String             // any text
	Number
	Integer
	Bool
	Enum   // one of Type.Values
	List   // elements of Type.Elem
	Object // or a map
	Bytes
	File // what a caller has uploaded
)

// Type is what is known of an interpolation's value at load.
type Type struct {
	Kind     Kind
	Nullable bool     // it may be null here, after narrowing
	Elem     *Type    // of a List; nil when unknown
	Tuple    []Type   // of a list written out in the template: one an element; else nil
	Values   []string // every text that an Enum can be
	Known    bool     // the value does not depend on the call: it is the author's own
	Constant any      // the value when Known
}
