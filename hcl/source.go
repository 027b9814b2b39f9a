package hcl

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// A source is one parsed file.
type source struct {
	name   string
	src    []byte
	body   *hclsyntax.Body
	diags  Diagnostics // of the syntax
	digest [sha256.Size]byte
	offers int        // how many blocks of it are offered to clients
	kept   []*decoded // of those blocks in order, as the last load left them
	under  *globals   // what they were decoded under
	bare   bool       // the bodies of blocks that are kept were dropped: they are several times the size of what was made of them
}

// sources reads and parses every *.hcl below the root, in the order of their names. Folders and files that start with a dot are skipped.
func (l *loader) sources() []*source {
	var files []*source
	err := fs.WalkDir(l.files.fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		hidden := strings.HasPrefix(path.Base(name), ".") && name != "."
		switch {
		case err != nil:
			l.unreadable(name, err)
			if name == "." {
				return fs.SkipAll
			}
			return nil
		case entry.IsDir() && hidden:
			return fs.SkipDir
		case entry.IsDir() || hidden || path.Ext(name) != ".hcl":
			return nil
		}
		src, err := fs.ReadFile(l.files.fsys, name)
		if err != nil {
			l.unreadable(name, err)
			return nil
		}
		files = append(files, &source{name: name, src: src})
		return nil
	})
	if err != nil {
		l.unreadable(".", err)
	}
	l.opts.Parallel(len(files), func(i int) { files[i] = l.opts.Cache.parsed(files[i].name, files[i].src) })
	return files
}

// unreadable reports what cannot be read, and does not miss what may be declared there. An error with a Reason says it in words for the author.
func (l *loader) unreadable(name string, err error) {
	l.partial = true
	why := "it cannot be read"
	var known interface{ Reason() string }
	switch {
	case errors.As(err, &known):
		why = known.Reason()
	case errorIs(err, fs.ErrNotExist):
		why = "it does not exist"
	case errorIs(err, fs.ErrPermission):
		why = "permission is denied"
	}
	what, where := "this file", Range{File: name, Start: Pos{Line: 1, Column: 1}, End: Pos{Line: 1, Column: 1}}
	if name == "." {
		what, where = "the folder", Range{}
	}
	l.diags.errorf(where, "Unreadable configuration", "%s could not be read: %s.", sentence(what), why)
}

// parse reads the syntax of one file. A file that the parser could not survive is refused before it.
func parse(s *source) *source {
	if d := s.oversized(); d != nil {
		s.diags = Diagnostics{d}
		return s
	}
	file, diags := hclsyntax.ParseConfig(s.src, s.name, hclv2.InitialPos)
	if body, ok := file.Body.(*hclsyntax.Body); ok {
		s.body = body
	}
	s.diags = syntax(diags, s.src)
	return s
}

func newSource(name string, src []byte) *source {
	h := sha256.New()
	h.Write([]byte(name))
	h.Write([]byte{0})
	h.Write(src)
	s := &source{name: name, src: src, body: &hclsyntax.Body{}}
	h.Sum(s.digest[:0])
	return s
}

// digest names what a list of texts says.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}
