// Command hatchel turns a directory of .hcl files into an MCP server.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"hatchel/cmd/hatchel/console"
	"hatchel/cmd/hatchel/exit"
	"hatchel/runtime/load/source/git"
)

func main() { os.Exit(run()) }

func run() int {
	tuneFor(loadTuning)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process, unless a command handles it
	cmd, err := rootCommand().ExecuteContextC(ctx)
	var ended *exit.Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ended):
		if ended.Text != "" {
			fmt.Fprintln(console.Shown(os.Stderr), "hatchel: "+ended.Text)
		}
		return ended.Code
	}
	fmt.Fprintf(console.Shown(os.Stderr), "hatchel: %s\nRun '%s --help' for usage.\n", usageText(cmd, err),
		cmd.CommandPath())
	return exit.Usage
}

// failf returns the error of a check, a call or another operation that failed.
func failf(format string, args ...any) error { return exit.Failf(format, args...) }

// misusef returns the error of a command that was used incorrectly.
func misusef(format string, args ...any) error { return exit.Misusef(format, args...) }

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "hatchel",
		Short:         "Turn a directory of .hcl files into an MCP server",
		Version:       release(),
		SilenceErrors: true,
		SilenceUsage:  true,

		DisableSuggestions: true, // usageText has its own
		PersistentPreRunE:  checkFolders,
	}
	root.SetVersionTemplate(versionText() + "\n")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(
		serveCommand(), validateCommand(), lintCommand(), fmtCommand(), listCommand(), callCommand(), readCommand(),
		promptCommand(), lockCommand(), diffCommand(), policyCommand(), keyCommand(), approvalsCommand(),
		signInsCommand(),
		auditCommand(), eventsCommand(), consoleCommand(), initCommand(), importCommand(), testCommand(),
		lspCommand(), docsCommand(), skillCommand(), readyCommand(), signOutCommand(), versionCommand(),
	)
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		completion.RunE = func(*cobra.Command, []string) error {
			return misusef("completion requires the name of a shell: bash, zsh, fish or powershell")
		}
	}
	return root
}

// folderArg makes a command accept one directory, as its argument or with -C, by default the current one.
func folderArg(cmd *cobra.Command) *cobra.Command {
	dirFlag(cmd, new(string))
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 && cmd.Flags().Changed("dir") {
			return errTwoDirs
		}
		if len(args) > 1 {
			return fmt.Errorf("%s accepts one directory, and got %d: %s", cmd.Name(), len(args),
				strings.Join(args, " "))
		}
		if len(args) == 1 && cmd.Flags().Lookup(args[0]) != nil {
			if _, err := os.Stat(args[0]); err != nil {
				return fmt.Errorf("there is no directory %s. Did you mean --%[1]s?", args[0])
			}
		}
		return nil
	}
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return cmd
}

// oneArg makes a command require one argument; the text is the error otherwise.
func oneArg(text string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return errors.New(text)
		}
		return nil
	}
}

var errTwoDirs = errors.New("give the directory with -C or as an argument, not both")

// folderOf returns the directory of a command with folderArg.
func folderOf(cmd *cobra.Command, args []string) string {
	if len(args) == 0 {
		return cmd.Flags().Lookup("dir").Value.String()
	}
	return args[0]
}

// leadingDir makes a command with -C also accept the directory before its arguments. LeadsWithDir reports
// whether the first of them is the directory.
func leadingDir(cmd *cobra.Command, leadsWithDir func(args []string) bool) *cobra.Command {
	check, run := cmd.Args, cmd.RunE
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if leadsWithDir(args) {
			if cmd.Flags().Changed("dir") {
				return errTwoDirs
			}
			args = args[1:]
		}
		return check(cmd, args)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if leadsWithDir(args) {
			cmd.Flags().Set("dir", args[0])
			args = args[1:]
		}
		return run(cmd, args)
	}
	return cmd
}

// moreThan returns a function for leadingDir of a command that takes n other arguments.
func moreThan(n int) func(args []string) bool {
	return func(args []string) bool { return len(args) == n+1 }
}

// folderName returns a directory as a sentence names it.
func folderName(dir string) string { return console.FolderName(dir) }

// checkFolders refuses what stands in place of a directory: the address of a git repository for commands that read a
// directory, and one file of a directory.
func checkFolders(cmd *cobra.Command, args []string) error {
	dir := cmd.Flags().Lookup("dir")
	if dir != nil {
		args = append(args[:len(args):len(args)], dir.Value.String())
	}
	for _, arg := range args {
		if git.IsLocation(arg) && cmd.Name() != "serve" {
			return misusef("%s reads a directory, and only serve reads a git repository: clone it, and give "+
				"the directory", cmd.CommandPath())
		}
		if info, err := os.Stat(arg); dir == nil || cmd.Name() == "fmt" || filepath.Ext(arg) != ".hcl" || err != nil ||
			info.IsDir() {
			continue
		}
		at := filepath.Dir(arg)
		if cmd.Name() == "diff" { // whose argument is another configuration
			at = "-C " + at
		}
		return misusef("%s is one file of a configuration, which is a directory with all its .hcl files: write %s %s",
			arg, cmd.CommandPath(), at)
	}
	return nil
}
