// Package revision reads a folder of a git revision without checking it out.
package revision

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path"
	"strconv"
	"strings"

	"hatchel/runtime/load/source"
	"hatchel/runtime/load/source/git"
)

const (
	maxFile  = 16 << 20 // bytes of one file
	maxFiles = 100_000
)

// Open reads a file or a folder of a revision as git names it: REV for the folder dir as it was then, or
// REV:PATH for a path from the root of the repository. Of a folder it reads the *.hcl files now and
// others on demand; links are not followed. Of a file it returns the content. The error is a phrase.
func Open(ctx context.Context, dir, name string) (tree *Tree, file []byte, err error) {
	rev, at, named := strings.Cut(name, ":")
	if rev == "" || strings.HasPrefix(rev, "-") {
		return nil, nil, fmt.Errorf("%q is not a revision", name)
	}
	prefix, err := runGit(ctx, dir, "rev-parse", "--show-prefix")
	if err != nil {
		return nil, nil, fmt.Errorf("there is no file or folder %q, and no revision can be named in %s: %w",
			name, dir, err)
	}
	if !named {
		at = prefix
	}
	commit, err := runGit(ctx, dir, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
	if err != nil || strings.HasPrefix(commit, "^") { // what is not an ancestor
		return nil, nil, fmt.Errorf("%q is neither a file, a folder nor a revision of git", name)
	}
	object := commit + ":" + strings.TrimSuffix(at, "/")
	kind, err := runGit(ctx, dir, "cat-file", "-t", object)
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("the revision %s has no %s", rev, at)
	case kind == "tree":
		t := &Tree{ctx: ctx, dir: dir, entries: map[string]*entry{}, ignores: func(string) bool { return false }}
		return t, nil, t.read(object)
	}
	files, err := (&Tree{ctx: ctx, dir: dir}).contents([]string{object})
	if err != nil {
		return nil, nil, err
	}
	return nil, files[0], nil
}

// runGit runs git and returns its output without the line break.
func runGit(ctx context.Context, dir string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if text := strings.TrimSpace(stderr.String()); text != "" {
			err = errors.New(strings.TrimPrefix(text, "fatal: "))
		}
		return "", err
	}
	return strings.TrimRight(stdout.String(), "\n"), nil
}

// read lists a tree and reads its *.hcl files.
func (t *Tree) read(object string) error {
	list, err := runGit(t.ctx, t.dir, "ls-tree", "--full-tree", "-r", "-t", "-z", "-l", object)
	if err != nil {
		return err
	}
	t.entries["."] = &entry{name: ".", dir: true}
	for _, line := range strings.Split(strings.TrimSuffix(list, "\x00"), "\x00") {
		facts, name, ok := strings.Cut(line, "\t")
		words := strings.Fields(facts) // mode, type, object, size
		if !ok || len(words) != 4 || !fs.ValidPath(name) {
			continue
		}
		isLink := words[0] == "120000"
		if words[1] == "commit" || isLink && path.Ext(name) != ".hcl" {
			continue // a submodule, or a link to what is not in the tree
		}
		size, _ := strconv.ParseInt(words[3], 10, 64)
		if len(t.entries) > maxFiles {
			return fmt.Errorf("it has more than %d files", maxFiles)
		}
		t.entries[name] = &entry{name: path.Base(name), object: words[2], size: size, dir: words[1] == "tree",
			link: isLink}
	}
	return t.load()
}

// load reads the IgnoreFile, removes what it names, and reads the *.hcl files.
func (t *Tree) load() error {
	if e := t.entries[source.IgnoreFile]; e != nil && !e.dir {
		text, err := t.ReadFile(source.IgnoreFile)
		if err != nil {
			return err
		}
		if t.ignores, err = source.Ignores(text); err != nil {
			return err
		}
	}
	var wanted []*entry
	var objects []string
	for name, e := range t.entries {
		if name != "." && t.isIgnored(name) {
			if path.Ext(name) == ".hcl" || e.dir {
				e.ignored = true
			}
			continue
		}
		if !e.dir && !e.link && path.Ext(name) == ".hcl" && e.size <= maxFile {
			wanted, objects = append(wanted, e), append(objects, e.object)
		}
	}
	for name, e := range t.entries {
		if parent := t.entries[path.Dir(name)]; name != "." && parent != nil && !e.ignored {
			parent.children = append(parent.children, e)
		}
	}
	contents, err := t.contents(objects)
	for i, e := range wanted[:len(contents)] {
		e.content, e.read = contents[i], true
	}
	return err
}

// isIgnored reports whether a path, or a folder around it, is ignored.
func (t *Tree) isIgnored(name string) bool {
	for ; name != "."; name = path.Dir(name) {
		if t.ignores(name) {
			return true
		}
	}
	return false
}

// contents reads objects with one process.
func (t *Tree) contents(objects []string) (contents [][]byte, err error) {
	cmd := exec.CommandContext(t.ctx, "git", "-C", t.dir, "cat-file", "--batch")
	err = git.ReadObjects(cmd, objects, func(_ int, size int64, r io.Reader) error {
		if size > maxFile {
			return fmt.Errorf("a file of the revision has more than %d bytes", maxFile)
		}
		content, err := io.ReadAll(r)
		contents = append(contents, content)
		return err
	})
	return contents, err
}
