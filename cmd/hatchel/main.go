// Command hatchel turns a folder of .hcl files into a server of the Model Context Protocol.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

func main() { os.Exit(run()) }

func run() int {
	tuneCollector()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process, unless what it does cleans up first
	used, err := program().ExecuteContextC(ctx)
	var failed *failure
	switch {
	case err == nil:
		return 0
	case errors.As(err, &failed):
		if failed.text != "" {
			fmt.Fprintln(os.Stderr, "hatchel: "+failed.text)
		}
		return failed.code
	}
	fmt.Fprintf(os.Stderr, "hatchel: %s\nRun %s --help to see how it is used.\n", misuse(err), used.CommandPath())
	return wrongUsage
}

var exclusive = regexp.MustCompile(`^if any flags in the group .* \[(.*)\] were all set$`)

// misuse words what the library of the command line has found.
func misuse(err error) string {
	if m := exclusive.FindStringSubmatch(err.Error()); m != nil {
		return "--" + strings.Join(strings.Fields(m[1]), " and --") + " exclude each other"
	}
	return err.Error()
}

// Exit codes beside 0.
const (
	checkFailed = 1
	wrongUsage  = 2
)

// failure is an error with the code that the process exits with. Without a text everything has been said already.
type failure struct {
	code int
	text string
}

func (f *failure) Error() string { return f.text }

// failf is a check or call that failed.
func failf(format string, args ...any) error {
	return &failure{checkFailed, fmt.Sprintf(format, args...)}
}

// misusef is a command that was used wrongly.
func misusef(format string, args ...any) error {
	return &failure{wrongUsage, fmt.Sprintf(format, args...)}
}

// program is the whole command line.
func program() *cobra.Command {
	root := &cobra.Command{
		Use:           "hatchel",
		Short:         "Turn a folder of .hcl files into a live MCP server",
		Version:       release(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetVersionTemplate(describe() + "\n")
	root.AddCommand(
		serveCommand(), validateCommand(), fmtCommand(), listCommand(), callCommand(), readCommand(), promptCommand(), policyCommand(), approvalsCommand(), auditCommand(), initCommand(), docsCommand(), versionCommand(),
	)
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		completion.RunE = func(*cobra.Command, []string) error {
			return misusef("completion takes the name of a shell: bash, zsh, fish or powershell")
		}
	}
	return root
}

// folderArg lets a command take one folder, the current one when it is left out.
func folderArg(cmd *cobra.Command) *cobra.Command {
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 1 {
			return fmt.Errorf("%s takes one folder, and got %d: %s", cmd.Name(), len(args), strings.Join(args, " "))
		}
		return nil
	}
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return cmd
}

// inWords is a folder as a sentence names it.
func inWords(dir string) string {
	if filepath.Clean(dir) == "." {
		return "this folder"
	}
	return dir
}

func folderOf(args []string) string {
	if len(args) == 0 {
		return "."
	}
	return args[0]
}
