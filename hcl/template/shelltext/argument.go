package shelltext

import (
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

	Cond       template.Value // the condition, a bool, of a conditional whose branches are elements
	Then, Else *Arg

	Source string // the element as written, for hints
	Range  hclv2.Range
}

// literal returns the text of a constant element.
func (a *Arg) literal() (string, bool) {
	if a.Value != nil {
		s, ok := a.Value.Type.Constant.(string)
		return s, ok && a.Value.Type.Known
	}
	if a.Text == nil {
		return "", false
	}
	var b strings.Builder
	for _, n := range a.Text.Nodes {
		switch n := n.(type) {
		case *template.Text:
			b.WriteString(n.Value)
		case *template.Interpolation:
			s, ok := n.Type.Constant.(string)
			if !n.Type.Known || !ok {
				return "", false
			}
			b.WriteString(s)
		default:
			return "", false
		}
	}
	return b.String(), true
}

// nullable reports whether the element may be omitted in a call.
func (a *Arg) nullable() bool {
	switch {
	case a.Text != nil:
		return nullableNodes(a.Text.Nodes)
	case a.Value != nil:
		return a.Value.Type.Nullable
	case a.Group != nil:
		for i := range a.Group {
			if a.Group[i].nullable() {
				return true
			}
		}
		return false
	case a.Cond != nil:
		return a.Then.nullable() || a.Else.nullable()
	}
	return true
}

func nullableNodes(nodes []template.Node) bool {
	for _, n := range nodes {
		switch n := n.(type) {
		case *template.Interpolation:
			if n.Type.Nullable {
				return true
			}
		case *template.If:
			if nullableNodes(n.Then) || nullableNodes(n.Else) {
				return true
			}
		case *template.For:
			if nullableNodes(n.Body) {
				return true
			}
		}
	}
	return false
}

// source returns the source of an element, for hints.
func (a *Arg) source() string {
	switch {
	case a.Source != "":
		return a.Source
	case a.Value != nil:
		return a.Value.Source
	case a.Text != nil:
		return `"` + nodesSource(a.Text.Nodes) + `"`
	}
	return "this element"
}

var escaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "${", "$${", "%{", "%%{")

func nodesSource(nodes []template.Node) string {
	var b strings.Builder
	for _, n := range nodes {
		switch n := n.(type) {
		case *template.Text:
			b.WriteString(escaper.Replace(n.Value))
		case *template.Interpolation:
			b.WriteString("${" + n.Source + "}")
		default:
			b.WriteString("...")
		}
	}
	return b.String()
}

// walkValues calls visit for every interpolation of a template.
func walkValues(nodes []template.Node, visit func(*template.Interpolation)) {
	for _, n := range nodes {
		switch n := n.(type) {
		case *template.Interpolation:
			visit(n)
		case *template.If:
			walkValues(n.Then, visit)
			walkValues(n.Else, visit)
		case *template.For:
			walkValues(n.Body, visit)
		}
	}
}
