// Package format formats files of a configuration.
package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"

	"hatchel/hcl/syntax"
	"hatchel/runtime/source"
)

// Formatter formats files, and counts those that it changes and those that it cannot read.
type Formatter struct {
	Check, Diff bool // no file is written; with Diff the differences are printed
	In          io.Reader
	Out, Err    io.Writer

	Changed, Broken int // Broken files have syntax errors
}

// Files returns the file of a path, or the files of a configuration directory.
func Files(path string) ([]string, error) {
	if path == "-" {
		return []string{path}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	return source.Names(path)
}

// Format formats one file. Its syntax errors are printed.
func (f *Formatter) Format(name string) error {
	src, err := f.read(name)
	if err != nil {
		return err
	}
	formatted, diags := syntax.Format(name, src)
	if diags.HasErrors() {
		diags.Print(f.Err, map[string][]byte{name: src})
		f.Broken++
		return nil
	}
	changed := !bytes.Equal(src, formatted)
	if changed {
		f.Changed++
	}
	if changed && f.Diff {
		f.Out.Write(diff.Diff(name, src, name, formatted))
	}
	switch {
	case name == "-" && !f.Check && !f.Diff:
		_, err = f.Out.Write(formatted)
	case !changed || f.Diff:
	default:
		fmt.Fprintln(f.Out, name)
		if !f.Check {
			err = replaceFile(name, formatted)
		}
	}
	return err
}

func (f *Formatter) read(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(f.In)
	}
	return os.ReadFile(name)
}

// replaceFile replaces the content of a file atomically. It follows links and keeps the
// permissions.
func replaceFile(name string, content []byte) error {
	target, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	info, err := os.Stat(target)
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(target), ".hatchel-fmt-*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(content)
	if err = errors.Join(err, temp.Chmod(info.Mode().Perm()), temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), target)
}
