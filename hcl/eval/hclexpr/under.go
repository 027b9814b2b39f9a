package hclexpr

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// resolveUnder returns the absolute path of name below dir, which is relative to base. Links are
// resolved, and what would leave dir is refused. The file itself need not exist; the folder must.
func resolveUnder(base, dir, name string) (string, error) {
	if strings.ContainsRune(name, 0) {
		return "", fmt.Errorf("a path cannot hold a NUL character")
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(base, dir)
	}
	if name != "" && !filepath.IsLocal(name) {
		return "", fmt.Errorf("%q is not a path below the folder: it must be relative, and no \"..\" may climb out",
			name)
	}
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("the folder that %q would be in is not there", name)
	}
	full := filepath.Join(root, name)
	resolved, err := resolveLinks(full)
	if err != nil {
		return "", fmt.Errorf("%q cannot be reached", name)
	}
	if rel, err := filepath.Rel(root, resolved); err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%q leads out of the folder through a link", name)
	}
	return resolved, nil
}

// resolveLinks follows links of as much of a path as exists.
func resolveLinks(path string) (string, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if err == nil || !os.IsNotExist(err) {
		return resolved, err
	}
	if info, lerr := os.Lstat(path); lerr == nil && info.Mode()&os.ModeSymlink != 0 {
		return "", err // a link to nowhere could be completed by somebody else later
	}
	parent, err := resolveLinks(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	return filepath.Join(parent, filepath.Base(path)), nil
}
