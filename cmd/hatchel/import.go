package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"hatchel/adapters/all"
	"hatchel/cmd/hatchel/importer"
	"hatchel/cmd/hatchel/importer/curl"
	"hatchel/cmd/hatchel/importer/toolbox"
	"hatchel/hcl"
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
	cmd.AddCommand(importOpenAPICommand(), importSchemaCommand(), importCurlCommand(), importToolboxCommand())
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

func importCurlCommand() *cobra.Command {
	var f importFlags
	var name string
	cmd := &cobra.Command{
		Use:   "curl [-- curl ARGUMENT...]",
		Short: "Write a tool for a curl command",
		Long: `Write a tool for a curl command, given behind -- or on standard input, and a
connection for its host. Words of the path that look like ids, parameters of the query
and members of the body become inputs; constant headers stay. A credential becomes a
secret, and its value is never written. The command is not run.`,
		Example: `  hatchel import curl -- curl 'https://api.example.com/orders?status=open' -u ada:pw
  hatchel import curl -o ./tools --name open_order < command.txt`,
		RunE: func(cmd *cobra.Command, args []string) error {
			words := args
			if len(args) == 0 {
				src, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), 5<<20))
				if err != nil {
					return failf("standard input cannot be read: %s", reason(err))
				}
				if words, err = curl.Split(string(src)); err != nil {
					return misusef("%s", err)
				}
			}
			r, err := curl.Import(words, name)
			if err != nil {
				return misusef("%s", err)
			}
			return f.write(cmd, r)
		},
	}
	f.registerOutput(cmd)
	cmd.Flags().StringVar(&name, "name", "", "`NAME` of the tool; by default from the method and the path")
	return cmd
}

func importToolboxCommand() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "toolbox FILE",
		Short: "Write the tools of an MCP Toolbox for Databases",
		Long: `Write the sources, tools, toolsets and prompts of a configuration (YAML) of the MCP
Toolbox for Databases, also of its prebuilt sets for PostgreSQL, MySQL and SQLite.
Markers in statements become bound values; a password becomes a secret, and its value
is not written. A tool that cannot be mapped is left out, and the report says why.`,
		Example: `  hatchel import toolbox tools.yaml -o ./tools
  hatchel import toolbox tools.yaml -o ./tools --update`,
		Args: oneArg("import toolbox requires a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			src, err := os.ReadFile(args[0])
			if err != nil {
				return failf("%s cannot be read: %s", args[0], reason(err))
			}
			r, err := toolbox.Import(filepath.Base(args[0]), src, checkBlocks)
			if err != nil {
				return failf("%s", reason(err))
			}
			return f.write(cmd, r)
		},
	}
	f.registerOutput(cmd)
	return cmd
}

// checkBlocks reports the first mistake of blocks, as if every environment variable was set.
func checkBlocks(blocks ...string) error {
	dir, err := os.MkdirTemp("", "hatchel-import-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "import.hcl"), []byte(strings.Join(blocks, "\n")), 0o600); err != nil {
		return err
	}
	_, diags := hcl.Load(os.DirFS(dir), all.Set().Kinds(), hcl.Options{
		Dir: dir, Getenv: func(string) (string, bool) { return "1", true },
	})
	for _, d := range diags {
		if d.Severity == hcl.Error {
			return errors.New(d.Summary + ": " + d.Detail)
		}
	}
	return nil
}
