package main

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"hatchel/adapters/all"
	"hatchel/cmd/hatchel/console"
	"hatchel/cmd/hatchel/exit"
	"hatchel/cmd/hatchel/test/testblock"
	"hatchel/hcl"
	"hatchel/runtime"
	"hatchel/runtime/edge/server"
	"hatchel/runtime/load/secret"
	"hatchel/runtime/load/source"
	"hatchel/runtime/load/source/git"
)

// loadFlags are the flags of every command that loads a configuration directory.
type loadFlags struct {
	vars     []string
	varFiles []string
	audits   *runtime.AuditLogs // where calls are recorded; nil for a command that makes none
	anyVars  bool               // a variable may be set that no file declares
	inspect  bool               // nothing is created or changed, and no secret is read
	tests    bool               // test blocks are checked
	cause    string             // why the call has failed, if its message does not say; empty for none

	runsCommands   bool             // the commands of secrets are run, if they are allowed
	secretCommands bool             // they are allowed
	secretsChanged func()           // when a command prints another value; nil runs each command once
	commands       *secret.Commands // those that were run; set by options
}

func (l *loadFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringArrayVar(&l.vars, "var", nil, "set a variable of the configuration, `NAME=VALUE`; may be repeated")
	fs.StringArrayVar(&l.varFiles, "var-file", nil,
		"read variables from a `FILE` with lines name = value; may be repeated")
}

// registerSecretCommands registers the flag of the commands that run the commands of secrets.
func (l *loadFlags) registerSecretCommands(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&l.secretCommands, "allow-secret-commands", false,
		"run the commands of secrets, which are programs that the configuration names")
}

// dirFlag registers -C.
func dirFlag(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVarP(dir, "dir", "C", ".", "configuration `DIRECTORY`")
	cmd.MarkFlagDirname("dir")
}

// requestFlags are the flags of the commands that make one request of a directory.
type requestFlags struct {
	loadFlags
	approveFlag
	dir    string
	asJSON bool
}

func (r *requestFlags) register(cmd *cobra.Command, method string) {
	r.loadFlags.register(cmd)
	r.registerSecretCommands(cmd)
	r.runsCommands = true
	r.approveFlag.register(cmd)
	dirFlag(cmd, &r.dir)
	cmd.Flags().BoolVar(&r.asJSON, "json", false, "print the result of "+method+" as JSON")
}

// options returns the inputs of a load besides the files of the directory.
func (l *loadFlags) options(ctx context.Context, folder *source.Folder, stderr io.Writer) (hcl.Options, error) {
	vars, err := l.values(stderr)
	l.commands = secret.NewCommands(ctx, folder.Dir, l.secretsChanged)
	var readCommand func([]string, time.Duration) ([]byte, error)
	switch {
	case l.runsCommands && l.secretCommands:
		readCommand = l.commands.Read
	case l.runsCommands:
		readCommand = func([]string, time.Duration) ([]byte, error) { return nil, hcl.ErrSecretCommands }
	}
	o := hcl.Options{
		Dir:        folder.Dir(),
		Vars:       vars,
		Getenv:     os.LookupEnv,
		Parallel:   runParallel,
		Tests:      l.tests,
		AnyVars:    l.anyVars,
		Start:      true,
		ReadSecret: folder.ReadSecret,

		ReadSecretCommand: readCommand,
	}
	if l.inspect {
		o = o.ForCheck()
	}
	return o, err
}

// runParallel calls do with 0 to n-1 on all processors and returns when all calls have returned. A
// panic ends the process.
func runParallel(n int, do func(i int)) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(n, goruntime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	workers.Wait()
}

// values returns the variables of the flags. --var overrides --var-file.
func (l *loadFlags) values(stderr io.Writer) (map[string]string, error) {
	vars := map[string]string{}
	for _, name := range l.varFiles {
		src, err := os.ReadFile(name)
		if err != nil {
			return nil, misusef("--var-file %s cannot be read: %s", name, reason(err))
		}
		values, diags := hcl.ParseVars(name, src)
		diags.Print(stderr, map[string][]byte{name: src})
		if diags.HasErrors() {
			return nil, &exit.Error{Code: exit.Failed}
		}
		maps.Copy(vars, values)
	}
	flags, err := splitPairs("var", l.vars)
	maps.Copy(vars, flags)
	return vars, err
}

// loadedFolder is a configuration directory that was decoded, and compiled when it has no errors.
type loadedFolder struct {
	path       string // as it was given
	dir        string // absolute
	config     *hcl.Config
	generation *runtime.Generation // nil before compile, and with errors
	diags      hcl.Diagnostics     // with paths relative to the directory
}

// decode reads and decodes a directory. The error reports that it cannot be read; mistakes are in
// diags.
func (l *loadFlags) decode(ctx context.Context, path string, stderr io.Writer) (*loadedFolder, error) {
	folder, err := source.NewFolder(path)
	if err != nil {
		return nil, failf("%s cannot be found: %s", path, reason(err))
	}
	options, err := l.options(ctx, folder, stderr)
	if err != nil {
		return nil, err
	}
	files, err := folder.Snapshot(ctx)
	if err != nil {
		return nil, failf("%s cannot be read: %s", path, reason(err))
	}
	f := &loadedFolder{path: path, dir: folder.Dir()}
	f.config, f.diags = hcl.Load(files, all.Set().Kinds(), options)
	if l.tests {
		f.add(testblock.Check(f.config, f.diags))
	}
	return f, nil
}

// compile decodes a directory and compiles it when it has no errors. The caller closes the
// generation.
func (l *loadFlags) compile(ctx context.Context, path string, stderr io.Writer) (*loadedFolder, error) {
	defer console.ShowSpinner(stderr, "loading "+path)()
	stop := endOnSignal(ctx)
	f, err := l.decode(ctx, path, stderr)
	stop()
	if err != nil || f.diags.HasErrors() {
		return f, err
	}
	var diags hcl.Diagnostics
	f.generation, diags = runtime.Compile(ctx, f.config, runtime.Build{
		Set: all.Set(), Dir: f.dir, Version: release(), AuditLogs: l.audits,
		Inspect: l.inspect || f.config.UnreadSecrets,
		Start:   true,
		Log:     slog.New(callLog{slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}), &l.cause}),
	})
	f.add(diags)
	return f, nil
}

// endOnSignal ends the process on the first signal, until the returned function is called: what runs then has nothing
// to undo, and does not look at ctx.
func endOnSignal(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() { os.Exit(exit.Failed) })
}

func (f *loadedFolder) add(diags hcl.Diagnostics) { f.diags = append(f.diags, diags...).Sort() }

func (f *loadedFolder) print(w io.Writer) error {
	diags, sources := prefixPaths(f.path, f.diags, f.config.Sources)
	return diags.Print(w, sources)
}

// mustCompile returns the generation of a directory. Errors in the configuration are printed and
// fail the command.
func (l *loadFlags) mustCompile(ctx context.Context, path string, stderr io.Writer) (*runtime.Generation, error) {
	f, err := l.compile(ctx, path, stderr)
	if err != nil {
		return nil, err
	}
	if f.diags.HasErrors() {
		f.print(stderr)
		return nil, failf("%s has %s", folderName(path), countDiagnostics(f.diags))
	}
	return f.generation, nil
}

// completions returns a completion function for the first argument of a command, with words from
// the directory.
func (l *loadFlags) completions(dir *string, words func(*runtime.Generation) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return l.complete(cmd, *dir, words), cobra.ShellCompDirectiveNoFileComp
	}
}

// complete returns words from the directory, or none when it has errors. It reads no secret.
func (l *loadFlags) complete(cmd *cobra.Command, dir string, words func(*runtime.Generation) []string) []string {
	l.inspect = true
	g, err := l.mustCompile(cmd.Context(), dir, io.Discard)
	if err != nil {
		return nil
	}
	defer g.Close()
	return words(g)
}

// prefixPaths returns diagnostics and sources with file names that terminals and editors can open:
// relative to the current directory.
func prefixPaths(path string, diags hcl.Diagnostics, sources map[string][]byte) (hcl.Diagnostics, map[string][]byte) {
	prefixed := make(hcl.Diagnostics, len(diags))
	for i, d := range diags {
		c := *d
		if c.Subject.File != "" {
			c.Subject = prefixPath(path, c.Subject)
		}
		prefixed[i] = &c
	}
	named := make(map[string][]byte, len(sources))
	for name, src := range sources {
		named[filepath.Join(path, filepath.FromSlash(name))] = src
	}
	return prefixed, named
}

func prefixPath(path string, r hcl.Range) hcl.Range {
	r.File = filepath.Join(path, filepath.FromSlash(r.File))
	return r
}

// loadFirst loads the directory for the first time. Diagnostics are printed by the reloader. A signal that ends the
// load is no failure: the exit code is that of every stop.
func loadFirst(cmd *cobra.Command, reloader *server.Reloader, path string, terminal io.Writer) error {
	stop := console.ShowSpinner(terminal, "loading "+path)
	report, err := reloader.Load(cmd.Context())
	stop()
	switch {
	case cmd.Context().Err() != nil && !report.OK:
		return stoppedBefore(path)
	case err != nil:
		return failf("%s cannot be read: %s", path, reason(err))
	case !report.OK:
		return failf("%s has %s and is not served", folderName(path), countDiagnostics(report.Diagnostics))
	}
	return nil
}

// stoppedBefore returns the end of a server by a signal before it serves anything.
func stoppedBefore(path string) error {
	return &exit.Error{Text: "stopped before " + folderName(path) + " was served"}
}

// unknownToolset returns the error for a --toolset that the configuration does not declare.
func unknownToolset(path, name string, host *runtime.Host) error {
	toolsets := host.Current().Config.Toolsets
	if len(toolsets) == 0 {
		return failf("%s declares no toolsets", path)
	}
	names := make([]string, len(toolsets))
	for i, t := range toolsets {
		names[i] = t.Name
	}
	return failf("%s declares no toolset %q. It declares %s", path, name, strings.Join(names, ", "))
}

// openRepository returns the repository that the argument of serve names and the folder for its revisions; for a
// directory no repository and that directory.
func (f *serveFlags) openRepository(cmd *cobra.Command, arg string) (r *git.Repository, dir string, err error) {
	if !git.IsLocation(arg) {
		for _, flag := range []string{"every", "signed-by"} {
			if cmd.Flags().Changed(flag) {
				const example = "git+https://git.example/tools.git//prod?ref=main"
				return nil, "", misusef("--%s requires a git repository, as in '%s'", flag, example)
			}
		}
		f.filesPath = arg
		return nil, arg, nil
	}
	l, err := git.ParseLocation(arg)
	switch {
	case err != nil:
		return nil, "", misusef("the address of the git repository cannot be used: %s", err)
	case f.every < time.Second || f.every > git.MaxInterval:
		return nil, "", misusef("--every must be from 1s to %s, and is %s", git.MaxInterval, f.every)
	case cmd.Flags().Changed("signed-by"):
		if _, err := os.ReadFile(f.signers); err != nil {
			return nil, "", misusef("--signed-by %s cannot be read: %s", f.signers, reason(err))
		}
	}
	if dir, err = server.RepositoryHome(f.state, l); err != nil {
		return nil, "", failf("%s", err)
	}
	if r, err = git.Open(l, dir, f.signers); err != nil {
		return nil, "", failf("the git repository cannot be kept in %s: %s", dir, reason(err))
	}
	f.filesPath = l.Folder
	return r, dir, nil
}
