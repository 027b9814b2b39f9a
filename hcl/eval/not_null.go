package eval

import (
	"slices"
	"strings"
)

// NonNull is the set of traversals that are certainly not null where an expression stands. A set is
// never changed; nil is the empty one.
type NonNull struct {
	path string
	next *NonNull
}

// Has reports whether the traversal, or something below it, is in the set.
func (n *NonNull) Has(path string) bool {
	if path == "" {
		return false
	}
	for ; n != nil; n = n.next {
		if n.path == path || strings.HasPrefix(n.path, path+".") {
			return true
		}
	}
	return false
}

// Add returns the set with more traversals.
func (n *NonNull) Add(paths []string) *NonNull {
	for _, p := range paths {
		n = &NonNull{p, n}
	}
	return n
}

// Shadow returns the set without the traversals that begin with a name to which a loop gives
// another meaning.
func (n *NonNull) Shadow(name string) *NonNull {
	if n == nil {
		return nil
	}
	rest := n.next.Shadow(name)
	switch {
	case n.path == name || strings.HasPrefix(n.path, name+"."):
		return rest
	case rest == n.next:
		return n
	}
	return &NonNull{n.path, rest}
}

// NonNullWhenTrue are the traversals that are not null if the value is true. A traversal that gives
// true is not null itself.
func (e TypedExpr) NonNullWhenTrue() []string {
	if e.Path != "" {
		return Prefixes(e.Path)
	}
	return e.WhenTrue
}

// Prefixes returns a traversal and everything on the way to it.
func Prefixes(path string) (out []string) {
	for i := range len(path) {
		if path[i] == '.' {
			out = append(out, path[:i])
		}
	}
	if path != "" {
		out = append(out, path)
	}
	return out
}

// intersect returns the traversals that are in both lists.
func intersect(a, b []string) (both []string) {
	for _, p := range a {
		if slices.Contains(b, p) {
			both = append(both, p)
		}
	}
	return both
}
