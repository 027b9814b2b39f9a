package upstream

import (
	"os"
	"path/filepath"
	"strings"

	"hatchel/cmd/hatchel/importer/mcp"
)

// Find finds a word of a command that is the path of a file or a directory, as a client sees it that starts the
// program in directory from. It returns the path for a connection whose relative paths start from dir, and what the
// program must be able to read for it: for a file of a package, the directory of the package, and for one in a
// node_modules directory all of that, because what the package needs is beside it.
func Find(dir, from, word string) (place mcp.Place, ok bool) {
	path := word
	if !filepath.IsAbs(path) {
		if path = filepath.Join(from, word); from == "" || !strings.ContainsAny(word, "/.") || word == "." {
			return mcp.Place{}, false
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return mcp.Place{}, false
	}
	read := path
	if before, _, ok := strings.Cut(path, "/node_modules/"); ok {
		read = before + "/node_modules"
	} else if !info.IsDir() {
		at := filepath.Dir(path)
		for range maxPackageLevels {
			if isPackage(at) {
				read = at
				break
			}
			if next := filepath.Dir(at); next != at {
				at = next
			}
		}
	}
	return mcp.Place{Path: relative(dir, path), Read: relative(dir, read), IsDir: info.IsDir()}, true
}

// maxPackageLevels is how far above a file its package is looked for.
const maxPackageLevels = 4

func isPackage(dir string) bool {
	for _, name := range []string{"package.json", "pyproject.toml", "pyvenv.cfg"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// relative returns a path below dir with slashes, and any other path as it is.
func relative(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}
