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
		Short: "Write a small configuration to start from",
		Long: `Write a small configuration with working tools to a directory, which is created
when it does not exist. Existing files are never overwritten.`,
		RunE: func(cmd *cobra.Command, args []string) error { return writeStarter(cmd, folderOf(cmd, args)) },
	})
}

func writeStarter(cmd *cobra.Command, dir string) error {
	files, err := fs.Sub(starter, "starter")
	if err != nil {
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
	fmt.Fprintf(cmd.OutOrStdout(), `Wrote a starter configuration to %s. Try:

  hatchel list%s
  hatchel call%s greet --arg name=Ada
  hatchel serve%s
`, folderName(dir), arg, flag, arg)
	return nil
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
