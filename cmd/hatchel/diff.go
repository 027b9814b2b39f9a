package main

import (
	"errors"
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
}

func diffCommand() *cobra.Command {
	f := &diffFlags{loadFlags: loadFlags{inspect: true, anyVars: true}}
	cmd := &cobra.Command{
		Use:   "diff [OLD [NEW]]",
		Short: "Show what a change of a configuration means for its callers",
		Long: `Compare two configurations: what their tools accept and return, what they do, and who
may call them. OLD and NEW are each a directory, a file that hatchel lock wrote, or a
revision of git: REV for the directory of -C as it was then, REV:PATH for another one.
By default OLD is the lock of the directory, and NEW the directory.

  breaking    a call that was right may be refused, or its result is read wrongly
  widening    a tool can do or reach more, or more callers may call it
  behaviour   what models read, and what a call does within its effects
  compatible  everything else

The exit code is 0 below the class of --fail-on, 1 if a change has that class or a more
serious one, and 2 if anything could not be read.`,
		Example: `  hatchel diff
  hatchel diff origin/main --fail-on breaking
  hatchel diff v1.2.0 v1.3.0 --format markdown
  hatchel diff ./tools-before ./tools`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.register(cmd)
	dirFlag(cmd, &f.dir)
	fs := cmd.Flags()
	fs.StringVar(&f.failOn, "fail-on", "", "exit with 1 from this `CLASS`: breaking, widening, behaviour or any")
	fs.StringVar(&f.format, "format", "text", "`FORMAT`: text, json, markdown, github or sarif")
	fs.StringArrayVar(&f.tools, "tool", nil, "only the changes of a tool, by `NAME`; may be repeated")
	completeWords(cmd, "fail-on", surface.Thresholds...)
	completeWords(cmd, "format", review.Formats...)
	return cmd
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
	return access.Surface(config), nil
}
