package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hatchel/adapters/all"
	"hatchel/cmd/hatchel/console"
	"hatchel/cmd/hatchel/exit"
	"hatchel/cmd/hatchel/review"
	"hatchel/cmd/hatchel/revision"
	"hatchel/hcl"
	"hatchel/hcl/surface"
	"hatchel/internal/printable"
	"hatchel/runtime/load/access"
	"hatchel/runtime/load/source"
)

// diffFlags are the flags of diff.
type diffFlags struct {
	loadFlags
	dir    string
	failOn string
	format string
	tools  []string
	server string
	signInFlags
}

func diffCommand() *cobra.Command {
	f := &diffFlags{loadFlags: loadFlags{inspect: true, anyVars: true}}
	cmd := &cobra.Command{
		Use:   "diff [OLD [NEW]]",
		Short: "Show what a change of a configuration means for its callers",
		Long: `Compare two configurations: what their tools accept and return, what they do, and who
may call them. OLD and NEW are each a directory, a file that hatchel lock wrote, or a
git revision: REV for the directory of -C at that revision, REV:PATH for another one.
By default OLD is the lock of the directory, and NEW is the directory of -C. With --server,
OLD is the configuration that a server serves, if you are an operator of it.

  breaking    a valid call may now be refused, or its result may be misread
  widening    a tool can do or reach more, or more callers may call it
  behaviour   texts that models read change, or a call works differently with the
              same effects
  compatible  everything else

The exit code is 1 if a change has the class of --fail-on or a more serious one, 2 if
anything could not be read, and 0 otherwise. The classes are listed from the most to the
least serious.

` + keyHelp,
		Example: `  hatchel diff
  hatchel diff origin/main --fail-on breaking
  hatchel diff v1.2.0 v1.3.0 --format markdown
  hatchel diff ./tools-before ./tools
  hatchel diff --server https://tools.example.com -C ./tools`,
		Args: f.checkArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.loadFlags.register(cmd)
	dirFlag(cmd, &f.dir)
	fs := cmd.Flags()
	fs.StringVar(&f.failOn, "fail-on", "", "exit with 1 from this `CLASS`: breaking, widening, behaviour or any")
	fs.StringVar(&f.format, "format", "text", "`FORMAT`: text, json, markdown, github or sarif")
	fs.StringVar(&f.server, "server", "", "compare with what the server at this `URL` serves")
	f.signInFlags.register(cmd)
	fs.StringArrayVar(&f.tools, "tool", nil, "only the changes of a tool, by `NAME`; may be repeated")
	completeWords(cmd, "fail-on", surface.Thresholds...)
	completeWords(cmd, "format", review.Formats...)
	return cmd
}

func (f *diffFlags) checkArgs(_ *cobra.Command, args []string) error {
	switch {
	case len(args) > 2:
		return fmt.Errorf("diff accepts OLD and NEW, and got %d: %s", len(args), strings.Join(args, " "))
	case f.server != "" && len(args) > 1:
		return errors.New("with --server, diff accepts only NEW")
	}
	return nil
}

func (f *diffFlags) run(cmd *cobra.Command, args []string) error {
	threshold := surface.Breaking + 1 // never reached
	if f.failOn != "" {
		var err error
		if threshold, err = surface.ParseThreshold(f.failOn); err != nil {
			return misusef("--fail-on: %s", err)
		}
	}
	if !slices.Contains(review.Formats, f.format) {
		return misusef("--format must be one of %s, and is %q", strings.Join(review.Formats, ", "), f.format)
	}
	tuneFor(inspectTuning)
	if f.server != "" {
		args = append([]string{""}, args...)
	}
	before, err := f.old(cmd, args)
	if err != nil {
		return err
	}
	after := f.dir
	if len(args) == 2 {
		after = args[1]
	}
	now, err := f.reader(cmd).Read(cmd.Context(), after)
	if err != nil {
		return err
	}
	d := review.Compare(before, now, runParallel)
	if f.tools != nil {
		if err := f.checkTools(before, now); err != nil {
			return err
		}
		d = d.Only(f.tools)
	}
	r := review.Report{Diff: d, Old: before.Name, New: now.Name, OldDir: before.Dir, NewDir: now.Dir,
		Threshold: threshold, Version: release(), HasVersion: d.Old != "0.0.0"}
	if err := r.Write(cmd.OutOrStdout(), f.format); err != nil {
		return misusef("the result cannot be written: %s", reason(err))
	}
	if d.Reaches(threshold) {
		return &exit.Error{Code: exit.Failed}
	}
	return nil
}

// checkTools reports a --tool that neither side has.
func (f *diffFlags) checkTools(before, now review.Side) error {
	for _, name := range f.tools {
		if !before.HasTool(name) && !now.HasTool(name) {
			return misusef("--tool: there is no tool %q on either side", name)
		}
	}
	return nil
}

// old returns what is compared with.
func (f *diffFlags) old(cmd *cobra.Command, args []string) (review.Side, error) {
	switch {
	case f.server != "":
		return f.served(cmd)
	case len(args) > 0:
		if len(args) == 1 {
			if err := f.checkOld(args[0]); err != nil {
				return review.Side{}, err
			}
		}
		return f.reader(cmd).Read(cmd.Context(), args[0])
	}
	return f.reader(cmd).ReadOwnLock()
}

// checkOld refuses a directory that is, or is a part of, the directory that it would be compared with: other commands
// take the directory that they work on in its place, and there would be no changes.
func (f *diffFlags) checkOld(old string) error {
	a, err := os.Stat(old)
	if err != nil || !a.IsDir() {
		return nil
	}
	if b, err := os.Stat(f.dir); err == nil && os.SameFile(a, b) {
		return misusef("%s would be compared with itself: without OLD, diff compares it with its lock", old)
	}
	if !isWithin(f.dir, old) {
		return nil
	}
	return misusef("%s is a part of %s, which it would be compared with: hatchel diff -C %[1]s compares it with its "+
		"lock, and hatchel diff %[1]s NEW with another directory", old, folderName(f.dir))
}

// isWithin reports whether a directory is below another one.
func isWithin(outer, inner string) bool {
	var paths [2]string
	for i, dir := range [...]string{outer, inner} {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return false
		}
		if paths[i], err = filepath.EvalSymlinks(abs); err != nil {
			return false
		}
	}
	rel, err := filepath.Rel(paths[0], paths[1])
	return err == nil && filepath.IsLocal(rel)
}

// served reads what a server serves.
func (f *diffFlags) served(cmd *cobra.Command) (review.Side, error) {
	client, err := f.newClient(cmd, f.server)
	if err != nil {
		return review.Side{}, err
	}
	defer client.Close()
	text, err := client.Lock(cmd.Context())
	if err != nil {
		return review.Side{}, misusef("%s", printable.Line(err.Error()))
	}
	return review.ReadLock(f.server, text, all.Set().Kinds())
}

func (f *diffFlags) reader(cmd *cobra.Command) review.Reader {
	return review.Reader{
		Dir: f.dir, Kinds: all.Set().Kinds(),
		Load: func(dir string) (*hcl.Config, error) { return f.decodeWithoutErrors(cmd, dir) },
		LoadRevision: func(name string, tree *revision.Tree) (*hcl.Config, error) {
			return f.decodeRevision(cmd, name, tree)
		},
	}
}

// decodeRevision returns the configuration in a directory of a revision.
func (f *diffFlags) decodeRevision(cmd *cobra.Command, name string, tree *revision.Tree) (*hcl.Config, error) {
	folder, err := source.NewFolder(f.dir)
	if err != nil {
		return nil, misusef("%s cannot be found: %s", f.dir, reason(err))
	}
	options, err := f.options(cmd.Context(), folder, cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	stop := endOnSignal(cmd.Context())
	config, diags := hcl.Load(tree, all.Set().Kinds(), options)
	stop()
	if diags.HasErrors() {
		for _, d := range diags {
			if d.Subject.File != "" {
				d.Subject.File = name + ":" + d.Subject.File
			}
		}
		named := map[string][]byte{}
		for file, src := range config.Sources {
			named[name+":"+file] = src
		}
		diags.Print(cmd.ErrOrStderr(), named)
		return nil, misusef("the revision %s has %s", name, countDiagnostics(diags))
	}
	return config, nil
}

func lockCommand() *cobra.Command {
	l := &loadFlags{inspect: true}
	var check bool
	cmd := folderArg(&cobra.Command{
		Use:   "lock [DIR]",
		Short: "Write what a configuration offers to hatchel.lock.json, for review",
		Long: `Write ` + surface.LockName + ` to a configuration directory: the texts that agents
read, what each tool does, which secrets it uses, and who may call it. The file is
sorted and contains no secrets. In addresses, it has the names of variables instead of
their values. Commit it: hatchel diff compares the directory with it.

With --check nothing is written, and the exit code is 1 if the file is not up to date.`,
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
	tuneFor(inspectTuning)
	config, err := l.decodeWithoutErrors(cmd, dir)
	if err != nil {
		return err
	}
	s := access.Surface(config, runParallel)
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
		console.CountCapabilities(len(s.Tools), len(s.Prompts), len(s.Resources), len(s.Skills)))
	return err
}

// decodeWithoutErrors returns the configuration of a directory. Errors in it are printed, and the exit code is 2.
func (l *loadFlags) decodeWithoutErrors(cmd *cobra.Command, dir string) (*hcl.Config, error) {
	f, err := l.decode(cmd.Context(), dir, cmd.ErrOrStderr())
	if err != nil {
		return nil, misusef("%s", err)
	}
	if f.diags.HasErrors() {
		f.print(cmd.ErrOrStderr())
		return nil, misusef("%s has %s", folderName(dir), countDiagnostics(f.diags))
	}
	return f.config, nil
}
