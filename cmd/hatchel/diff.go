package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hatchel/adapters/all"
	"hatchel/cmd/hatchel/review"
	"hatchel/cmd/hatchel/revision"
	"hatchel/hcl"
	"hatchel/hcl/surface"
	"hatchel/runtime/access"
	"hatchel/runtime/source"
)

// diffFlags are the flags of diff.
type diffFlags struct {
	loadFlags
	dir    string
	failOn string
	format string
	tools  []string
	server string
}

func diffCommand() *cobra.Command {
	f := &diffFlags{loadFlags: loadFlags{inspect: true, anyVars: true}}
	cmd := &cobra.Command{
		Use:   "diff [OLD [NEW]]",
		Short: "Show what a change of a configuration means for its callers",
		Long: `Compare two configurations: what their tools accept and return, what they do, and who
may call them. OLD and NEW are each a directory, a file that hatchel lock wrote, or a
revision of git: REV for the directory of -C as it was then, REV:PATH for another one.
By default OLD is the lock of the directory, and NEW the directory. With --server OLD is
what a server serves; the environment variable HATCHEL_KEY holds the key of an operator.

  breaking    a call that was right may be refused, or its result is read wrongly
  widening    a tool can do or reach more, or more callers may call it
  behaviour   what models read, and what a call does within its effects
  compatible  everything else

The exit code is 0 below the class of --fail-on, 1 if a change has that class or a more
serious one, and 2 if anything could not be read.`,
		Example: `  hatchel diff
  hatchel diff origin/main --fail-on breaking
  hatchel diff v1.2.0 v1.3.0 --format markdown
  hatchel diff ./tools-before ./tools
  hatchel diff --server https://tools.example.com -C ./tools`,
		Args: f.checkArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.register(cmd)
	dirFlag(cmd, &f.dir)
	fs := cmd.Flags()
	fs.StringVar(&f.failOn, "fail-on", "", "exit with 1 from this `CLASS`: breaking, widening, behaviour or any")
	fs.StringVar(&f.format, "format", "text", "`FORMAT`: text, json, markdown, github or sarif")
	fs.StringVar(&f.server, "server", "", "compare with what the server at this `URL` serves")
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

// side is one of the two things that are compared.
type side struct {
	name    string // as it was named
	dir     string // before the names of its files; empty if they are not in a directory
	surface *surface.Surface
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
	now, err := f.side(cmd, after)
	if err != nil {
		return err
	}
	d := surface.Compare(before.surface, now.surface)
	if f.tools != nil {
		if err := f.checkTools(before.surface, now.surface); err != nil {
			return err
		}
		d = d.Only(f.tools)
	}
	r := review.Report{Diff: d, Old: before.name, New: now.name, OldDir: before.dir, NewDir: now.dir,
		Threshold: threshold, Version: release(), HasVersion: d.Old != "0.0.0"}
	if err := r.Write(cmd.OutOrStdout(), f.format); err != nil {
		return misusef("the result cannot be written: %s", reason(err))
	}
	if d.Reaches(threshold) {
		return &exitError{code: exitFailed}
	}
	return nil
}

// checkTools reports a --tool that neither side has.
func (f *diffFlags) checkTools(old, now *surface.Surface) error {
	for _, name := range f.tools {
		if old.Tools[name] == nil && now.Tools[name] == nil {
			return misusef("--tool: there is no tool %q on either side", name)
		}
	}
	return nil
}

// old returns what is compared with.
func (f *diffFlags) old(cmd *cobra.Command, args []string) (side, error) {
	if f.server != "" {
		return f.served(cmd)
	}
	if len(args) > 0 {
		return f.side(cmd, args[0])
	}
	name := filepath.Join(f.dir, surface.LockName)
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return side{}, misusef("%s does not exist: run hatchel lock, or name what to compare with, as in "+
			"hatchel diff origin/main", name)
	}
	return f.side(cmd, name)
}

// served reads what a server serves.
func (f *diffFlags) served(cmd *cobra.Command) (side, error) {
	client, err := newClient(f.server)
	if err != nil {
		return side{}, err
	}
	defer client.Close()
	text, err := client.Lock(cmd.Context())
	if err != nil {
		return side{}, misusef("%s", printable(err.Error()))
	}
	return readLock(f.server, text)
}

// side reads a directory, a lock or a revision. Whatever cannot be read is an error with the exit code 2.
func (f *diffFlags) side(cmd *cobra.Command, name string) (side, error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		s, err := f.surfaceOf(cmd, name)
		return side{name, name, s}, err
	case err == nil:
		text, err := source.ReadRegularFile(name, maxLockSize)
		if err != nil {
			return side{}, misusef("%s cannot be read: %s", name, reason(err))
		}
		return readLock(name, text)
	}
	tree, text, err := revision.Open(cmd.Context(), f.dir, name)
	switch {
	case err != nil:
		return side{}, misusef("%s cannot be read: %s", name, err)
	case tree == nil:
		return readLock(name, text)
	}
	s, err := f.revisionSurface(cmd, name, tree)
	return side{name, "", s}, err
}

// maxLockSize is the maximum size of a lock in bytes.
const maxLockSize = 64 << 20

func readLock(name string, text []byte) (side, error) {
	s, err := surface.ReadLock(text)
	var bad *surface.LockError
	if errors.As(err, &bad) && bad.Line > 0 {
		return side{}, misusef("%s:%d: the lock cannot be read: %s", name, bad.Line, bad.Text)
	}
	if err != nil {
		return side{}, misusef("%s: the lock cannot be read: %s", name, err)
	}
	return side{name, "", s}, nil
}

// revisionSurface returns the surface of a directory of a revision.
func (f *diffFlags) revisionSurface(cmd *cobra.Command, name string, tree *revision.Tree) (*surface.Surface, error) {
	folder, err := source.NewFolder(f.dir)
	if err != nil {
		return nil, misusef("%s cannot be found: %s", f.dir, reason(err))
	}
	options, err := f.options(folder, cmd.ErrOrStderr())
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
	return access.Surface(config, runParallel), nil
}

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
	return access.Surface(f.config, runParallel), nil
}
