package main

import (
	"github.com/spf13/cobra"

	"hatchel/cmd/hatchel/importer"
)

func importCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Write tools from the description of something else",
		Long: `Write tools from the description of something else to files of a configuration
directory. The files are yours: edit them. A later import with --update replaces only
the blocks that you have not changed; hatchel.import.json remembers what was written.
A block that you and the source have changed is kept, and the new one is written to a
file with the suffix .new.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return misusef("import requires a kind of source; see --help") },
	}
	cmd.AddCommand(importOpenAPICommand(), importSchemaCommand(), importCurlCommand())
	return cmd
}

// importFlags are the flags of every import.
type importFlags struct {
	dir    string
	asJSON bool
	importer.Options
}

func (f *importFlags) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.Update, "update", false, "merge into the blocks of an earlier import, and add new ones")
	cmd.Flags().BoolVar(&f.DryRun, "dry-run", false, "write nothing; print the report")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print the report as JSON")
}

// registerOutput registers -o.
func (f *importFlags) registerOutput(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.dir, "output", "o", ".",
		"configuration `DIRECTORY`, which is created when it does not exist")
	cmd.MarkFlagDirname("output")
	f.register(cmd)
}

// write writes the blocks of an import and prints its report.
func (f *importFlags) write(cmd *cobra.Command, r *importer.Result) error {
	report, err := importer.Write(f.dir, r, f.Options)
	if err != nil {
		return failf("nothing was written to %s: %s", folderName(f.dir), reason(err))
	}
	if f.asJSON {
		if err := printJSON(cmd.OutOrStdout(), report); err != nil {
			return err
		}
	} else {
		report.Print(cmd.OutOrStdout(), f.dir, f.DryRun)
	}
	if n := report.Count(importer.Conflict); n > 0 {
		return failf("%s changed by you and by the source: merge the files with the suffix .new", plural(n, "block"))
	}
	return nil
}
