package hclexpr

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// resolveUnder returns the absolute path of name below dir, which is relative to base. Symbolic
// links are resolved, and a path outside of dir is rejected. The directory must exist; the file
// need not.
func resolveUnder(base, dir, name string) (string, error) {
	if strings.ContainsRune(name, 0) {
		return "", fmt.Errorf("a path cannot contain a NUL character")
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(base, dir)
	}
	if name != "" && !filepath.IsLocal(name) {
		return "", fmt.Errorf("%q is not a path below the folder: it must be relative and stay inside",
			name)
	}
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("the folder for %q does not exist", name)
	}
	full := filepath.Join(root, name)
	resolved, err := resolveLinks(full)
	if err != nil {
		return "", fmt.Errorf("%q cannot be reached", name)
	}
	if rel, err := filepath.Rel(root, resolved); err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%q leaves the folder through a link", name)
	}
	return resolved, nil
}

// resolveLinks resolves the symbolic links of as much of a path as exists.
func resolveLinks(path string) (string, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if err == nil || !os.IsNotExist(err) {
		return resolved, err
	}
	if info, lerr := os.Lstat(path); lerr == nil && info.Mode()&os.ModeSymlink != 0 {
		return "", err // a dangling link could be completed later
	}
	parent, err := resolveLinks(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	return filepath.Join(parent, filepath.Base(path)), nil
}
