package exprlang

import "strings"

func pathKey(path []string) string { return strings.Join(path, "\x00") }

// withoutRuledOutNull is the shape of a path where the facts rule out null.
func (c *compiler) withoutRuledOutNull(path []string, s *Shape) *Shape {
	if s.Nullable && c.nonNull[pathKey(path)] > 0 {
		return s.notNull()
	}
	return s
}

// withNonNull compiles a part that runs only when the paths are not null.
func (c *compiler) withNonNull(paths [][]string, part func() typedExpr) typedExpr {
	for _, p := range paths {
		c.nonNull[pathKey(p)]++
	}
	t := part()
	for _, p := range paths {
		c.nonNull[pathKey(p)]--
	}
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
