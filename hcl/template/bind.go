package template

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"hatchel/hcl/value"
)

// Resolve computes the value of an interpolation for one call.
func (h *Interpolation) Resolve(f Frame) (any, error) {
	v, err := h.Value(f)
	if err != nil {
		return nil, err
	}
	return value.Resolve(v)
}

// FirstArg returns the first argument of a contextual function, or h if it has none.
func (h *Interpolation) FirstArg() *Interpolation {
	if len(h.Args) == 0 {
		return h
	}
	return h.Args[0]
}

// Branch returns the nodes of the branch that a call takes.
func (n *If) Branch(f Frame) ([]Node, error) {
	yes, err := Truth(n.Cond, f)
	if yes {
		return n.Then, err
	}
	return n.Else, err
}

// Truth computes a condition for one call.
func Truth(cond Value, f Frame) (bool, error) {
	v, err := cond(f)
	if err != nil {
		return false, err
	}
	if v, err = value.Resolve(v); err != nil {
		return false, err
	}
	yes, ok := v.(bool)
	if !ok {
		return false, fmt.Errorf("a condition must be true or false, and it is %s", DescribeKind(v))
	}
	return yes, nil
}

// ScalarText returns a string, number or bool as text. For null, present is false. The error names
// source.
func ScalarText(v any, source string) (text string, present bool, err error) {
	switch v := v.(type) {
	case nil:
		return "", false, nil
	case string:
		return v, true, nil
	case int, float64, json.Number, bool:
		text, err = value.Text(v)
		return text, true, err
	}
	return "", false, fmt.Errorf("%s must be a single value here, and it is %s", source, DescribeKind(v))
}

// DescribeKind returns the kind of a value with its article.
func DescribeKind(v any) string {
	switch kind := value.Kind(v); kind {
	case "null", "bytes":
		return kind
	case "object":
		return "an object"
	default:
		return "a " + kind
	}
}

// KnownText returns the text of a string that is known at load.
func (t Type) KnownText() (text string, known bool) {
	text, isString := t.Constant.(string)
	return text, isString && t.Known
}

// Interpolations returns the interpolations of nodes, including those of all branches and loops.
func Interpolations(nodes []Node) iter.Seq[*Interpolation] {
	return func(yield func(*Interpolation) bool) { walk(nodes, yield) }
}

func walk(nodes []Node, yield func(*Interpolation) bool) bool {
	more := true
	for _, n := range nodes {
		switch n := n.(type) {
		case *Interpolation:
			more = yield(n)
		case *If:
			more = walk(n.Then, yield) && walk(n.Else, yield)
		case *For:
			more = walk(n.Body, yield)
		}
		if !more {
			return false
		}
	}
	return true
}

// States is the set of states in which a compiler can be after the renderings read so far, in the
// order in which they were found.
type States[S comparable] []S

// Add adds a state, and reports whether it is new.
func (x *States[S]) Add(s S) bool {
	if slices.Contains(*x, s) {
		return false
	}
	*x = append(*x, s)
	return true
}

// With returns the states of both sets.
func (x States[S]) With(y States[S]) States[S] {
	out := slices.Clone(x)
	for _, s := range y {
		out.Add(s)
	}
	return out
}

// Map returns the states to which step leads from the states of x.
func (x States[S]) Map(step func(S) S) States[S] {
	var out States[S]
	for _, s := range x {
		out.Add(step(s))
	}
	return out
}

// WordSet returns the set of the words in a list.
func WordSet(list string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		set[w] = true
	}
	return set
}
