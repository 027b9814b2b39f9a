package exprlang

import (
	"strings"

	"hatchel/hcl/schema"
)

func pathKey(path []string) string { return strings.Join(path, "\x00") }

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

// prefixes returns a path and everything on the way to it.
func prefixes(path []string) [][]string {
	out := make([][]string, 0, len(path))
	for i := range path {
		out = append(out, path[:i+1])
	}
	return out
}

func unionPaths(a, b [][]string) [][]string {
	out := append([][]string{}, a...)
	return append(out, b...)
}

// intersectPaths returns the paths that stand in both.
func intersectPaths(a, b [][]string) [][]string {
	var out [][]string
	for _, p := range a {
		for _, q := range b {
			if pathKey(p) == pathKey(q) {
				out = append(out, p)
				break
			}
		}
	}
	return out
}

// rootPaths returns the paths that begin at a root, sorted, each once. A root itself is never null.
func (c *compiler) rootPaths(paths [][]string) [][]string {
	seen := map[string]bool{}
	var out [][]string
	for _, p := range paths {
		if k := pathKey(p); len(p) > 1 && c.isRoot(p[0]) && !seen[k] {
			seen[k] = true
			out = append(out, p)
		}
	}
	sortPaths(out)
	return out
}
