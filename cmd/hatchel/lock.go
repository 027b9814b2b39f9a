package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"hatchel/hcl/surface"
	"hatchel/runtime/access"
)

func lockCommand() *cobra.Command {
	l := &loadFlags{inspect: true}
	var check bool
	cmd := folderArg(&cobra.Command{
		Use:   "lock [DIR]",
		Short: "Write what a configuration offers to hatchel.lock.json, for review",
		Long: `Write the surface of a configuration directory to ` + surface.LockName + ` in it: what
agents read, what each tool does, which secrets it uses, and who may call it. The
file is sorted and has no secrets; in the places where calls go it names variables
instead of their values. Commit it: hatchel diff compares with it.

With --check nothing is written, and the exit code is 1 if the file is not what would
be written.`,
		Example: `  hatchel lock
  hatchel lock ./tools --check`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return l.lock(cmd, folderOf(cmd, args), check)
		},
	})
	l.register(cmd)
	cmd.Flags().BoolVar(&check, "check", false, "write nothing; exit with 1 if the lock is not up to date")
	return cmd
}

func (l *loadFlags) lock(cmd *cobra.Command, dir string, check bool) error {
	s, err := l.surfaceOf(cmd, dir)
	if err != nil {
		return err
	}
	name, text := filepath.Join(dir, surface.LockName), s.Lock()
	before, err := os.ReadFile(name)
	same := err == nil && bytes.Equal(before, text)
	switch {
	case check && same:
		return nil
	case check:
		return failf("%s is not up to date: see hatchel diff, and run hatchel lock", name)
	case !same:
		if err := os.WriteFile(name, text, 0o644); err != nil {
			return failf("%s cannot be written: %s", name, reason(err))
		}
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", name,
		countCapabilities(len(s.Tools), len(s.Prompts), len(s.Resources)))
	return err
}

// surfaceOf returns the surface of a directory. Errors in the configuration are printed, and the exit code
// is 2.
func (l *loadFlags) surfaceOf(cmd *cobra.Command, dir string) (*surface.Surface, error) {
	f, err := l.decode(dir, cmd.ErrOrStderr())
	if err != nil {
		return nil, misusef("%s", err)
	}
	if f.diags.HasErrors() {
		f.print(cmd.ErrOrStderr())
		return nil, misusef("%s has %s", folderName(dir), countDiagnostics(f.diags))
	}
	return access.Surface(f.config), nil
}
