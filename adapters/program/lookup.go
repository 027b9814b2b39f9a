// Package program finds and starts the programs that blocks name, with the environment that they are given.
package program

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// The reasons why a program is not found.
var (
	ErrNotFound      = errors.New("program not found")
	ErrNotExecutable = errors.New("file is not executable")
)

// Lookup finds the files of programs and caches them. It is safe for concurrent use.
type Lookup struct {
	path  string   // the PATH that cache is for
	cache sync.Map // program name → file
}

// NewLookup returns a lookup of programs that caches what it finds in a PATH.
func NewLookup(path string) *Lookup { return &Lookup{path: path} }

// find returns the file of a program as a shell would find it, in the PATH that the program gets. A name with a slash
// is relative to the working directory.
func (l *Lookup) find(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	if path != l.path {
		return SearchPath(name, path)
	}
	if file, ok := l.cache.Load(name); ok {
		return file.(string), nil
	}
	file, err := SearchPath(name, path)
	if err == nil {
		l.cache.Store(name, file)
	}
	return file, err
}

// SearchPath searches the directories of a PATH. Relative ones are skipped, because the result would depend on the
// working directory.
func SearchPath(name, path string) (string, error) {
	err := ErrNotFound
	if name == "" {
		return "", err
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		file := filepath.Join(dir, name)
		info, statErr := os.Stat(file)
		if statErr != nil || info.IsDir() {
			continue
		}
		if info.Mode()&0o111 != 0 {
			return file, nil
		}
		err = ErrNotExecutable
	}
	return "", err
}
