package shell

import (
	"path/filepath"
)

// A place is what a rule of Landlock is about: what is at a path when the rule is made.
type place struct {
	path string
	base string // the first folder on the way to it that programs may write to; empty for none
}

// places finds the bases of paths among the folders that a block may write to.
func places(paths, writable []string) (found []place) {
	for _, path := range paths {
		p := place{path: filepath.Clean(path)}
		for i := 1; i < len(p.path) && len(writable) > 0 && p.base == ""; i++ {
			if p.path[i] == '/' && covered(resolved(p.path[:i]), writable) {
				p.base = p.path[:i]
			}
		}
		found = append(found, p)
	}
	return found
}

// resolved is a path without links, or as it is where nothing is.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
