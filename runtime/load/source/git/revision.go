package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"hatchel/internal/lazyregexp"
)

// file is a file of a revision.
type file struct {
	name, object string
	executable   bool
	size         int64
}

// extract writes the files of the folder at a commit to dir, in one step.
func (r *Repository) extract(ctx context.Context, commit, dir string) error {
	files, err := r.list(ctx, commit)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp(r.revisions(), ".new-")
	if err != nil {
		return err
	}
	defer removeReadOnly(temp)
	if err := r.write(ctx, files, temp); err != nil {
		return err
	}
	if err := makeReadOnly(temp); err != nil {
		return err
	}
	return os.Rename(temp, dir)
}

// list returns the files of the folder at a commit. It refuses links and submodules: leaving one out could leave out a
// policy.
func (r *Repository) list(ctx context.Context, commit string) ([]file, error) {
	tree := commit + ":"
	if r.Folder != "." {
		tree += r.Folder
	}
	if kind, err := r.git(ctx, "cat-file", "-t", tree); err != nil || kind != "tree" {
		return nil, errors.Join(ctx.Err(), fmt.Errorf("it has no folder %q", r.Folder))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := r.command(ctx, "ls-tree", "--full-tree", "-r", "-z", "-l", tree)
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	files, err := parseList(stdout)
	if err != nil {
		cancel()
		_ = cmd.Wait()
		return nil, err
	}
	return files, cmd.Wait()
}

// gitFolder matches the path of a file that a later git command would read as its configuration.
var gitFolder = lazyregexp.New(`(?i)(^|/)\.git(/|$)`)

// parseList reads what ls-tree writes, up to the limits.
func parseList(list io.Reader) (files []file, err error) {
	entries, total := bufio.NewScanner(list), int64(0)
	entries.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		if i := bytes.IndexByte(data, 0); i >= 0 {
			return i + 1, data[:i], nil
		}
		return 0, nil, nil
	})
	for entries.Scan() {
		facts, name, _ := strings.Cut(entries.Text(), "\t")
		words := strings.Fields(facts) // mode, type, object, size
		switch {
		case len(words) != 4 || !fs.ValidPath(name) || !isPrintable(name) || gitFolder.MatchString(name):
			return nil, fmt.Errorf("the name of its file %q is not accepted", name)
		case words[0] == "120000":
			return nil, fmt.Errorf("%s is a symbolic link, and links of a repository are not followed", name)
		case words[1] != "blob":
			return nil, fmt.Errorf("%s is a submodule, and submodules are not fetched", name)
		}
		f := file{name: name, object: words[2], executable: words[0] == "100755"}
		f.size, err = strconv.ParseInt(words[3], 10, 64)
		total += f.size
		switch files = append(files, f); {
		case err != nil:
			return nil, err
		case len(files) > maxFiles:
			return nil, fmt.Errorf("it has more than %d files", maxFiles)
		case total > maxContent:
			return nil, fmt.Errorf("it has more than %d MiB", maxContent>>20)
		}
	}
	return files, entries.Err()
}

// write writes the content of files below dir.
func (r *Repository) write(ctx context.Context, files []file, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	objects := make([]string, len(files))
	for i, f := range files {
		objects[i] = f.object
	}
	cmd := r.command(ctx, "cat-file", "--batch")
	return ReadObjects(cmd, objects, func(i int, _ int64, content io.Reader) error {
		f := files[i]
		if err := root.MkdirAll(path.Dir(f.name), 0o700); err != nil {
			return err
		}
		mode := fs.FileMode(0o400)
		if f.executable {
			mode = 0o500
		}
		out, err := root.OpenFile(f.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, content)
		return errors.Join(err, out.Close())
	})
}

// ReadObjects starts cmd, which is git cat-file --batch, and calls each with the size and the content of every object,
// in order, until that returns an error.
func ReadObjects(cmd *exec.Cmd, objects []string, each func(i int, size int64, content io.Reader) error) error {
	if len(objects) == 0 {
		return nil
	}
	cmd.Stdin = strings.NewReader(strings.Join(objects, "\n") + "\n")
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	r := bufio.NewReaderSize(stdout, 1<<16)
	for i := range objects {
		err = readObject(r, func(size int64, content io.Reader) error { return each(i, size, content) })
		if err != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			return err
		}
	}
	return cmd.Wait()
}

var errEndedEarly = errors.New("git ended early")

// readObject reads one answer of cat-file --batch: a line with object, type and size, and the content.
func readObject(r *bufio.Reader, read func(size int64, content io.Reader) error) error {
	line, err := r.ReadString('\n')
	if err != nil {
		return errEndedEarly
	}
	words := strings.Fields(line)
	if len(words) != 3 {
		return fmt.Errorf("git has no object %s", strings.TrimSpace(line))
	}
	size, err := strconv.ParseInt(words[2], 10, 64)
	if err != nil {
		return errEndedEarly
	}
	content := &io.LimitedReader{R: r, N: size}
	if err := read(size, content); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, content); err != nil || content.N > 0 {
		return errEndedEarly
	}
	if b, err := r.ReadByte(); err != nil || b != '\n' {
		return errEndedEarly
	}
	return nil
}

// makeReadOnly prevents tools from writing into a revision: the file would be missing in the next revision.
func makeReadOnly(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			err = os.Chmod(path, 0o500)
		}
		return err
	})
}
