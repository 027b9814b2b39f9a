package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"

	"hatchel/adapters/all"
	"hatchel/hcl"
	"hatchel/hcl/spelling"
	"hatchel/runtime"
	"hatchel/runtime/source"
)

// loading are the flags of every command that loads a folder.
type loading struct {
	vars     []string
	varFiles []string
	audits   *runtime.AuditLogs // where calls are written down, of a command that makes some; otherwise nil
}

func (l *loading) flags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&l.vars, "var", nil, "value of a variable, `name=value`; may be repeated")
	cmd.Flags().StringArrayVar(&l.varFiles, "var-file", nil, "`file` of lines name = value; may be repeated, --var wins")
}

const maxSecret = 1 << 20 // bytes of the file of a secret

// options are what a load reads beside the files of dir.
func (l *loading) options(dir string, stderr io.Writer) (hcl.Options, error) {
	vars, err := l.values(stderr)
	return hcl.Options{
		Vars:     vars,
		Getenv:   os.LookupEnv,
		Parallel: sideBySide,
		ReadSecret: func(path string) ([]byte, error) {
			if !filepath.IsAbs(path) {
				path = filepath.Join(dir, path)
			}
			return source.ReadRegularFile(path, maxSecret)
		},
	}, err
}

// sideBySide does n things on as many processors as there are, and returns when all are done. A panic in one of them ends the program, as it
// would in a loop.
func sideBySide(n int, do func(i int)) {
	var next atomic.Int64
	var running sync.WaitGroup
	for range min(n, goruntime.GOMAXPROCS(0)) {
		running.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	running.Wait()
}

func (l *loading) values(stderr io.Writer) (map[string]string, error) {
	vars := map[string]string{}
	for _, name := range l.varFiles {
		src, err := os.ReadFile(name)
		if err != nil {
			return nil, misusef("--var-file %s cannot be read: %s", name, reason(err))
		}
		values, diags := hcl.ParseVars(name, src)
		diags.Print(stderr, map[string][]byte{name: src})
		if diags.HasErrors() {
			return nil, &failure{code: checkFailed}
		}
		for k, v := range values {
			vars[k] = v
		}
	}
	for _, v := range l.vars {
		name, text, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			return nil, misusef("--var takes name=value, and got %q", v)
		}
		vars[name] = text
	}
	return vars, nil
}

// opened is a folder that was loaded and compiled, outside of a server.
type opened struct {
	generation *runtime.Generation // nil when the diagnostics hold errors
	path       string
	diags      hcl.Diagnostics
	sources    map[string][]byte
}

// open loads and compiles a folder. Its error is about what cannot even be read.
func (l *loading) open(ctx context.Context, path string, stderr io.Writer) (*opened, error) {
	folder, err := source.NewFolder(path)
	if err != nil {
		return nil, failf("%s cannot be found: %s", path, reason(err))
	}
	options, err := l.options(folder.Dir(), stderr)
	if err != nil {
		return nil, err
	}
	files, err := folder.Snapshot()
	if err != nil {
		return nil, failf("%s cannot be read: %s", path, reason(err))
	}
	defer spin(stderr, "loading "+path)()
	set := all.Set()
	cfg, diags := hcl.Load(files, set.Kinds(), options)
	o := &opened{path: path, sources: cfg.Sources}
	if diags.HasErrors() {
		o.found(diags)
		return o, nil
	}
	build := runtime.Build{Set: set, Dir: folder.Dir(), Version: release(), AuditLogs: l.audits, Log: slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	generation, refused := runtime.Compile(ctx, cfg, build)
	o.generation = generation
	o.found(append(diags, refused...).Sort())
	return o, nil
}

// found adds diagnostics.
func (o *opened) found(diags hcl.Diagnostics) {
	placed, _ := under(o.path, diags, nil)
	o.diags = append(o.diags, placed...).Sort()
}

func (o *opened) print(w io.Writer) error {
	_, sources := under(o.path, nil, o.sources)
	return o.diags.Print(w, sources)
}

// ready is open for a command that needs a folder without errors: they are printed, and they are its failure.
func (l *loading) ready(ctx context.Context, path string, stderr io.Writer) (*runtime.Generation, error) {
	o, err := l.open(ctx, path, stderr)
	if err != nil {
		return nil, err
	}
	if o.diags.HasErrors() {
		o.print(stderr)
		return nil, failf("%s has %s", inWords(path), counted(o.diags))
	}
	return o.generation, nil
}

// completing has words of a command line completed from a folder; from one that does not load there are none.
func (l *loading) completing(cmd *cobra.Command, dir string, do func(*runtime.Generation)) {
	g, err := l.ready(cmd.Context(), dir, io.Discard)
	if err != nil {
		return
	}
	defer g.Close()
	do(g)
}

// under returns diagnostics and sources with the names of files as they are seen from the current folder, which is what a terminal and an editor open.
func under(path string, diags hcl.Diagnostics, sources map[string][]byte) (hcl.Diagnostics, map[string][]byte) {
	placed := make(hcl.Diagnostics, len(diags))
	for i, d := range diags {
		c := *d
		if c.Subject.File != "" {
			c.Subject.File = filepath.Join(path, filepath.FromSlash(c.Subject.File))
		}
		placed[i] = &c
	}
	named := make(map[string][]byte, len(sources))
	for name, src := range sources {
		named[filepath.Join(path, filepath.FromSlash(name))] = src
	}
	return placed, named
}

// counted says how many errors and warnings there are.
func counted(ds hcl.Diagnostics) string {
	errs, warnings := ds.Counts()
	switch {
	case errs == 0 && warnings == 0:
		return "no mistakes"
	case warnings == 0:
		return plural(errs, "error")
	case errs == 0:
		return plural(warnings, "warning")
	}
	return plural(errs, "error") + " and " + plural(warnings, "warning")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// reason is an error of the operating system without the path and the call, which the sentence around it says.
func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "it does not exist"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	case errors.Is(err, fs.ErrExist):
		return "it exists already"
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// absent is the failure to find something of a folder by its name.
func absent(noun, name, dir string, names []string) error {
	hint := ""
	if near := spelling.Nearest(name, names); near != "" {
		hint = fmt.Sprintf(" Did you mean %q?", near)
	}
	return failf("there is no %s %q in %s.%s", noun, name, inWords(dir), hint)
}
