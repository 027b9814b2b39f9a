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

// A finder remembers where the programs of one block are. It is safe for concurrent use.
type finder struct {
	path  string   // the PATH that it remembers for
	known sync.Map // program name → file
}

// find returns the file of a program as a shell would, in the PATH that the program itself will see. A name with a slash is relative to the working
// folder.
func (f *finder) find(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	if path != f.path {
		return look(name, path)
	}
	if file, ok := f.known.Load(name); ok {
		return file.(string), nil
	}
	file, err := look(name, path)
	if err == nil {
		f.known.Store(name, file)
	}
	return file, err
}

// forget drops what is known of a program that is not where it was.
func (f *finder) forget(name string) bool {
	_, was := f.known.LoadAndDelete(name)
	return was
}

// look searches the folders of a PATH. Relative ones are passed over: what they hold would depend on the working folder.
func look(name, path string) (string, error) {
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
