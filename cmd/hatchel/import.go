package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"hatchel/adapters/sql"
	"hatchel/cmd/hatchel/catalog"
	"hatchel/cmd/hatchel/console"
	"hatchel/cmd/hatchel/importer"
	"hatchel/cmd/hatchel/importer/curl"
	"hatchel/cmd/hatchel/importer/dbschema"
	"hatchel/cmd/hatchel/importer/toolbox"
	"hatchel/hcl"
	"hatchel/hcl/syntax"
	"hatchel/internal/lazyregexp"
)

func importCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Write tools for an API, a database, a curl command or other servers",
		Long: `Write tools to files of a configuration directory: for an OpenAPI document, the tables
of a database, a curl command, MCP servers, or the configuration of another server. The files are
yours: edit them. hatchel.import.json records the source, the flags and the blocks that
were written. A later import with --update replaces only the blocks that you have not
changed. If you and the source changed a block, yours is kept, and the new one is
written to a file with the suffix .new. An update ends with its differences for
callers, in the format of hatchel diff.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return misusef("import requires a kind of source; see --help") },
	}
	cmd.AddCommand(importOpenAPICommand(), importSchemaCommand(), importCurlCommand(), importToolboxCommand(),
		importMCPCommand())
	return cmd
}

// importFlags are the flags of every import.
type importFlags struct {
	dir    string
	asJSON bool
	load   loadFlags // of the directory
	memory importMemory
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
	ignores, err := importIgnores(f.dir)
	if err != nil {
		return failf("%s", reason(err))
	}
	f.Options.Ignores = ignores
	if r.Empty() {
		if err := f.print(cmd, r.Unwritten(), nil); err != nil {
			return err
		}
		return failf("nothing was written to %s: no tool could be mapped", folderName(f.dir))
	}
	r.Flags = f.memory.Flags(cmd.Flags())
	var u *importUpdate
	if f.Update {
		u = beginUpdate(cmd.Context(), f.dir)
	}
	report, err := importer.Write(f.dir, r, f.Options)
	if err != nil {
		return failf("nothing was written to %s: %s", folderName(f.dir), reason(err))
	}
	if err := f.print(cmd, report, u); err != nil {
		return err
	}
	if n := report.Count(importer.Conflict); n > 0 {
		return failf("%s changed by you and by the source: merge the files with the suffix .new",
			console.Plural(n, "block"))
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
secret, and its value is never written. The command is not run. It is not remembered
either: with --update, give it again.`,
		Example: `  hatchel import curl -- curl 'https://api.example.com/orders?status=open' -u ada:pw
  hatchel import curl -o ./tools --name open_order < command.txt`,
		RunE: func(cmd *cobra.Command, args []string) error {
			command := curl.Command{Words: args}
			if len(args) == 0 {
				src, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), 5<<20))
				if err != nil {
					return failf("standard input cannot be read: %s", reason(err))
				}
				if command, err = curl.Split(string(src)); err != nil {
					return misusef("%s", err)
				}
			}
			ignores, err := importIgnores(f.dir)
			if err != nil {
				return failf("%s", reason(err))
			}
			blocks, err := importer.ReadBlocks(f.dir, importer.Options{Ignores: ignores})
			if err != nil {
				return failf("nothing was written to %s: %s", folderName(f.dir), reason(err))
			}
			r, err := curl.Import(command, name, blocks)
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
	return importConfiguration(toolboxMemory, toolbox.Import, &cobra.Command{
		Use:   "toolbox [FILE]",
		Short: "Write the tools of a configuration of the MCP Toolbox for Databases",
		Long: `Write the sources, tools, toolsets and prompts of a configuration (YAML) of the MCP
Toolbox for Databases: tools for PostgreSQL, MySQL, SQLite and HTTP. The prebuilt
configurations of these databases can be imported, too. Parameters of statements become
bound values. A credential becomes a secret, and its value is not written. A tool that
cannot be mapped is left out, and the report says why.`,
		Example: `  hatchel import toolbox tools.yaml -o ./tools
  hatchel import toolbox -o ./tools --update`,
	})
}

// importConfiguration completes a command that imports the configuration of another server.
func importConfiguration(
	kind importMemory, generate func(string, []byte, importer.Check) (*importer.Result, error), cmd *cobra.Command,
) *cobra.Command {
	f := importFlags{memory: kind}
	cmd.Args = f.sourceArg("import " + kind.Kind + " requires a file")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		file, _, err := f.source(cmd, args, "")
		if err != nil {
			return err
		}
		src, err := readSource(file)
		if err != nil {
			return failf("%s cannot be read: %s", file, reason(err))
		}
		r, err := generate(filepath.Base(file), src, checkBlocks)
		if err != nil {
			return failf("%s", reason(err))
		}
		r.From = relativeSource(f.dir, file)
		return f.write(cmd, r)
	}
	f.registerOutput(cmd)
	return cmd
}

// readSource reads a configuration of another server. The importer refuses one that is larger than what is read.
func readSource(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 9<<20))
}

func importSchemaCommand() *cobra.Command {
	f := importFlags{memory: schemaMemory}
	var o dbschema.Options
	cmd := &cobra.Command{
		Use:   "schema [CONNECTION]",
		Short: "Write tools for the tables of a database",
		Long: `Write tools for the tables of a database: list_TABLE, with filters by indexed columns,
and get_TABLE, by the primary key; with --writes also insert_TABLE and update_TABLE.
Comments of the database become descriptions. Enumerations and CHECK (… IN …) become
enums of inputs. The database is only read, and must exist. The names of all its tables
and columns are written to .hatchel/schema.json, which editors use to complete SQL.

The configuration directory must have a connection to the database. CONNECTION is its
name, or its kind and name, as in postgres.desk.`,
		Example: `  hatchel import schema desk
  hatchel import schema ledger -C ./tools --table 'invoices,orders_*' --writes
  hatchel import schema --update`,
		Args: f.sourceArg("import schema requires the name of a connection"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, _, err := f.source(cmd, args, "")
			if err != nil {
				return err
			}
			r, err := importSchema(cmd, name, f.dir, &f.load, o)
			if err != nil {
				return err
			}
			return f.write(cmd, r)
		},
	}
	f.load.register(cmd)
	dirFlag(cmd, &f.dir)
	f.register(cmd)
	cmd.Flags().StringSliceVar(&o.Tables, "table", nil,
		"only tables whose name or schema.name matches one of these `PATTERNS`, as in invoices,orders_*")
	cmd.Flags().BoolVar(&o.Writes, "writes", false, "also write tools that insert and update")
	cmd.Flags().BoolVar(&o.All, "all", false, "allow more than 40 tools without --table")
	return cmd
}

// readNames returns the tables of another connection, for completion.
func readNames(ctx context.Context, conn *hcl.Connection, dir string) ([]catalog.Table, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	handle, closeAll, err := openDatabase(ctx, conn, dir)
	if err != nil {
		return nil, err
	}
	defer closeAll()
	query := func(ctx context.Context, text string) ([]map[string]any, error) { return sql.Query(ctx, handle, text) }
	return dbschema.Tables(ctx, query, conn.Kind)
}

// writingConnection returns the block of a second connection, which is that of a connection without its mode.
func writingConnection(folder *loadedFolder, conn *hcl.Connection) string {
	src := folder.config.Sources[conn.Range.File]
	body, diags := syntax.Parse(conn.Range.File, src)
	if diags.HasErrors() {
		return ""
	}
	for _, b := range body.Blocks {
		if b.Type != "connection" || len(b.Labels) != 2 || b.Labels[0] != conn.Kind || b.Labels[1] != conn.Name {
			continue
		}
		text := string(src[b.OpenBraceRange.Start.Byte:b.CloseBraceRange.End.Byte])
		if mode := b.Body.Attributes["mode"]; mode != nil {
			r := mode.SrcRange
			at := b.OpenBraceRange.Start.Byte
			text = text[:r.Start.Byte-at] + text[r.End.Byte-at:]
		}
		block := fmt.Appendf(nil, "connection %q %q %s\n", conn.Kind, conn.Name+"_write", text)
		formatted, diags := syntax.Format("", block)
		if diags.HasErrors() {
			return ""
		}
		return emptyLines.ReplaceAllString(string(formatted), "\n")
	}
	return ""
}

var emptyLines = lazyregexp.New(`\n(?:[ \t]*\n)+`)

// importSchema reads the catalog of the database of a connection.
func importSchema(
	cmd *cobra.Command, name, dir string, load *loadFlags, o dbschema.Options,
) (*importer.Result, error) {
	folder, err := load.decode(cmd.Context(), dir, cmd.ErrOrStderr())
	load.inspect, load.anyVars = true, true // what follows compares only
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
	for _, t := range folder.config.Tools {
		o.Existing = append(o.Existing, t.Name)
	}
	if identified, ok := conn.Config.(hcl.Identified); ok {
		for _, part := range identified.IdentityParts() {
			if part.Argument == "session" {
				o.Settings = append(o.Settings, part.Name)
			}
		}
	}
	o.TextDecimals, o.TextIntegers = sql.TextNumbers(conn.Config)
	if o.Kind, o.Connection = conn.Kind, conn.Name; o.Writes && sql.ReadOnly(conn.Config) {
		at := ""
		if dir != "." {
			at = " -C " + dir
		}
		return nil, misusef("connection %q has mode = \"ro\", so --writes is not possible with it. Add a second "+
			"connection, best with a role that may write only what agents may change, and import with it:\n\n%s\n"+
			"hatchel import schema %s_write%s --writes", conn.Name, writingConnection(folder, conn), conn.Name, at)
	}
	handle, closeAll, err := openDatabase(cmd.Context(), conn, folder.dir)
	if err != nil {
		return nil, err
	}
	defer closeAll()
	defer console.ShowSpinner(cmd.ErrOrStderr(), "reading the tables of "+conn.Name)()
	query := func(ctx context.Context, text string) ([]map[string]any, error) { return sql.Query(ctx, handle, text) }
	r, tables, err := dbschema.Import(cmd.Context(), query, o)
	if err != nil {
		return nil, failf("%s", reason(err))
	}
	known := map[string][]catalog.Table{conn.Kind + "." + conn.Name: tables}
	for _, other := range folder.config.Connections {
		if other == conn || !dbschema.Reads(other.Kind) || other.Incomplete() {
			continue
		}
		if known[other.Kind+"."+other.Name], err = readNames(cmd.Context(), other, folder.dir); err != nil {
			r.Lose(other.Kind+"."+other.Name, "names not read", "editors do not complete its tables: "+err.Error(), "")
			delete(known, other.Kind+"."+other.Name)
		}
	}
	names, err := catalog.Replace(dir, known)
	if err != nil {
		return nil, failf("%s cannot be written: %s", catalog.FileName, reason(err))
	}
	r.From = conn.Kind + "." + conn.Name
	r.Files = map[string][]byte{catalog.FileName: names}
	return r, nil
}
