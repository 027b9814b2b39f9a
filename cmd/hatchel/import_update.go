package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"hatchel/cmd/hatchel/importer"
	"hatchel/cmd/hatchel/review"
	"hatchel/hcl"
	"hatchel/internal/printable"
	"hatchel/runtime/load/source"
)

// recall sets the flags of an earlier import that the command line does not set, and prints them.
func (f *importFlags) recall(cmd *cobra.Command, earlier importer.Earlier) error {
	said, err := f.memory.Recall(cmd.Flags(), earlier)
	if err != nil {
		return failf("%s", err)
	}
	if said != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "as in the earlier import: %s\n", printable.Line(said))
	}
	return nil
}

// find returns the earlier import that --update repeats, or nil if the directory has none.
func (f *importFlags) find(source, from string) (*importer.Earlier, error) {
	earlier, err := f.memory.Find(f.dir, source, from)
	var unclear unclearError
	switch {
	case errors.As(err, &unclear):
		return nil, misusef("%s has %s", folderName(f.dir), unclear)
	case err != nil:
		return nil, failf("%s: %s", folderName(f.dir), reason(err))
	}
	return earlier, nil
}

// sourceArg accepts one argument, which --update does not need.
func (f *importFlags) sourceArg(missing string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 && f.Update {
			return nil
		}
		return oneArg(missing)(cmd, args)
	}
}

// source returns the file, URL or connection to read: the argument or, with --update, the source of the earlier import,
// whose flags it sets. name is the name of the import on the command line, or empty. known reports whether an earlier
// import was found.
func (f *importFlags) source(cmd *cobra.Command, args []string, name string) (source string, known bool, err error) {
	from := ""
	if len(args) > 0 {
		if source, from = args[0], args[0]; f.memory.IsFile(source) {
			from = relativeSource(f.dir, source)
		}
	}
	if !f.Update {
		return source, false, nil
	}
	earlier, err := f.find(name, from)
	if err != nil || earlier == nil {
		return source, false, err
	}
	if source == "" {
		if source = earlier.From; source == "" {
			return "", false, misusef("the source of the import %q is not remembered: name it", earlier.Source)
		}
		if f.memory.IsFile(source) {
			source = filepath.Join(f.dir, filepath.FromSlash(source))
		}
	}
	return source, true, f.recall(cmd, *earlier)
}

// compare returns the differences that an update makes for callers.
func (f *importFlags) compare(cmd *cobra.Command, u *importUpdate, r *importer.Report) (*review.Report, error) {
	f.load.inspect, f.load.anyVars = true, true // a comparison needs no values of secrets and variables
	return u.Compare(cmd.Context(), r, f.DryRun, func(folder *source.Folder) (hcl.Options, error) {
		return f.load.options(cmd.Context(), folder, cmd.ErrOrStderr())
	})
}

// print prints the report of an import and, for an update, the differences for callers.
func (f *importFlags) print(cmd *cobra.Command, report *importer.Report, u *importUpdate) (err error) {
	var diff *review.Report
	if u != nil {
		diff, err = f.compare(cmd, u, report)
	}
	out := cmd.OutOrStdout()
	var text bytes.Buffer
	switch {
	case f.asJSON && diff != nil:
		_ = diff.Write(&text, "json") // into memory
		report.Diff = text.Bytes()
		fallthrough
	case f.asJSON:
		return cmp.Or(printJSON(out, report), err)
	}
	if report.Print(out, f.dir, f.DryRun); diff != nil {
		fmt.Fprintln(out, "\nFor callers (hatchel diff):")
		return diff.Write(out, "text")
	}
	return err
}
