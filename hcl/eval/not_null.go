package eval

import "strings"

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

// HasPath is Has for the names of a traversal.
func (n *NonNull) HasPath(path []string) bool { return n != nil && n.Has(joinPath(path)) }

// Add returns the set with more traversals.
func (n *NonNull) Add(paths []string) *NonNull {
	for _, p := range paths {
		n = &NonNull{p, n}
	}
	return n
}

// AddPaths is Add for the names of traversals.
func (n *NonNull) AddPaths(paths [][]string) *NonNull {
	for _, path := range paths {
		n = &NonNull{joinPath(path), n}
	}
	return n
}

// joinPath writes the names of a traversal as one text. A dot in a name does not separate names.
func joinPath(path []string) string {
	names := make([]string, len(path))
	for i, name := range path {
		names[i] = strings.ReplaceAll(name, ".", "\x00")
	}
	return strings.Join(names, ".")
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

// Branches returns the sets for the two branches of a condition.
func (n *NonNull) Branches(whenTrue, whenFalse []string) (yes, no *NonNull) {
	return n.Add(whenTrue), n.Add(whenFalse)
}

// AppendFingerprint appends a text that equal sets share.
func (n *NonNull) AppendFingerprint(dst []byte) []byte {
	for ; n != nil; n = n.next {
		dst = append(append(dst, n.path...), '\n')
	}
	return dst
}
