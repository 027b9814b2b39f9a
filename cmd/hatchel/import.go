package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hatchel/adapters"
	"hatchel/adapters/all"
	"hatchel/adapters/sql"
	"hatchel/cmd/hatchel/importer"
	"hatchel/cmd/hatchel/importer/curl"
	"hatchel/cmd/hatchel/importer/dbschema"
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

func importSchemaCommand() *cobra.Command {
	var f importFlags
	var load loadFlags
	var o dbschema.Options
	cmd := &cobra.Command{
		Use:   "schema CONNECTION",
		Short: "Write tools for the tables of a database",
		Long: `Write tools for the tables of a database to a configuration directory that has a
connection to it: list_TABLE with filters by indexed columns, and get_TABLE by its key;
with --writes also insert_TABLE and update_TABLE. Comments of the database become
descriptions, and enumerations and CHECK (… IN …) become the values of an input.
The database is only read. CONNECTION is a name, or kind.name as in postgres.desk.`,
		Example: `  hatchel import schema desk
  hatchel import schema ledger -C ./tools --table 'invoices,orders_*' --writes
  hatchel import schema desk --update`,
		Args: oneArg("import schema requires the name of a connection"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := importSchema(cmd, args[0], f.dir, &load, o)
			if err != nil {
				return err
			}
			return f.write(cmd, r)
		},
	}
	load.register(cmd)
	dirFlag(cmd, &f.dir)
	f.register(cmd)
	cmd.Flags().StringSliceVar(&o.Tables, "table", nil,
		"only tables whose name or schema.name matches one of these `PATTERNS`, as in invoices,orders_*")
	cmd.Flags().BoolVar(&o.Writes, "writes", false, "also write tools that insert and update")
	cmd.Flags().BoolVar(&o.All, "all", false, "write more than 40 tools without --table")
	return cmd
}

// importSchema reads the catalog of the database of a connection.
func importSchema(
	cmd *cobra.Command, name, dir string, load *loadFlags, o dbschema.Options,
) (*importer.Result, error) {
	folder, err := load.decode(dir, cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	if folder.diags.HasErrors() {
		folder.print(cmd.ErrOrStderr())
		return nil, failf("%s has %s", folderName(dir), countDiagnostics(folder.diags))
	}
	conn, err := findDatabase(folder.config.Connections, name)
	if err != nil {
		return nil, err
	}
	if o.Kind, o.Connection = conn.Kind, conn.Name; o.Writes && sql.ReadOnly(conn.Config) {
		return nil, misusef("connection %q has mode = \"ro\", so --writes is not possible with it", conn.Name)
	}
	var cleanups []func() error
	defer func() {
		for _, cleanup := range slices.Backward(cleanups) {
			_ = cleanup() // nothing was changed
		}
	}()
	connector, _ := all.Set().Connector(conn.Kind)
	handle, err := connector.Open(cmd.Context(), conn, adapters.Env{
		Dir: folder.dir, Log: slog.New(slog.DiscardHandler), Version: release(), Inspect: true,
		Defer: func(cleanup func() error) { cleanups = append(cleanups, cleanup) },
	})
	if err != nil {
		return nil, failf("connection %q cannot be opened: %s", conn.Name, reason(err))
	}
	defer showSpinner(cmd.ErrOrStderr(), "reading the tables of "+conn.Name)()
	query := func(ctx context.Context, text string) ([]map[string]any, error) { return sql.Query(ctx, handle, text) }
	r, err := dbschema.Import(cmd.Context(), query, o)
	if err != nil {
		return nil, failf("%s", reason(err))
	}
	return r, nil
}

// findDatabase returns the connection with a name, or with a kind and a name.
func findDatabase(connections []*hcl.Connection, name string) (*hcl.Connection, error) {
	var found []*hcl.Connection
	var names []string
	for _, c := range connections {
		full := c.Kind + "." + c.Name
		if c.Kind != "postgres" && c.Kind != "mysql" && c.Kind != "sqlite" {
			continue
		}
		names = append(names, full)
		if name == c.Name || name == full {
			found = append(found, c)
		}
	}
	switch {
	case len(names) == 0:
		return nil, misusef(`there is no connection to a database; hatchel init --from postgres, mysql or sqlite ` +
			`writes one`)
	case len(found) == 0:
		return nil, misusef("there is no connection %q to a database; there is %s", name, strings.Join(names, ", "))
	case len(found) > 1:
		return nil, misusef("%q names several connections: %s", name, strings.Join(names, ", "))
	case found[0].Incomplete():
		return nil, failf("connection %q needs a value that is missing", name)
	}
	return found[0], nil
}
