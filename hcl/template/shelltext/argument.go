package shelltext

import (
	"fmt"
	"slices"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"

	"hatchel/hcl/template"
)

// An Arg is one element of a list of words. Exactly one of Text, Value, Group and Cond is set; an
// Arg with none of them is a literal null.
type Arg struct {
	Text  *template.Tree          // a quoted template, with or without interpolations
	Value *template.Interpolation // an expression that is the whole element; a list becomes several words
	Group []Arg                   // a nested list: omitted completely if a member is null
	// the exit codes of a Group that is a stage of a pipe; nil for none
	OKCodes []int

	Cond       template.Value // the condition, a bool, of a conditional whose branches are elements
	Then, Else *Arg

	Source string // the element as written, for hints
	Range  hclv2.Range
}

// literal returns the text of a constant element.
func (a *Arg) literal() (string, bool) {
	if a.Value != nil {
		return a.Value.Type.KnownText()
	}
	if a.Text == nil {
		return "", false
	}
	text := ""
	for _, n := range a.Text.Nodes {
		part, known := "", false
		switch n := n.(type) {
		case *template.Text:
			part, known = n.Value, true
		case *template.Interpolation:
			part, known = n.Type.KnownText()
		}
		if !known {
			return "", false
		}
		text += part
	}
	return text, true
}

// leaves returns the elements of an element's branches and groups, or the element itself.
func (a *Arg) leaves() []*Arg {
	switch {
	case a.Cond != nil:
		return append(a.Then.leaves(), a.Else.leaves()...)
	case a.Group != nil:
		var all []*Arg
		for i := range a.Group {
			all = append(all, a.Group[i].leaves()...)
		}
		return all
	}
	return []*Arg{a}
}

// Branches returns the branches of a conditional element, or the element itself.
func (a *Arg) Branches() []*Arg {
	if a.Cond == nil {
		return []*Arg{a}
	}
	return append(a.Then.Branches(), a.Else.Branches()...)
}

// conditions returns the number of conditions in an element.
func (a *Arg) conditions() int {
	n := 0
	if a.Cond != nil {
		n = 1 + a.Then.conditions() + a.Else.conditions()
	}
	for i := range a.Group {
		n += a.Group[i].conditions()
	}
	return n
}

// choose appends the words of an element for one combination of branches. Each condition takes one
// of bits.
func (a *Arg) choose(bits *int, out []*Arg) []*Arg {
	switch {
	case a.Cond != nil:
		branch := a.Then
		if *bits&1 == 1 {
			branch = a.Else
		}
		*bits >>= 1
		return branch.choose(bits, out)
	case a.Group != nil:
		for i := range a.Group {
			out = a.Group[i].choose(bits, out)
		}
	case a.Text != nil || a.Value != nil:
		out = append(out, a)
	}
	return out
}

// values returns the interpolations of a leaf.
func (a *Arg) values() []*template.Interpolation {
	switch {
	case a.Value != nil:
		return []*template.Interpolation{a.Value}
	case a.Text != nil:
		return interpolations(a.Text.Nodes)
	}
	return nil
}

// interpolations returns the interpolations of nodes, including those of all branches and loops.
func interpolations(nodes []template.Node) (all []*template.Interpolation) {
	for _, n := range nodes {
		switch n := n.(type) {
		case *template.Interpolation:
			all = append(all, n)
		case *template.If:
			all = append(append(all, interpolations(n.Then)...), interpolations(n.Else)...)
		case *template.For:
			all = append(all, interpolations(n.Body)...)
		}
	}
	return all
}

// nullable reports whether the element may be omitted in a call.
func (a *Arg) nullable() bool {
	return slices.ContainsFunc(a.leaves(), func(leaf *Arg) bool {
		return leaf.Text == nil && leaf.Value == nil ||
			slices.ContainsFunc(leaf.values(), func(h *template.Interpolation) bool { return h.Type.Nullable })
	})
}

// source returns the source of an element, for hints. Only the constant words of a connection have
// none.
func (a *Arg) source() string {
	if a.Source != "" {
		return a.Source
	}
	text, _ := a.literal()
	return `"` + escaper.Replace(text) + `"`
}

// valueSource returns the source of the first interpolation of a leaf, or else of the leaf.
func (a *Arg) valueSource() string {
	if values := a.values(); len(values) > 0 {
		return values[0].Source
	}
	return a.source()
}

var escaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "${", "$${", "%{", "%%{")

// maxWordSize is the maximum size in bytes of one word or one NAME=value: the limit of Linux, with
// room for the name.
const maxWordSize = 128<<10 - 64

// scalarText returns a value as a text that a program can be given. For null, present is false.
func scalarText(v any, source string) (text string, present bool, err error) {
	text, present, err = template.ScalarText(v, source)
	if err == nil {
		err = checkText(text, source)
	}
	return text, present, err
}

func checkText(text, source string) error {
	if strings.IndexByte(text, 0) >= 0 {
		return fmt.Errorf("%s holds a NUL character, which no program can be given; send it without", source)
	}
	if len(text) > maxWordSize {
		return fmt.Errorf("%s is %d bytes long, and a program can be given at most %d in one value; send less",
			source, len(text), maxWordSize)
	}
	return nil
}
