package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"hatchel/cmd/hatchel/console"
	"hatchel/cmd/hatchel/importer"
	"hatchel/cmd/hatchel/importer/openapi"
	"hatchel/hcl"
	"hatchel/hcl/decode"
)

func importOpenAPICommand() *cobra.Command {
	f := importFlags{memory: openAPIMemory, load: loadFlags{inspect: true, anyVars: true}}
	o := openapi.Defaults()
	var maxSchema string
	var renames []string
	var split string
	cmd := &cobra.Command{
		Use:   "openapi [FILE|URL|-]",
		Short: "Write tools for the operations of an OpenAPI document",
		Long: `Write tools for the operations of an OpenAPI document (3.x, or Swagger 2.0), in JSON
or YAML, with the connections, variables and secrets that they need. Select operations
by tag, path, operationId or method. Models read every tool, so an import of more than
40 tools or 25,000 tokens is refused without a selection or --all.

A tool is named like its operationId, or else by a verb and the path: list or get for
GET, create for POST, update for PUT and PATCH, delete for DELETE, head for HEAD, as in
list_users for GET /users and get_user for GET /users/{id}.

In patterns, * matches any text without a slash, and ** matches any text. A URL must have
a public address, and its document may refer only to documents of the same host.
--allow-host allows another host, which may be private. References between files cannot
leave the directory of the document, or the directory of --root.`,
		Example: `  hatchel import openapi shop.yaml -o tools --tag orders
  hatchel import openapi https://api.example.com/openapi.json -o tools --path '/orders/**' --read-only
  hatchel import openapi -o tools --update`,
		Args: f.sourceArg("import openapi requires a file, a URL, or - for standard input"),
	}
	// read returns the options that the flags say.
	read := func() (openapi.Options, error) {
		var err error
		if o.Rename, err = splitPairs("rename", renames); err != nil {
			return o, err
		}
		size, ok := decode.ParseSize(maxSchema)
		if !ok || size < 256 || size > 1<<20 {
			return o, misusef("--max-schema is a size from 256B to 1MiB, such as 8KiB, not %q", maxSchema)
		}
		if split != "tag" && split != "none" {
			return o, misusef("--split is tag or none, not %q", split)
		}
		o.MaxSchema, o.OneFile = int(size), split == "none"
		return o, nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name := ""
		if o.Name != "" {
			name = openapi.SourceName(o.Name)
		}
		source, known, err := f.source(cmd, args, name)
		if err != nil {
			return err
		}
		if o, err = read(); err != nil {
			return err
		}
		o.Source, o.Stdin = source, cmd.InOrStdin()
		o.Check = func(files map[string][]byte) ([]importer.Mistake, error) { return checkImported(cmd, files, "") }
		o.OtherTypes = func(name string) (importer.Names, error) { return importer.OtherTypes(f.dir, name) }
		if f.Update && !known { // the document is at another place, or has another title
			o.Recall = func(name string) (openapi.Options, error) {
				if earlier, err := f.find(name, ""); err != nil || earlier == nil {
					return o, err
				} else if err := f.recall(cmd, *earlier); err != nil {
					return o, err
				}
				return read()
			}
		}
		return f.importOpenAPI(cmd, o)
	}
	f.registerOutput(cmd)
	flags := cmd.Flags()
	flags.StringVar(&o.Name, "name", "", "`NAME` of the connection; by default from the title")
	flags.StringSliceVar(&o.Tags, "tag", nil, "only operations with one of these `TAGS`")
	flags.StringSliceVar(&o.Paths, "path", nil, "only operations whose path matches one of these `PATTERNS`")
	flags.StringSliceVar(&o.Ops, "op", nil, "only operations whose operationId matches one of these `PATTERNS`")
	flags.StringSliceVar(&o.Methods, "method", nil, "only operations with one of these `METHODS`")
	flags.StringSliceVar(&o.NotTags, "not-tag", nil, "no operations with one of these `TAGS`")
	flags.StringSliceVar(&o.NotPaths, "not-path", nil, "no operations whose path matches one of these `PATTERNS`")
	flags.StringSliceVar(&o.NotOps, "not-op", nil, "no operations whose operationId matches one of these `PATTERNS`")
	flags.BoolVar(&o.ReadOnly, "read-only", false, "only GET and HEAD")
	flags.BoolVar(&o.Deprecated, "deprecated", false, "also deprecated operations and parameters")
	flags.BoolVar(&o.All, "all", false, "import everything, however large it is")
	flags.IntVar(&o.Flatten, "flatten", o.Flatten, "members up to which each member of a JSON body is an input")
	flags.IntVar(&o.Depth, "depth", o.Depth, "levels of a schema; what is deeper becomes any")
	flags.StringVar(&maxSchema, "max-schema", "8KiB", "`SIZE` of an input schema; what exceeds it becomes any")
	flags.IntVar(&o.MaxTokens, "max-tokens", o.MaxTokens, "estimated tokens of all tools that need no selection")
	flags.BoolVar(&o.Returns, "returns", false, "also declare the types of results, as far as the document says them")
	flags.BoolVar(&o.NoPaginate, "no-paginate", false, "read one page of a list, also where the next one is known")
	flags.StringVar(&split, "split", "tag", "files: one for each tag, or none for a single one")
	flags.StringSliceVar(&o.AllowHosts, "allow-host", nil, "`HOSTS` that may be read besides that of the document")
	flags.StringVar(&o.Root, "root", "", "`DIRECTORY` that references between files may not leave")
	flags.StringSliceVar(&renames, "rename", nil, "names of tools, `OLD=NEW`")
	return cmd
}

func (f *importFlags) importOpenAPI(cmd *cobra.Command, o openapi.Options) error {
	stop := console.ShowSpinner(cmd.ErrOrStderr(), "reading "+openapi.Redacted(o.Source))
	r, err := openapi.Import(cmd.Context(), o)
	stop()
	if tooMany, ok := errors.AsType[*openapi.TooMany](err); ok {
		if f.asJSON {
			if err := printJSON(cmd.OutOrStdout(), tooMany); err != nil {
				return err
			}
		} else {
			fmt.Fprint(cmd.OutOrStdout(), tooMany.Table(o.Source))
		}
	}
	if err != nil {
		return failf("%s", err)
	}
	switch {
	case !isURL(o.Source) && o.Source != "-":
		r.From = relativeSource(f.dir, o.Source)
	case openapi.Redacted(o.Source) == o.Source && o.Source != "-": // a credential is not remembered
		r.From = o.Source
	}
	return f.write(cmd, r)
}

// checkImported compiles generated files in a directory of their own, without their secrets, and returns what validate
// would report. They may name programs below the directory programs; empty for none.
func checkImported(
	cmd *cobra.Command, files map[string][]byte, programs string,
) (mistakes []importer.Mistake, err error) {
	dir, err := os.MkdirTemp("", "hatchel-import-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for name, src := range files {
		if err := os.WriteFile(filepath.Join(dir, name), src, 0o600); err != nil {
			return nil, err
		}
	}
	if programs != "" {
		if err := linkNamed(files, programs, dir); err != nil {
			return nil, err
		}
	}
	load := loadFlags{inspect: true}
	folder, err := load.compile(cmd.Context(), dir, io.Discard)
	if err != nil {
		return nil, err
	}
	if folder.generation != nil {
		folder.generation.Close()
	}
	for _, d := range folder.diags {
		mistakes = append(mistakes, importer.Mistake{File: d.Subject.File, Line: d.Subject.Start.Line,
			Text: d.Summary + ": " + d.Text(), Warning: d.Severity != hcl.Error})
	}
	return mistakes, nil
}

// linkNamed makes links in a directory to the entries of another one that generated files name, such as the directory
// of an installed program.
func linkNamed(files map[string][]byte, from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return nil // it is made by the import, and has no program
	}
	for _, e := range entries {
		for _, src := range files {
			if !bytes.Contains(src, []byte(`"`+e.Name()+`/`)) && !bytes.Contains(src, []byte(`"`+e.Name()+`"`)) {
				continue
			}
			err := os.Symlink(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()))
			if err != nil && !errors.Is(err, os.ErrExist) {
				return err
			}
		}
	}
	return nil
}
