// Package template defines the syntax tree of a template: constant text, interpolations, and the
// directives %{if} and %{for}. The compilers of its sub-packages (sqltext, shelltext, urltext)
// check every rendering of a Tree at load, and compile it to a program that binds each
// interpolation according to its context. No compiler renders a value into text that another system
// parses.
package template

import hclv2 "github.com/hashicorp/hcl/v2"

// A Tree is one template, in written order.
type Tree struct {
	Nodes   []Node
	Choices []string    // of the conditions that decide more than one branch or round
	Range   hclv2.Range // the whole template in its file
}

// A Node is a *Text, *Interpolation, *If or *For.
type Node interface{ node() }

// Text is constant text, after the escapes, dedent and trim markers of HCL were applied.
type Text struct {
	Value string
	// Place maps a half-open byte interval of Value to its range in the source.
	Place func(from, to int) hclv2.Range
}

// Interpolation is one ${...}: always one complete value.
type Interpolation struct {
	Value  Value       // computes the value during the call
	Source string      // the source between ${ and }, for hints
	Range  hclv2.Range // the whole ${...}
	Type   Type        // the type of the value as known at load
	// "ident", "raw", "path", "segment" or "under" for a call of that contextual function, else ""
	Func string
	Args []*Interpolation // the arguments of Func, each with its own Value, Type and Range
	// the text that it always is, if that is written in the configuration and no secret; empty for others
	Written string
}

// If is %{if}, with or without %{else}.
type If struct {
	Condition
	Then, Else []Node
	Range      hclv2.Range // of the condition
}

// For is %{for}: Body is rendered for every element of a list or map.
type For struct {
	Over     Loop
	Body     []Node
	Choices  []string    // that each round makes anew
	Range    hclv2.Range // of the collection
	NotEmpty bool        // there is at least one element
}

func (*Text) node()          {}
func (*Interpolation) node() {}
func (*If) node()            {}
func (*For) node()           {}

// A Frame carries the values of one call to Value and Loop. Compiled programs pass it through
// without inspecting it.
type Frame any

// Value computes one value of a call, as defined by package value. It is safe for concurrent use
// with different frames. The error is a sentence for the model that made the call.
type Value func(Frame) (any, error)

// Loop runs body for every element, with a frame that contains the loop's variables, and stops at
// the first error.
type Loop func(f Frame, body func(Frame) error) error

// Kind is the kind of a type, as far as the contextual compilers distinguish it.
type Kind int

const (
	Any    Kind = iota // nothing is known
	String             // any string
	Number
	Integer
	Bool
	Enum   // one of Type.Values, which the author wrote
	List   // elements of Type.Elem
	Object // or a map
	Bytes
	File // an uploaded file
)

// Type describes the value of an interpolation as known at load.
type Type struct {
	Kind     Kind
	Nullable bool     // it may be null here, after narrowing
	Elem     *Type    // of a List; nil if unknown
	Tuple    []Type   // of a list literal: the types of its elements; else nil
	Values   []string // all values of an Enum
	Dash     bool     // the author wrote a dash at the beginning of it, or of an element, in some calls
	FileName bool     // no value holds a slash or begins with a dot
	Path     PathKind // of a text
	Plain    bool     // a string that has only letters, digits and _ - . :
	Word     bool     // a string that a shell reads as one word: nothing to split or expand, no dash at the beginning
	Known    bool     // the value is known at load
	Constant any      // the value if Known
}
