package exprlang

import (
	"slices"
	"strings"

	"hatchel/hcl/schema"
)

// withoutRuledOutNull is the type of a traversal, without null where that is ruled out.
func (c *compiler) withoutRuledOutNull(path []string, t *schema.Type) *schema.Type {
	if t.Nullable && c.nonNull.HasPath(path) {
		return t.NotNull()
	}
	return t
}

// withNonNull compiles a part that runs only when the traversals are not null.
func (c *compiler) withNonNull(paths [][]string, part func() typedExpr) typedExpr {
	around := c.nonNull
	c.nonNull = around.AddPaths(paths)
	t := part()
	c.nonNull = around
	return t
}

// prefixes returns a traversal and everything on the way to it.
func prefixes(path []string) [][]string {
	out := make([][]string, 0, len(path))
	for i := range path {
		out = append(out, path[:i+1])
	}
	return out
}

func pathKey(path []string) string { return strings.Join(path, "\x00") }

func unionPaths(a, b [][]string) [][]string { return slices.Concat(a, b) }

func intersectPaths(a, b [][]string) [][]string {
	var out [][]string
	for _, p := range a {
		if slices.ContainsFunc(b, func(q []string) bool { return slices.Equal(p, q) }) {
			out = append(out, p)
		}
	}
	return out
}

// rootPaths returns the traversals that begin at a root, sorted, each once. A root itself is never
// null.
func (c *compiler) rootPaths(paths [][]string) [][]string {
	var out [][]string
	for _, p := range paths {
		if len(p) > 1 && c.isRoot(p[0]) {
			out = append(out, p)
		}
	}
	sortPaths(out)
	return slices.CompactFunc(out, slices.Equal)
}

func sortPaths(paths [][]string) {
	slices.SortFunc(paths, func(a, b []string) int { return strings.Compare(pathKey(a), pathKey(b)) })
}

// dropCovered sorts traversals and drops those below another one.
func dropCovered(paths [][]string) [][]string {
	sortPaths(paths)
	out := [][]string{}
	for _, p := range paths {
		if n := len(out); n > 0 && len(p) >= len(out[n-1]) && slices.Equal(p[:len(out[n-1])], out[n-1]) {
			continue
		}
		out = append(out, p)
	}
	return out
}
