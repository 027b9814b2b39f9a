package source

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// walk visits the folders and *.hcl files below dir in lexical order, each folder before its
// entries.
func walk(dir string, visit func(name string, info fs.FileInfo, err error)) error {
	return walkUpTo(dir, maxFolders, visit)
}

// HasMoreFolders reports whether a folder has more than n folders below it. It reads no more than these.
func HasMoreFolders(dir string, n int) bool {
	return errors.Is(walkUpTo(dir, n, func(string, fs.FileInfo, error) {}), errTooMany)
}

var errTooMany = errors.New("there are too many folders below it")

// walkUpTo is walk for a folder with at most some folders below it.
func walkUpTo(dir string, folders int, visit func(name string, info fs.FileInfo, err error)) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &fs.PathError{Op: "read", Path: dir, Err: errors.New("it is not a directory")}
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	ignored, err := readIgnored(real)
	if err != nil {
		return err
	}
	visit(".", info, nil)
	w := &walker{root: dir, real: real, ignored: ignored, visit: visit, left: folders}
	return w.folder(".", []fs.FileInfo{info}, false)
}

// Names returns the paths of the *.hcl files of a folder. A file that a snapshot refuses is an error.
func Names(dir string) (names []string, err error) {
	var refused error
	err = walk(dir, func(name string, info fs.FileInfo, err error) {
		switch {
		case err != nil:
			refused = fmt.Errorf("%s: %w", name, err)
		case !info.IsDir():
			names = append(names, filepath.Join(dir, filepath.FromSlash(name)))
		}
	})
	return names, cmp.Or(err, refused)
}

type walker struct {
	root    string
	real    string // root without links
	ignored ignored
	visit   func(name string, info fs.FileInfo, err error)
	left    int // folders that may still be visited
}

// folder visits what a folder contains. Linked is set below a link to a folder.
func (w *walker) folder(at string, above []fs.FileInfo, linked bool) error {
	if w.left--; w.left < 0 {
		return errTooMany
	}
	entries, err := os.ReadDir(filepath.Join(w.root, filepath.FromSlash(at)))
	if err != nil {
		if at == "." {
			return err
		}
		return nil // removed, or not readable
	}
	for _, e := range entries {
		name := path.Join(at, e.Name())
		isFile := path.Ext(name) == ".hcl"
		if strings.HasPrefix(e.Name(), ".") || !isFile && e.Type().IsRegular() || w.ignored.has(name) {
			continue
		}
		file := filepath.Join(w.root, filepath.FromSlash(name))
		throughLink := linked || e.Type() == fs.ModeSymlink
		info, err := os.Stat(file)
		if err == nil && isFile && throughLink {
			err = checkInside(w.real, file)
		}
		switch {
		case err != nil:
			if isFile {
				w.visit(name, nil, err)
			}
		case info.IsDir():
			if slices.ContainsFunc(above, func(a fs.FileInfo) bool { return os.SameFile(a, info) }) {
				continue // a link to a folder above it
			}
			w.visit(name, info, nil)
			if err := w.folder(name, append(above[:len(above):len(above)], info), throughLink); err != nil {
				return err
			}
		case isFile:
			w.visit(name, info, nil)
		}
	}
	return nil
}

// checkInside refuses a file that links lead to outside of the configuration directory, whose path has no links: its
// lines would be quoted in diagnostics.
func checkInside(dir, file string) error {
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return err
	}
	if inside, err := filepath.Rel(dir, real); err != nil || !filepath.IsLocal(inside) {
		return fileError("a link leads to it outside of the configuration directory")
	}
	return nil
}
