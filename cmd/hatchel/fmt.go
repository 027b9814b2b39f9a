package main

import (
	"github.com/spf13/cobra"

	"hatchel/cmd/hatchel/console"
	"hatchel/cmd/hatchel/exit"
	"hatchel/cmd/hatchel/format"
)

// fmtFlags are the flags of fmt.
type fmtFlags struct{ format.Formatter }

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
	cmd.Flags().BoolVar(&f.Check, "check", false, "do not write files; exit with 1 when a file would change")
	cmd.Flags().BoolVar(&f.Diff, "diff", false, "do not write files; print the differences")
	return cmd
}

func (f *fmtFlags) run(cmd *cobra.Command, paths []string) error {
	f.In, f.Out, f.Err = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	for _, path := range paths {
		names, err := format.Files(path)
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
