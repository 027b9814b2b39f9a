package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

//go:embed starter
var starter embed.FS

func initCommand() *cobra.Command {
	return folderArg(&cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a small set of tools that runs at once",
		Long:  "Write a small set of tools that runs at once into a folder, which is made if it is not there. Nothing is overwritten.",
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := folderOf(args)
			files, err := fs.Sub(starter, "starter")
			if err != nil {
				return failf("the files to write are missing: %s", reason(err))
			}
			if err := vacant(dir, files); err != nil {
				return err
			}
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return failf("%s cannot be made: %s", dir, reason(err))
			}
			if err := os.CopyFS(dir, files); err != nil {
				return failf("%s cannot be written: %s", dir, reason(err))
			}
			out := cmd.OutOrStdout()
			fmt.Fprintf(out, "Wrote a set of tools to %s. Try:\n\n", inWords(dir))
			at, of := " "+dir, " -C "+dir
			if filepath.Clean(dir) == "." {
				at, of = "", ""
			}
			fmt.Fprintf(out, "  hatchel list%s\n  hatchel call%s greet --arg name=Ada\n  hatchel serve%s\n", at, of, at)
			return nil
		},
	})
}

// vacant refuses a folder in which a file would be overwritten.
func vacant(dir string, files fs.FS) error {
	return fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		target := filepath.Join(dir, filepath.FromSlash(name))
		if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
			return failf("%s exists already, and nothing is overwritten", target)
		}
		return nil
	})
}
