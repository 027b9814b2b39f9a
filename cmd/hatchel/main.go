// Command hatchel turns a directory of .hcl files into an MCP server.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"hatchel/cmd/hatchel/console"
	"hatchel/cmd/hatchel/exit"
	"hatchel/cmd/hatchel/process"
	"hatchel/runtime/source/git"
)

func main() { os.Exit(run()) }

func run() int {
	process.TuneForLoad()
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
			fmt.Fprintln(os.Stderr, "hatchel: "+ended.Text)
		}
		return ended.Code
	}
	fmt.Fprintf(os.Stderr, "hatchel: %s\nRun '%s --help' for usage.\n", usageText(err), cmd.CommandPath())
	return exit.Usage
}

var exclusiveFlags = regexp.MustCompile(`^if any flags in the group .* \[(.*)\] were all set$`)

// renamedFlags maps a command and a flag that was renamed to the new name.
var renamedFlags = map[[2]string]string{{"list", "of"}: "kind"}

// usageText rewords errors of the command line parser.
func usageText(err error) string {
	if m := exclusiveFlags.FindStringSubmatch(err.Error()); m != nil {
		return "--" + strings.Join(strings.Fields(m[1]), " and --") + " cannot be used together"
	}
	return err.Error()
}

// flagError reports the new name of a flag that was renamed.
func flagError(cmd *cobra.Command, err error) error {
	if old, unknown := strings.CutPrefix(err.Error(), "unknown flag: --"); unknown {
		if name := renamedFlags[[2]string{cmd.Name(), old}]; name != "" {
			return fmt.Errorf("--%s was renamed to --%s", old, name)
		}
	}
	return err
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

		PersistentPreRunE: refuseRepositories,
	}
	root.SetVersionTemplate(versionText() + "\n")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(
		serveCommand(), validateCommand(), lintCommand(), fmtCommand(), listCommand(), callCommand(), readCommand(),
		promptCommand(), lockCommand(), diffCommand(), policyCommand(), keyCommand(), approvalsCommand(),
		auditCommand(), eventsCommand(), consoleCommand(), initCommand(), importCommand(), testCommand(),
		lspCommand(), docsCommand(), readyCommand(), versionCommand(),
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

// refuseRepositories refuses the address of a git repository for commands that read a directory.
func refuseRepositories(cmd *cobra.Command, args []string) error {
	if dir := cmd.Flags().Lookup("dir"); dir != nil {
		args = append(args[:len(args):len(args)], dir.Value.String())
	}
	for _, arg := range args {
		if git.IsLocation(arg) && cmd.Name() != "serve" {
			return misusef("%s reads a directory, and only serve reads a git repository: clone it, and give "+
				"the directory", cmd.CommandPath())
		}
	}
	return nil
}
