package template

import hclv2 "github.com/hashicorp/hcl/v2"

// Binding is how a compiled template binds an interpolation, for editors.
type Binding struct {
	Range hclv2.Range // of the whole ${...}
	How   string      // such as "SQL parameter 2"
	Kind  BindingKind
}

// BindingKind is what a binding makes of a value.
type BindingKind uint8

const (
	Written BindingKind = iota // a part of a text, as it is
	Apart                      // sent apart from the text: an SQL parameter, an argv element, an environment variable
	Escaped                    // a part of the text, escaped for its place
	Name                       // a quoted name
	Listed                     // a text that the configuration lists
)

// EachInterpolation calls do with the interpolations of nodes in written order, those of all branches and loops too,
// and with each text before them.
func EachInterpolation(nodes []Node, text func(string), do func(*Interpolation)) {
	for _, n := range nodes {
		switch n := n.(type) {
		case *Text:
			text(n.Value)
		case *Interpolation:
			do(n)
		case *If:
			EachInterpolation(n.Then, text, do)
			EachInterpolation(n.Else, text, do)
		case *For:
			EachInterpolation(n.Body, text, do)
		}
	}
}
