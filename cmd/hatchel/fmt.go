package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"hatchel/hcl/syntax"
	"hatchel/runtime/source"
)

// fmtFlags are the flags of fmt, and how many files it has found to change and to be broken.
type fmtFlags struct {
	check, diff     bool
	changed, broken int
}

func fmtCommand() *cobra.Command {
	var f fmtFlags
	cmd := &cobra.Command{
		Use:   "fmt [PATH...]",
		Short: "Rewrite .hcl files in the canonical style",
		Long: `Rewrite .hcl files in the canonical style and print the names of the files that
changed. A PATH is a file or a directory, by default the current directory. With -
standard input is formatted to standard output. A file with syntax errors is
reported and not changed.`,
		Example: `  hatchel fmt
  hatchel fmt --check ./tools
  hatchel fmt - < draft.hcl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && cmd.Flags().Changed("dir") {
				return errTwoDirs
			}
			if len(args) == 0 {
				args = []string{folderOf(cmd, nil)}
			}
			return f.run(cmd, args)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"hcl"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	dirFlag(cmd, new(string))
	cmd.Flags().BoolVar(&f.check, "check", false, "do not write files; exit with 1 when a file would change")
	cmd.Flags().BoolVar(&f.diff, "diff", false, "do not write files; print the differences")
	return cmd
}

func (f *fmtFlags) run(cmd *cobra.Command, paths []string) error {
	for _, path := range paths {
		names, err := hclFiles(path)
		if err != nil {
			return failf("%s cannot be read: %s", path, reason(err))
		}
		for _, name := range names {
			if err := f.formatFile(cmd, name); err != nil {
				return err
			}
		}
	}
	switch {
	case f.broken > 0:
		return failf("%s with syntax errors, not changed", plural(f.broken, "file"))
	case f.check && f.changed > 0:
		return &exitError{code: exitFailed}
	}
	return nil
}

// hclFiles returns the file of a path, or the files of a configuration directory.
func hclFiles(path string) ([]string, error) {
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

// formatFile formats one file. A broken file has syntax errors, which are printed.
func (f *fmtFlags) formatFile(cmd *cobra.Command, name string) error {
	src, err := readFile(cmd, name)
	if err != nil {
		return failf("%s cannot be read: %s", name, reason(err))
	}
	formatted, diags := syntax.Format(name, src)
	if diags.HasErrors() {
		diags.Print(cmd.ErrOrStderr(), map[string][]byte{name: src})
		f.broken++
		return nil
	}
	out, changed := cmd.OutOrStdout(), !bytes.Equal(src, formatted)
	if changed {
		f.changed++
	}
	if changed && f.diff {
		out.Write(diff.Diff(name, src, name, formatted))
	}
	switch {
	case name == "-" && !f.check && !f.diff:
		_, err = out.Write(formatted)
	case !changed || f.diff:
	default:
		fmt.Fprintln(out, name)
		if !f.check {
			err = replaceFile(name, formatted)
		}
	}
	if err != nil {
		return failf("%s cannot be written: %s", name, reason(err))
	}
	return nil
}

func readFile(cmd *cobra.Command, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(cmd.InOrStdin())
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
