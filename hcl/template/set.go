package template

import (
	"slices"
	"strings"
)

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
