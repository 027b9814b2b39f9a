package shell

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

var (
	errNotFound      = errors.New("program not found")
	errNotExecutable = errors.New("file is not executable")
)

// programLookup finds the files of programs and caches them. It is safe for concurrent use.
type programLookup struct {
	path  string   // the PATH that cache is for
	cache sync.Map // program name → file
}

// find returns the file of a program as a shell would find it, in the PATH that the program gets. A name with a slash
// is relative to the working directory.
func (l *programLookup) find(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	if path != l.path {
		return searchPath(name, path)
	}
	if file, ok := l.cache.Load(name); ok {
		return file.(string), nil
	}
	file, err := searchPath(name, path)
	if err == nil {
		l.cache.Store(name, file)
	}
	return file, err
}

// forget removes a program that was moved from the cache, and reports whether it was there.
func (l *programLookup) forget(name string) bool {
	_, found := l.cache.LoadAndDelete(name)
	return found
}

// searchPath searches the directories of a PATH. Relative ones are skipped, because the result would depend on the
// working directory.
func searchPath(name, path string) (string, error) {
	err := errNotFound
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
		err = errNotExecutable
	}
	return "", err
}
