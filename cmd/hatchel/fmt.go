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

	"hatchel/cmd/hatchel/console"
	"hatchel/cmd/hatchel/exit"
	"hatchel/hcl/syntax"
	"hatchel/runtime/load/source"
)

func fmtCommand() *cobra.Command {
	var f formatter
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
	cmd.Flags().BoolVar(&f.Check, "check", false, "do not write files; exit with 1 when a file would change")
	cmd.Flags().BoolVar(&f.Diff, "diff", false, "do not write files; print the differences")
	return cmd
}

func (f *formatter) run(cmd *cobra.Command, paths []string) error {
	f.In, f.Out, f.Err = cmd.InOrStdin(), console.ForTerminal(cmd.OutOrStdout()), cmd.ErrOrStderr()
	for _, path := range paths {
		names, err := formattedFiles(path)
		if err != nil {
			return failf("%s cannot be read: %s", path, reason(err))
		}
		for _, name := range names {
			if err := f.Format(name); err != nil {
				return failf("%s cannot be formatted: %s", name, reason(err))
			}
		}
	}
	switch {
	case f.Broken > 0:
		return failf("%s with syntax errors, not changed", console.Plural(f.Broken, "file"))
	case f.Check && f.Changed > 0:
		return &exit.Error{Code: exit.Failed}
	}
	return nil
}

// formatter formats files, and counts those that it changes and those that it cannot read.
type formatter struct {
	Check, Diff bool // no file is written; with Diff the differences are printed
	In          io.Reader
	Out, Err    io.Writer

	Changed, Broken int // Broken files have syntax errors
}

// formattedFiles returns the file of a path, or the files of a configuration directory.
func formattedFiles(path string) ([]string, error) {
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
func (f *formatter) Format(name string) error {
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

func (f *formatter) read(name string) ([]byte, error) {
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
