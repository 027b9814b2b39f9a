package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hatchel/cmd/hatchel/exit"
	"hatchel/cmd/hatchel/importer"
)

//go:embed starter
var starter embed.FS

func initCommand() *cobra.Command {
	var from string
	cmd := folderArg(&cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a small configuration to start from",
		Long: `Write a small configuration with working tools to a directory, which is created
when it does not exist. Existing files are never overwritten.

With --from postgres, mysql or sqlite the tools show a database of that kind to
agents: its tables, plans, activity, and read-only statements. hatchel import schema
adds tools for its tables.

With --from openapi the tools are those of an OpenAPI document in the directory, whose
name is openapi or swagger with the ending .yaml, .yml or .json. hatchel import openapi
reads any document, and has flags that select operations.`,
		Example: `  hatchel init my-tools
  hatchel init my-tools --from postgres
  hatchel init --from openapi`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if from == "openapi" {
				return importDocument(cmd, folderOf(cmd, args))
			}
			return writeStarter(cmd, folderOf(cmd, args), from)
		},
	})
	cmd.Flags().StringVar(&from, "from", "", "write tools for this `KIND` of database or document: "+
		strings.Join(fromKinds, ", "))
	return cmd
}

var fromKinds = append(slices.Clip(importer.PrebuiltKinds), "openapi")

// importDocument imports the OpenAPI document of a directory into the directory.
func importDocument(cmd *cobra.Command, dir string) error {
	for _, name := range []string{"openapi", "swagger"} {
		for _, ending := range []string{".yaml", ".yml", ".json"} {
			document := filepath.Join(dir, name+ending)
			if _, err := os.Stat(document); err != nil {
				continue
			}
			imports := importOpenAPICommand()
			imports.SetArgs([]string{document, "--output", dir})
			imports.SetOut(cmd.OutOrStdout())
			imports.SetErr(cmd.ErrOrStderr())
			imports.SilenceErrors, imports.SilenceUsage = true, true
			return imports.ExecuteContext(cmd.Context())
		}
	}
	return misusef("there is no document openapi or swagger (.yaml, .yml or .json) in %s; "+
		"hatchel import openapi FILE|URL -o %s reads any other document", folderName(dir), dir)
}

func writeStarter(cmd *cobra.Command, dir, from string) error {
	files, err := fs.Sub(starter, "starter")
	if from != "" {
		files, err = databaseStarter(from)
	}
	if ended := new(exit.Error); errors.As(err, &ended) {
		return err
	} else if err != nil {
		return failf("the starter configuration cannot be read: %s", reason(err))
	}
	if err := checkVacant(dir, files); err != nil {
		return err
	}
	if err := os.CopyFS(dir, files); err != nil {
		return failf("%s cannot be written: %s", dir, reason(err))
	}
	arg, flag := " "+dir, " -C "+dir
	if filepath.Clean(dir) == "." {
		arg, flag = "", ""
	}
	if from != "" {
		fmt.Fprintf(cmd.OutOrStdout(), `Wrote tools for a %s database to %s. %s

  hatchel validate --connect%s
  hatchel import schema db%s
  hatchel serve%s
`, from, folderName(dir), databaseAddress[from], arg, flag, arg)
		return nil
	}
	fmt.Fprintf(cmd.OutOrStdout(), `Wrote a starter configuration to %s. Try:

  hatchel list%s
  hatchel call%s greet name=Ada
  hatchel serve%s
`, folderName(dir), arg, flag, arg)
	return nil
}

// databaseAddress says how to name the database of each kind.
var databaseAddress = map[string]string{
	"postgres": "Set DATABASE_URL, as in postgres://user:password@host:5432/name, and try:",
	"mysql":    "Set DATABASE_URL, as in mysql://user:password@host:3306/name, and try:",
	"sqlite":   "Set SQLITE_DATABASE to its file, and try:",
}

// databaseStarter returns the files of a kind of database.
func databaseStarter(kind string) (fs.FS, error) {
	if !slices.Contains(importer.PrebuiltKinds, kind) {
		return nil, misusef("--from %s is not known; it accepts %s", kind, strings.Join(fromKinds, ", "))
	}
	return importer.Prebuilt(kind)
}

// checkVacant returns an error when a file would be overwritten.
func checkVacant(dir string, files fs.FS) error {
	return fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		target := filepath.Join(dir, filepath.FromSlash(name))
		if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
			return failf("%s exists already and is not overwritten", target)
		}
		return nil
	})
}
