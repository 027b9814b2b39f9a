package main

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hatchel/adapters"
	"hatchel/adapters/all"
	"hatchel/adapters/sql"
	"hatchel/cmd/hatchel/importer"
	"hatchel/cmd/hatchel/importer/dbschema"
	"hatchel/hcl"
)

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
