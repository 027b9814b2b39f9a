package hcl

import (
	"bytes"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"hatchel/hcl/eval"
)

// Code says which files of the configuration directory the programs of a backend may run or read. All paths are
// slash-separated. A relative one is below Dir, those of Granted are below the configuration directory.
type Code struct {
	Dir     string   // the working directory, below the configuration directory; empty for that directory itself
	Words   []string // of commands and variables that are known at load: each may name a file, or hold the name of one
	Texts   []string // code that is known at load, such as a script: each word of it may name a file
	Granted []string // files and directories that a sandbox lets programs read
	Free    bool     // no sandbox confines the programs
}

// CodeRunner is the configuration of a backend that may run or read files of the configuration directory. Conn is the
// connection of the backend; nil for none.
type CodeRunner interface {
	Code(conn *Connection) Code
}

// codeFiles returns the digests of the files that programs may run or read, by name, and makes them dependencies of
// deps.
//
// No list of programs says which of their words are names: each word that names a file does, with or without the name
// of an option before it, and so does each word in the code of such a file. What is doubtful is included.
func (l *loader) codeFiles(code Code, deps *eval.Dependencies) map[string]string {
	f := &codeFinder{dir: path.Clean(code.Dir), config: path.Clean(l.opts.Dir), fsys: l.fsys,
		read: l.functionContext(deps).ReadFile, found: map[string]string{}, listed: map[string][]fs.DirEntry{}}
	deps.ReadsFiles = deps.ReadsFiles || len(code.Words)+len(code.Texts)+len(code.Granted) > 0
	for _, name := range code.Granted {
		f.addAll(f.inConfig(".", name), 0)
	}
	for _, word := range code.Words {
		f.addWord(word)
	}
	for _, text := range code.Texts {
		f.addText(".", []byte(text))
	}
	if code.Free {
		f.addCode(f.dir, 0)
	}
	for len(f.unread) > 0 {
		name := f.unread[0]
		f.unread = f.unread[1:]
		if content, err := f.read(name); err == nil && isCode(name, content) {
			f.addText(path.Dir(name), content)
		}
	}
	return f.found
}

const (
	maxCodeFiles  = 5000
	maxCodeDepth  = 20      // of directories
	maxCodeText   = 1 << 20 // bytes of a file whose words are looked at
	moreCodeFiles = "…"     // stands for the files over maxCodeFiles
)

// codeFinder finds the files that programs may read.
type codeFinder struct {
	dir    string // the working directory
	config string // the absolute configuration directory
	fsys   fs.FS
	read   func(name string) ([]byte, error)
	found  map[string]string        // digests by name
	listed map[string][]fs.DirEntry // entries by directory
	unread []string                 // found files whose words were not looked at
}

// lister is a file system that lists all files of a directory, also those that it does not hold.
type lister interface {
	List(dir string) ([]fs.DirEntry, error)
}

// entries returns the files and directories of a directory without hidden ones; none if it does not exist.
func (f *codeFinder) entries(dir string) []fs.DirEntry {
	if known, ok := f.listed[dir]; ok {
		return known
	}
	var list []fs.DirEntry
	if all, ok := f.fsys.(lister); ok {
		list, _ = all.List(dir)
	} else {
		list, _ = fs.ReadDir(f.fsys, dir)
	}
	list = slices.DeleteFunc(list, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") })
	f.listed[dir] = list
	return list
}

// find returns the entry of a name; nil for none.
func (f *codeFinder) find(name string) fs.DirEntry {
	for _, e := range f.entries(path.Dir(name)) {
		if e.Name() == path.Base(name) {
			return e
		}
	}
	return nil
}

// inConfig returns the name below the configuration directory of a path that is relative to a directory of it; empty
// for one outside of it.
func (f *codeFinder) inConfig(dir, name string) string {
	if path.IsAbs(name) {
		rest, inside := strings.CutPrefix(path.Clean(name)+"/", f.config+"/")
		if dir, name = ".", strings.TrimSuffix(rest, "/"); !inside {
			return ""
		}
	}
	if name = path.Join(dir, name); !fs.ValidPath(name) {
		return ""
	}
	return name
}

// isConfiguration reports whether a file is compared as configuration, and not as code.
func isConfiguration(name string) bool {
	return path.Ext(name) == ".hcl" || name == "hatchel.lock.json"
}

// add adds a file.
func (f *codeFinder) add(name string) {
	if f.found[name] != "" || isConfiguration(name) {
		return
	}
	if len(f.found) >= maxCodeFiles {
		f.found[moreCodeFiles] = eval.ContentDigest([]byte(f.found[moreCodeFiles] + name))
		return
	}
	content, err := f.read(name)
	if err != nil {
		return
	}
	f.found[name] = eval.ContentDigest(content)
	if len(content) <= maxCodeText && utf8.Valid(content) {
		f.unread = append(f.unread, name)
	}
}

// addAll adds a file, or all files below a directory.
func (f *codeFinder) addAll(name string, depth int) {
	switch e := f.find(name); {
	case name == "" || depth > maxCodeDepth:
	case name == "." || e != nil && (e.IsDir() || depth == 0 && e.Type() == fs.ModeSymlink && len(f.entries(name)) > 0):
		for _, inner := range f.entries(name) {
			if !isData(inner.Name()) {
				f.addAll(path.Join(name, inner.Name()), depth+1)
			}
		}
	case e != nil:
		f.add(name)
	}
}

// addCode adds all files below a directory that are code by their names.
func (f *codeFinder) addCode(dir string, depth int) {
	if depth > maxCodeDepth {
		return
	}
	for _, e := range f.entries(dir) {
		name := path.Join(dir, e.Name())
		if e.IsDir() {
			f.addCode(name, depth+1)
		} else if hasCodeName(name) {
			f.add(name)
		}
	}
}

// addWord adds what a word of a command may name: a file or a directory, also after the name of an option, a module,
// and the file that a program reads by default, such as Makefile.
func (f *codeFinder) addWord(word string) {
	for _, part := range partsOf(word) {
		if name := f.inConfig(f.dir, part); name != "" {
			f.addAll(name, 0)
			f.addModule(name)
		}
	}
	program := strings.ToLower(path.Base(word)) + "file"
	for _, e := range f.entries(f.dir) {
		if !e.IsDir() && strings.HasSuffix(strings.ToLower(e.Name()), program) {
			f.add(path.Join(f.dir, e.Name()))
		}
	}
}

// partsOf returns what may be a name in a word: the word, what follows a sign for an option, and the parts of a list.
func partsOf(word string) []string {
	parts := []string{word}
	if _, value, ok := strings.Cut(word, "="); ok {
		parts = append(parts, value)
	}
	if strings.HasPrefix(word, "-") && len(word) > 2 {
		parts = append(parts, word[2:])
	}
	separates := func(r rune) bool { return strings.ContainsRune(":,@ \t\n", r) }
	for _, part := range parts {
		parts = append(parts, strings.FieldsFunc(part, separates)...)
	}
	for _, part := range parts { // a module, as in python3 -m tools.report
		if strings.Contains(part, ".") && !strings.Contains(part, "/") {
			parts = append(parts, strings.ReplaceAll(part, ".", "/"))
		}
	}
	return slices.DeleteFunc(parts, func(part string) bool { return part == "" })
}

// addModule adds the files of code that a name without its ending stands for, and those in a directory of that name.
func (f *codeFinder) addModule(name string) {
	for _, e := range f.entries(path.Dir(name)) {
		if !e.IsDir() && strings.HasPrefix(e.Name(), path.Base(name)+".") && hasCodeName(e.Name()) {
			f.add(path.Join(path.Dir(name), e.Name()))
		}
	}
	if e := f.find(name); e != nil && e.IsDir() {
		for _, inner := range f.entries(name) {
			if !inner.IsDir() && hasCodeName(inner.Name()) {
				f.add(path.Join(name, inner.Name()))
			}
		}
	}
}

// nameLike matches what may be the name of a file in code.
var nameLike = regexp.MustCompile(`[\pL\pN_.@+/-]+`)

// addText adds the files that the words of code may name, relative to the working directory or to that of the code.
func (f *codeFinder) addText(dir string, text []byte) {
	seen := map[string]bool{}
	for _, token := range nameLike.FindAll(text, -1) {
		word := string(token)
		if seen[word] {
			continue
		}
		seen[word] = true
		for _, part := range partsOf(word) {
			for _, base := range []string{f.dir, dir} {
				name := f.inConfig(base, strings.TrimRight(part, "."))
				if name == "" || name == "." {
					continue
				}
				if e := f.find(name); e != nil && !e.IsDir() {
					f.add(name)
				}
				f.addModule(name)
			}
		}
	}
}

// codeEndings are the endings of files that hold code.
var codeEndings = strings.Fields(
	"awk bash bat bzl cfg cjs clj cmd conf cue dhall el erl ex exs fish go groovy hs ini " +
		"jar java jq js json jsonnet jsx ksh kt lisp lua m4 mjs mk ml nix nu php pl pm ps1 py pyc R r rb rs sed sh so " +
		"sql tcl tf tmpl j2 toml ts tsx vim wasm xsl xslt yaml yml zsh")

// hasCodeName reports whether the name of a file says that it holds code.
func hasCodeName(name string) bool {
	ending := strings.TrimPrefix(path.Ext(name), ".")
	return slices.Contains(codeEndings, ending) || ending == "" && strings.HasSuffix(strings.ToLower(name), "file")
}

// isCode reports whether a file holds code, whose words may name other files.
func isCode(name string, content []byte) bool {
	return hasCodeName(name) || path.Ext(name) == "" || bytes.HasPrefix(content, []byte("#!"))
}

// isData reports whether a file of a directory is one that programs change while the configuration is served, such as a
// log.
func isData(name string) bool {
	return slices.Contains([]string{".jsonl", ".log", ".db", ".sqlite", ".sqlite3", ".db-wal", ".db-shm",
		".db-journal"}, path.Ext(name))
}
