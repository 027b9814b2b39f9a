package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"hatchel/hcl/syntax"
)

// formatting are the flags of fmt.
type formatting struct{ check, diff bool }

func fmtCommand() *cobra.Command {
	var f formatting
	cmd := &cobra.Command{
		Use:   "fmt [PATH...]",
		Short: "Rewrite .hcl files in the canonical style",
		Long: `Rewrite .hcl files in the canonical style and print the names of those that changed. A PATH is a file or a folder; without one it
is the current folder, and - formats standard input. A file with a syntax error is refused and left as it is.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"."}
			}
			return f.run(cmd, args)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"hcl"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	cmd.Flags().BoolVar(&f.check, "check", false, "change nothing; exit with 1 when a file would change")
	cmd.Flags().BoolVar(&f.diff, "diff", false, "change nothing; print what would change")
	return cmd
}

func (f *formatting) run(cmd *cobra.Command, paths []string) error {
	var changed, broken int
	for _, path := range paths {
		names, err := hclFiles(path)
		if err != nil {
			return failf("%s cannot be read: %s", path, reason(err))
		}
		for _, name := range names {
			did, diags, err := f.file(cmd, name)
			switch {
			case err != nil:
				return err
			case diags:
				broken++
			case did:
				changed++
			}
		}
	}
	switch {
	case broken > 0:
		return failf("%s left as it is", plural(broken, "file")+" with syntax errors was")
	case f.check && changed > 0:
		return &failure{code: checkFailed}
	}
	return nil
}

// hclFiles are the files that a path stands for.
func hclFiles(path string) (names []string, err error) {
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
	err = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		hidden := strings.HasPrefix(d.Name(), ".") && name != path
		switch {
		case err != nil:
			return err
		case d.IsDir() && hidden:
			return fs.SkipDir
		case !d.IsDir() && !hidden && filepath.Ext(name) == ".hcl":
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

// file formats one file and reports whether that changes it, or that it cannot be read as HCL.
func (f *formatting) file(cmd *cobra.Command, name string) (changed, broken bool, err error) {
	src, err := read(cmd, name)
	if err != nil {
		return false, false, failf("%s cannot be read: %s", name, reason(err))
	}
	out, diags := syntax.Format(name, src)
	if diags.HasErrors() {
		diags.Print(cmd.ErrOrStderr(), map[string][]byte{name: src})
		return false, true, nil
	}
	stdout := cmd.OutOrStdout()
	changed = !bytes.Equal(src, out)
	if changed && f.diff {
		stdout.Write(diff.Diff(name, src, name, out))
	}
	switch {
	case name == "-" && !f.check && !f.diff:
		_, err = stdout.Write(out)
	case !changed || f.diff:
	default:
		fmt.Fprintln(stdout, name)
		if !f.check {
			err = replace(name, out)
		}
	}
	if err != nil {
		return false, false, failf("%s cannot be written: %s", name, reason(err))
	}
	return changed, false, nil
}

func read(cmd *cobra.Command, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(cmd.InOrStdin())
	}
	return os.ReadFile(name)
}

// replace writes a file whole or not at all, through links, with the permissions it has.
func replace(name string, content []byte) error {
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
	if _, err := temp.Write(content); err != nil {
		temp.Close()
		return err
	}
	if err := temp.Close(); err != nil {
		return err
	}
	if err := os.Chmod(temp.Name(), info.Mode().Perm()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), target)
}
