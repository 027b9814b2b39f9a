package hcl

import (
	"bytes"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/eval/hclexpr"
	"hatchel/internal/lazyregexp"
)

// Code says which files of the configuration directory the programs of a backend may run or read. All paths are
// slash-separated. A relative one is below Dir, those of Granted and Writable are below the configuration directory.
type Code struct {
	Dir     string   // the working directory, below the configuration directory; empty for that directory itself
	Words   []string // of commands and variables that are known at load: each may name a file, or hold the name of one
	Texts   []string // code that is known at load, such as a script: each word of it may name a file
	Script  string   // a file that is a script of the block, one of Granted; empty for none
	Granted []string // files and directories that a sandbox lets programs read
	Free    bool     // no sandbox confines the programs
	// Writable are files and directories that a sandbox lets programs write.
	Writable []string
	// Installed are files that an import has installed, also in hidden directories. Their words name no other files.
	Installed []string
}

// isEmpty reports whether no program runs.
func (c Code) isEmpty() bool {
	return len(c.Words) == 0 && len(c.Texts) == 0 && len(c.Granted) == 0 && len(c.Installed) == 0 && !c.Free
}

// CodeRunner is the configuration of a backend that may run or read files of the configuration directory. Conn is the
// connection of the backend; nil for none.
type CodeRunner interface {
	Code(conn *Connection) Code
}

// findCode finds the files that programs may run or read. It is the last part of a load, because a file that one
// program writes may be the data of another one. The digest of an operation has that of the files: another file is
// another operation, to which no approval belongs.
func (l *loader) findCode() {
	if l.diags.HasErrors() || l.opts.observe != nil {
		return
	}
	f := &codeFinder{config: path.Clean(l.opts.Dir), fsys: l.fsys, listed: map[string][]fs.DirEntry{},
		scripts: map[string]bool{}, searched: map[string]bool{}}
	codes := map[*Backend]Code{}
	for _, op := range l.config.operations() {
		for step := range op.allSteps() {
			if runner, ok := step.Backend.Config.(CodeRunner); ok {
				code := runner.Code(step.Backend.Connection)
				if code.isEmpty() {
					continue
				}
				codes[step.Backend] = code
				f.writable = append(f.writable, code.Writable...)
				f.scripts[path.Clean(code.Script)] = true
			}
		}
	}
	for i, name := range f.writable {
		f.writable[i] = f.inConfig(".", name)
	}
	for backend, code := range codes {
		l.config.Code[backend] = f.files(code)
	}
	for _, op := range l.config.operations() {
		if parts := l.config.codeOf(op.Operation); len(parts) > 0 {
			op.Digest = eval.HashParts(append(parts, op.Digest)...)
		}
	}
	for secret, command := range l.secretCommands {
		l.config.SecretCode[secret] = f.files(Code{Words: command})
	}
	l.diags = append(l.diags, f.credentials...)
}

// codeOf returns the names and digests of the files of an operation, and of the tools that it calls.
func (c *Config) codeOf(op *Operation) (parts []string) {
	for step := range op.allSteps() {
		for _, name := range diag.SortedNames(c.Code[step.Backend]) {
			parts = append(parts, name, c.Code[step.Backend][name])
		}
		if call, ok := step.Backend.Config.(*ToolCall); ok && call.Tool != nil {
			parts = append(parts, c.codeOf(&call.Tool.Operation)...)
		}
	}
	return parts
}

// allSteps returns the steps of an operation, of its completions, and of what approvers are shown.
func (op *Operation) allSteps() iter.Seq[*Step] {
	return func(yield func(*Step) bool) {
		lists := [][]*Step{op.Steps}
		for _, c := range op.Completions {
			lists = append(lists, c.Steps)
		}
		for _, before := range op.Before {
			lists = append(lists, before.Steps)
		}
		for _, step := range slices.Concat(lists...) {
			if !yield(step) {
				return
			}
		}
	}
}

// files returns the digests of the files that programs may run or read, by name.
//
// No list of programs says which of their words are names: each word that names a file does, with or without the name
// of an option before it, and so does each word in the code of such a file. What is doubtful is included, but for data
// that programs write.
func (f *codeFinder) files(code Code) map[string]string {
	f.dir, f.found, f.unread = path.Clean(code.Dir), map[string]string{}, nil
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
	for _, name := range code.Installed {
		if name = f.inConfig(f.dir, name); f.found[name] == "" {
			if content, err := f.read(name); err == nil {
				f.found[name] = eval.ContentDigest(content)
			}
		}
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

// read returns the content of a file.
func (f *codeFinder) read(name string) ([]byte, error) {
	if !fs.ValidPath(name) {
		return nil, fs.ErrInvalid
	}
	return fs.ReadFile(f.fsys, name)
}

// isWritten reports whether a file holds data that a program may write. A script that a program may write is code.
func (f *codeFinder) isWritten(name string) bool {
	if hasCodeName(name) && !slices.Contains(dataEndings, path.Ext(name)) || path.Ext(name) == "" {
		return false
	}
	return slices.ContainsFunc(f.writable, func(dir string) bool {
		return dir == "." || dir != "" && (name == dir || strings.HasPrefix(name, dir+"/"))
	})
}

// dataEndings are those of codeEndings that data has, too.
var dataEndings = []string{".cfg", ".conf", ".ini", ".json", ".sql", ".toml", ".yaml", ".yml"}

const (
	maxCodeFiles  = 5000
	maxCodeDepth  = 20      // of directories
	maxCodeText   = 1 << 20 // bytes of a file whose words are looked at
	moreCodeFiles = "…"     // stands for the files over maxCodeFiles
)

// codeFinder finds the files that programs may read.
type codeFinder struct {
	config   string // the absolute configuration directory
	fsys     fs.FS
	writable []string                 // what programs may write, below the configuration directory
	listed   map[string][]fs.DirEntry // entries by directory

	scripts     map[string]bool // the files that are scripts of blocks
	searched    map[string]bool // the files in which credentials were searched
	credentials Diagnostics     // those that were found

	// Of the programs whose files are found.
	dir    string            // the working directory
	found  map[string]string // digests by name
	unread []string          // found files whose words were not looked at
}

// lister is a file system that lists the files of a directory, also those that it does not hold, without what ignore
// reports: such files may come and go.
type lister interface {
	List(dir string, ignore func(fs.DirEntry) bool) ([]fs.DirEntry, error)
}

// entries returns the files and directories of a directory without hidden ones and data; none if it does not exist.
func (f *codeFinder) entries(dir string) []fs.DirEntry {
	if known, ok := f.listed[dir]; ok {
		return known
	}
	var list []fs.DirEntry
	if all, ok := f.fsys.(lister); ok {
		list, _ = all.List(dir, isNoCode)
	} else {
		list, _ = fs.ReadDir(f.fsys, dir)
		list = slices.DeleteFunc(list, isNoCode)
	}
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
	if f.found[name] != "" || isConfiguration(name) || f.isWritten(name) {
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
		f.searchCredentials(name, content)
	}
}

// searchCredentials refuses credentials in code. A file without the name of code that holds a private key alone is not
// code, but the key. In a script of a block, a password counts as in one that is written into the block.
func (f *codeFinder) searchCredentials(name string, content []byte) {
	isKey := !hasCodeName(name) && bytes.HasPrefix(content, []byte("-----BEGIN "))
	if f.searched[name] || !isCode(name, content) || isKey {
		return
	}
	f.searched[name] = true
	f.credentials = append(f.credentials, hclexpr.FileCredentials(name, content, f.scripts[name])...)
}

// addAll adds a file, or all files below a directory that are code by their names or can be executed. Data, which
// programs may change at any time, is added only if a word names it.
func (f *codeFinder) addAll(name string, depth int) {
	switch e := f.find(name); {
	case name == "" || depth > maxCodeDepth:
	case name == "." || e != nil && (e.IsDir() || depth == 0 && e.Type() == fs.ModeSymlink && len(f.entries(name)) > 0):
		for _, inner := range f.entries(name) {
			f.addAll(path.Join(name, inner.Name()), depth+1)
		}
	case e != nil && (depth == 0 || hasCodeName(name) || isExecutable(e)):
		f.add(name)
	}
}

func isExecutable(e fs.DirEntry) bool {
	info, err := e.Info()
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
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
var nameLike = lazyregexp.New(`[\pL\pN_.@+/-]+`)

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
		"jar java jq js json jsonnet jsx ksh kt lisp lua m4 mjs mk ml nix nu php pl pm ps1 py pyc R r rb rs sed sh " +
		"so sql tcl tf tmpl j2 toml ts tsx vim wasm xsl xslt yaml yml zsh")

// hasCodeName reports whether the name of a file says that it holds code.
func hasCodeName(name string) bool {
	ending := strings.TrimPrefix(path.Ext(name), ".")
	return slices.Contains(codeEndings, ending) || ending == "" && strings.HasSuffix(strings.ToLower(name), "file")
}

// isCode reports whether a file holds code, whose words may name other files.
func isCode(name string, content []byte) bool {
	return hasCodeName(name) || path.Ext(name) == "" || bytes.HasPrefix(content, []byte("#!"))
}

// isNoCode reports whether an entry of a directory is hidden, or a file of data that changes while the configuration is
// served, such as a log.
func isNoCode(e fs.DirEntry) bool {
	name := e.Name()
	if strings.HasPrefix(name, ".") || e.IsDir() {
		return strings.HasPrefix(name, ".")
	}
	for _, suffix := range []string{"-wal", "-shm", "-journal"} { // of files that SQLite makes
		name = strings.TrimSuffix(name, suffix)
	}
	return slices.Contains([]string{".jsonl", ".log", ".db", ".sqlite", ".sqlite3"}, path.Ext(name))
}
