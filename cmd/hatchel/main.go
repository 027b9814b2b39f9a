// Command hatchel turns a directory of .hcl files into an MCP server.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

func main() { os.Exit(run()) }

func run() int {
	tuneForLoad()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process, unless a command handles it
	cmd, err := rootCommand().ExecuteContextC(ctx)
	var exit *exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		if exit.text != "" {
			fmt.Fprintln(os.Stderr, "hatchel: "+exit.text)
		}
		return exit.code
	}
	fmt.Fprintf(os.Stderr, "hatchel: %s\nRun '%s --help' for usage.\n", usageText(err), cmd.CommandPath())
	return exitUsage
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

// Exit codes other than 0.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitPartial = 3 // audit --verify: the last line is incomplete
)

// exitError is an error with the exit code of the process. An empty text means that everything was
// printed before.
type exitError struct {
	code int
	text string
}

func (e *exitError) Error() string { return e.text }

// failf returns the error of a check, a call or another operation that failed.
func failf(format string, args ...any) error {
	return &exitError{exitFailed, fmt.Sprintf(format, args...)}
}

// misusef returns the error of a command that was used incorrectly.
func misusef(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Sprintf(format, args...)}
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "hatchel",
		Short:         "Turn a directory of .hcl files into an MCP server",
		Version:       release(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetVersionTemplate(versionText() + "\n")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(
		serveCommand(), validateCommand(), lintCommand(), fmtCommand(), listCommand(), callCommand(), readCommand(),
		promptCommand(), lockCommand(), diffCommand(), policyCommand(), keyCommand(), approvalsCommand(), auditCommand(),
		initCommand(), importCommand(), testCommand(), docsCommand(), versionCommand(),
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
func folderName(dir string) string {
	if filepath.Clean(dir) == "." {
		return "this directory"
	}
	return dir
}

// splitPairs parses the values of a repeatable flag name=value.
func splitPairs(flag string, texts []string) (map[string]string, error) {
	pairs := make(map[string]string, len(texts))
	for _, text := range texts {
		name, value, err := splitPair(flag, text)
		if err != nil {
			return nil, err
		}
		pairs[name] = value
	}
	return pairs, nil
}

func splitPair(flag, text string) (name, value string, err error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return "", "", misusef("--%s requires name=value, and got %q", flag, text)
	}
	return name, value, nil
}

// version is set at build time with -X main.version=v1.2.3.
var version string

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			fmt.Fprintln(cmd.OutOrStdout(), versionText())
			return nil
		},
	}
}

// versionText returns the version with the platform, the Go version and the commit of the build.
func versionText() string {
	return fmt.Sprintf("hatchel %s (%s, %s/%s%s)", release(), runtime.Version(), runtime.GOOS, runtime.GOARCH, commit())
}

// release returns the version that was set at build time, or the version of the module.
func release() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}

// commit returns the commit of the build, if it is known.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = ", commit " + s.Value[:min(12, len(s.Value))]
		case "vcs.modified":
			if s.Value == "true" {
				modified = ", modified"
			}
		}
	}
	return revision + modified
}

// A call allocates little, so that collections can be rare, unless they would keep more than
// maxGarbage. A load interleaves garbage with what it keeps, and needs them more often.
const (
	loadPercent    = 60 // of the live heap
	servePercent   = 400
	minServe       = 50
	maxGarbage     = 96 << 20 // bytes
	trimAfterLoads = 200 * time.Millisecond
)

// tuneForLoad sets the garbage collector for a load, unless GOGC is set.
func tuneForLoad() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(loadPercent)
	}
}

// newTrimmer returns a stopped timer that returns the memory of a load to the system. It is reset to
// trimAfterLoads after each load, so that it waits when another load follows.
func newTrimmer() *time.Timer {
	tune := os.Getenv("GOGC") == ""
	timer := time.AfterFunc(time.Hour, func() { trim(tune) })
	timer.Stop()
	return timer
}

func trim(tune bool) {
	debug.FreeOSMemory()
	if !tune {
		return
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	debug.SetGCPercent(max(minServe, min(servePercent, int(maxGarbage*100/max(m.HeapAlloc, 1)))))
}
