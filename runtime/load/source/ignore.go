package source

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// IgnoreFile names the files and folders below its folder that are no configuration: one glob a line, of
// a path relative to the folder, or without a slash of any name. Lines that begin with # are comments.
const IgnoreFile = ".hatchelignore"

// ignored are the globs of an IgnoreFile.
type ignored []string

// readIgnored reads the IgnoreFile of a folder, if there is one. The folder has no links in its path.
func readIgnored(dir string) (globs ignored, err error) {
	file := filepath.Join(dir, IgnoreFile)
	var text []byte
	if err = checkInside(dir, file); err == nil {
		text, err = ReadRegularFile(file, maxSourceFile)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: IgnoreFile, Err: fmt.Errorf("%s: %w", IgnoreFile, err)}
	}
	return parseIgnored(text)
}

// Ignores returns a function that reports whether a path, relative to the folder of an IgnoreFile with
// this content, is ignored.
func Ignores(text []byte) (func(name string) bool, error) {
	globs, err := parseIgnored(text)
	return globs.has, err
}

func parseIgnored(text []byte) (globs ignored, err error) {
	for i, line := range strings.Split(string(text), "\n") {
		glob := strings.Trim(strings.TrimSpace(line), "/")
		if glob == "" || glob[0] == '#' {
			continue
		}
		if _, err := path.Match(glob, ""); err != nil {
			const text = "%s:%d: %q is not a glob: write one such as drafts, *.draft.hcl or old/*"
			return nil, fmt.Errorf(text, IgnoreFile, i+1, glob)
		}
		globs = append(globs, glob)
	}
	return globs, nil
}

// has reports whether a path, relative to the folder, is ignored. What is below an ignored folder is never
// asked for.
func (globs ignored) has(name string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		of := name
		if !strings.Contains(glob, "/") {
			of = path.Base(name)
		}
		matches, _ := path.Match(glob, of)
		return matches
	})
}
